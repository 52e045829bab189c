"""A schedule in plain values, with the words of the task's `schedule`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from smartspider.core.errors import Problem, RequestInvalid
from smartspider.core.schedules import ScheduleRule
from smartspider.taskfile.problems import problems_of
from smartspider.taskfile.scheduling import Schedule, rule_of, schedule_problems


def read_rule(knobs: Mapping[str, Any]) -> ScheduleRule:
    """The rule that plain values mean, with the words of the task's `schedule`; raises `RequestInvalid`."""
    try:
        schedule = Schedule.model_validate(dict(knobs))
    except ValidationError as error:
        raise _invalid(problems_of(error)) from error
    problems = list(schedule_problems(schedule))
    if problems:
        raise _invalid(problems)
    return rule_of(schedule)


def _invalid(problems: list[Problem]) -> RequestInvalid:
    first = problems[0]
    return RequestInvalid(
        f"the schedule is not valid: {first.path}: {first.message}", tuple(problems), hint=first.hint
    )
