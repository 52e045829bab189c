"""Load and validate tasks; apply overrides of the command line, `--set a.b=JSON`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from smartspider.core.errors import NotFound, Problem, RequestInvalid, TaskInvalid
from smartspider.core.schedules import ScheduleRule
from smartspider.taskfile.checks import find_contradictions, find_unknown_modes
from smartspider.taskfile.document import read_document, read_json_value, require_plain
from smartspider.taskfile.entry_files import ExpandedTask, Report, expand_files
from smartspider.taskfile.functions import identify_functions, refuse_functions
from smartspider.taskfile.model.schedule import Schedule, find_schedule_problems, schedule_rule
from smartspider.taskfile.model.task import Task
from smartspider.taskfile.problems import (
    MAX_PROBLEMS,
    format_path,
    format_value,
    problems_from,
    task_invalid,
)
from smartspider.taskfile.sound_part import sound_part

__all__ = ["load_task", "parse_task", "read_document", "read_text"]


CheckRules = Callable[[Task], list[Problem]]
"""Returns the problems of the rules and steps of a task that is invalid for other reasons."""


def no_rule_problems(task: Task) -> list[Problem]:
    """Check no rules."""
    del task
    return []


def load_task(
    path: Path,
    settings: Sequence[str] = (),
    report: Report = lambda _text: None,
    check_rules: CheckRules = no_rule_problems,
    on_skipped: Report | None = None,
) -> Task:
    """Load a JSON or YAML file, apply `a.b=JSON` overrides and read the files of its entries. Raise
    `TaskInvalid` or `NotFound`. With `on_skipped`, lines of these files that are no URLs are left out.
    """
    expanded = load_document(path, settings, report, on_skipped)
    report(f"checking {path.name}")
    document = identify_functions(expanded.document, path.parent)
    try:
        return parse_task(document, is_local=True, check_rules=check_rules)
    except TaskInvalid as error:
        raise expanded.with_lines(error) from error


def load_document(
    path: Path,
    settings: Sequence[str] = (),
    report: Report = lambda _text: None,
    on_skipped: Report | None = None,
) -> ExpandedTask:
    """Load a task file like `load_task`, but do not validate it."""
    document = apply_overrides(read_document(read_text(path), path.name), settings)
    return expand_files(document, path.parent, report, on_skipped)


def parse_local_task(data: object, folder: Path) -> Task:
    """Validate a task that a local command was given; its functions are in files below `folder`."""
    return parse_task(identify_functions(data, folder), is_local=True)


def parse_spec(spec: bytes) -> Task:
    """Return the task of a stored run, which was validated when the run was created."""
    return _parse(json.loads(spec), is_local=True)


def parse_task(data: object, *, is_local: bool = False, check_rules: CheckRules = no_rule_problems) -> Task:
    """Validate a task given as plain JSON values. Raise `TaskInvalid` with all problems, and with those of
    `check_rules`, which is not called for a valid task. Only a local task may name functions of Python files.
    """
    task = _parse(data, is_local=is_local, check_rules=check_rules)
    if problems := find_unknown_modes(task):
        raise task_invalid([*problems, *check_rules(task)])
    return task


def _parse(data: object, *, is_local: bool, check_rules: CheckRules = no_rule_problems) -> Task:
    """Validate a task, whatever packages are installed."""
    require_plain(data)
    if not isinstance(data, dict):
        raise task_invalid(
            [Problem("", f"{format_value(data)} is not an object", "a task is an object with keys")]
        )
    if not is_local:
        refuse_functions(data)
    try:
        task = Task.model_validate(data)
    except ValidationError as error:
        sound = sound_part(data, error)
        more = [] if sound is None else check_rules(sound)
        raise task_invalid([*problems_from(error), *more][:MAX_PROBLEMS]) from error
    if problems := find_contradictions(task):
        raise task_invalid([*problems, *check_rules(task)])
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
        raise schedule_invalid(problems_from(error)) from error
    problems = list(find_schedule_problems(schedule))
    if problems:
        raise schedule_invalid(problems)
    return schedule_rule(schedule)


def schedule_invalid(problems: list[Problem]) -> RequestInvalid:
    """Return the error for a schedule with problems; its message contains the first."""
    first = problems[0]
    return RequestInvalid(
        f"the schedule is not valid: {first.path}: {first.message}", tuple(problems), hint=first.hint
    )


_INDEX = re.compile(r"\[(\d+)\]")


def apply_overrides(document: object, settings: Sequence[str]) -> object:
    """Return a copy of the document with the overrides applied in order."""
    for setting in settings:
        path, sign, text = setting.partition("=")
        parts = tuple(_INDEX.sub(r".\1", path.strip()).split("."))
        if not sign or not all(parts):
            hint = "write it as limits.max_pages=100"
            raise task_invalid([Problem(path.strip(), f"{format_value(setting)} is not a setting", hint)])
        document = _put(document, parts, _value(text), ())
    return document


def _value(text: str) -> object:
    try:
        return read_json_value(text)
    except (ValueError, RecursionError):
        return text


def _put(place: object, parts: tuple[str, ...], value: object, path: tuple[int | str, ...]) -> object:
    """Return a copy of `place` with `value` at `parts`; missing objects are created."""
    if not parts:
        return value
    head, rest = parts[0], parts[1:]
    if isinstance(place, list):
        return _put_in_list(place, head, rest, value, path)
    if place is None:
        place = {}
    if not isinstance(place, dict):
        problem = f"{format_value(place)} is not an object, so {head!r} cannot be set in it"
        raise task_invalid([Problem(format_path(path), problem)])
    known: dict[Any, Any] = place
    return {**known, head: _put(known.get(head), rest, value, (*path, head))}


def _put_in_list(
    place: list[Any], head: str, rest: tuple[str, ...], value: object, path: tuple[int | str, ...]
) -> list[Any]:
    """Set an element; the index after the last one appends."""
    index = int(head) if head.isdecimal() else -1
    if not 0 <= index <= len(place):
        reason = f"{head!r} is not an index of this list of {len(place)}"
        raise task_invalid([Problem(format_path(path), reason, f"0 to {len(place)}; the last one appends")])
    before = place[index] if index < len(place) else None
    return [*place[:index], _put(before, rest, value, (*path, index)), *place[index + 1 :]]
