"""What was probably meant by a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from smartspider.taskfile.keys import did_you_mean, nearest

LONGEST = 80
"""Of a name that was sent: longer ones are cut, and nothing is near them."""


def near(name: str, known: Iterable[str]) -> str:
    """The hint that names what was probably meant; empty without one."""
    found = nearest(name, sorted(known)) if len(name) <= LONGEST else None
    return did_you_mean(found) if found else ""


def all_of(known: Iterable[str]) -> str:
    """The hint that names all there are; empty where there are none."""
    names = ", ".join(sorted(known))
    return f"there are {names}" if names else ""


def keys_at(annotation: Any, parts: list[int | str]) -> list[str]:
    """The keys a body may have at a place; empty where that is not known."""
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
    """A type without annotations and without null."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        members = [one for one in get_args(annotation) if one is not NoneType]
        return _plain(members[0]) if len(members) == 1 else None
    return annotation


def _is_model(place: Any) -> bool:
    return isinstance(place, type) and issubclass(place, BaseModel)
