"""Suggestions for unknown names."""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from smartspider.taskfile.keys import did_you_mean, nearest

MAX_NAME = 80
"""Longer names are cut and get no suggestion."""


def nearest_hint(name: str, known: Iterable[str]) -> str:
    """Return a hint with the nearest known name; empty if none is near."""
    found = nearest(name, sorted(known)) if len(name) <= MAX_NAME else None
    return did_you_mean(found) if found else ""


def list_known(known: Iterable[str]) -> str:
    """Return a hint with all known names; empty if there are none."""
    names = ", ".join(sorted(known))
    return f"known: {names}" if names else ""


def keys_at(annotation: Any, parts: list[int | str]) -> list[str]:
    """Return the keys a body may have at a path; empty if unknown."""
    place = _plain(annotation)
    for part in parts:
        if isinstance(part, int) and get_origin(place) is list:
            place = _plain(get_args(place)[0])
        elif isinstance(part, str) and get_origin(place) is dict:
            place = _plain(get_args(place)[1])
        elif _is_model(place):
            fields = {field.alias or name: field.annotation for name, field in place.model_fields.items()}
            place = _plain(fields.get(str(part)))
        else:
            return []
    return [field.alias or name for name, field in place.model_fields.items()] if _is_model(place) else []


def _plain(annotation: Any) -> Any:
    """Return a type without annotations and null."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        members = [one for one in get_args(annotation) if one is not NoneType]
        return _plain(members[0]) if len(members) == 1 else None
    return annotation


def _is_model(place: Any) -> bool:
    return isinstance(place, type) and issubclass(place, BaseModel)
