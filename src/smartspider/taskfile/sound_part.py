"""The part of an invalid task that can be checked further, so that all its problems are reported at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from smartspider.taskfile.model.task import Task
from smartspider.taskfile.problems import visible_path

_ROUNDS = 4
"""A removed key can make its section invalid, which is then removed, too."""
_STARTS = {"name": "task", "entry_urls": ["http://localhost/"]}
_FIELDS_OF = ("selectors", "pages")
_BESIDE_FIELDS = frozenset({"items", "follow", "pagination", "emit", "fetch"})
_ANY_VALUE = {"type": "const", "expr": None}
"""The rule in place of an invalid one: the steps that name its field stay valid."""


def sound_part(document: dict[str, Any], error: ValidationError) -> Task | None:
    """Return the task without the keys that an error names; None if nothing can be said about the rest."""
    for _ in range(_ROUNDS):
        has_all_fields = True
        for detail in error.errors(include_url=False, include_context=False, include_input=False):
            path = visible_path(detail["loc"])
            document = _without(document, path) or {}
            has_all_fields &= not _loses_fields(path)
        if not has_all_fields:  # steps would name fields that were removed
            document = {key: value for key, value in document.items() if key != "pipeline"}
        try:
            return Task.model_validate({**_STARTS, **document})
        except ValidationError as remaining:
            error = remaining
    return None


def _loses_fields(path: Sequence[int | str]) -> bool:
    return path[0] in _FIELDS_OF and "fields" not in path[:-1] and _BESIDE_FIELDS.isdisjoint(path)


def _without(place: dict[str, Any], path: Sequence[int | str]) -> dict[str, Any] | None:
    """Return an object without the value at a path, or without the list it is in; None if the object lacks
    the key.
    """
    head, *rest = path
    value = place.get(str(head))
    if isinstance(value, dict) and rest:
        if head == "fields" and rest[0] in value:
            return {**place, "fields": {**value, str(rest[0]): _ANY_VALUE}}
        inner = _without(value, rest)
        if inner is not None:
            return {**place, str(head): inner}
    if head not in place:
        return None
    return {key: other for key, other in place.items() if key != head}
