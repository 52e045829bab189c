"""Loading and validation of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from smartspider.core.errors import NotFound, Problem, RequestInvalid, TaskInvalid
from smartspider.core.schedules import ScheduleRule
from smartspider.taskfile.checks import find_contradictions
from smartspider.taskfile.document import read_document, require_plain
from smartspider.taskfile.model.schedule import Schedule, find_schedule_problems, schedule_rule
from smartspider.taskfile.model.task import Task
from smartspider.taskfile.overrides import apply_overrides
from smartspider.taskfile.problems import format_value, problems_from, task_invalid

__all__ = ["load_task", "parse_task", "read_document", "read_text"]


def load_task(path: Path, settings: Sequence[str] = ()) -> Task:
    """Load a JSON or YAML file and apply `a.b=JSON` overrides. Raise `TaskInvalid` or `NotFound`."""
    return parse_task(apply_overrides(read_document(read_text(path), path.name), settings))


def parse_task(data: object) -> Task:
    """Validate a task given as plain JSON values. Raise `TaskInvalid` with all problems."""
    require_plain(data)
    if not isinstance(data, dict):
        raise task_invalid(
            [Problem("", f"{format_value(data)} is not an object", "a task is an object with keys")]
        )
    try:
        task = Task.model_validate(data)
    except ValidationError as error:
        raise task_invalid(problems_from(error)) from error
    if problems := find_contradictions(task):
        raise task_invalid(problems)
    return task


def read_text(path: Path) -> str:
    """Return the text of a task file. Raise `NotFound` or `TaskInvalid`."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {path}", hint="smartspider init writes one") from error
    except OSError as error:
        raise TaskInvalid(f"{path} cannot be read: {error.strerror}") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = Problem("", f"byte {error.start} is not UTF-8", "save the file as UTF-8")
        raise TaskInvalid(f"{path} is not UTF-8", (problem,), hint=problem.hint) from error


def parse_schedule(data: Mapping[str, Any]) -> ScheduleRule:
    """Validate a schedule given as plain JSON values, with the keys of a task's `schedule`. Raise
    `RequestInvalid`.
    """
    try:
        schedule = Schedule.model_validate(dict(data))
    except ValidationError as error:
        raise _schedule_invalid(problems_from(error)) from error
    problems = list(find_schedule_problems(schedule))
    if problems:
        raise _schedule_invalid(problems)
    return schedule_rule(schedule)


def _schedule_invalid(problems: list[Problem]) -> RequestInvalid:
    first = problems[0]
    return RequestInvalid(
        f"the schedule is not valid: {first.path}: {first.message}", tuple(problems), hint=first.hint
    )
