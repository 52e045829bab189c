"""Overrides from the command line: `--set a.b=JSON`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from smartspider.core.errors import Problem
from smartspider.taskfile.document import read_json_value
from smartspider.taskfile.problems import format_path, format_value, task_invalid

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
