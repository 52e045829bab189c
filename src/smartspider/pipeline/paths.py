"""Fields by name: `price`, or `seller.name` inside an object. What is changed is copied first."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from smartspider.core.pages.extraction import Item

Path = tuple[str, ...]

_DEEPEST = 64


def path_of(name: str, known: Collection[str]) -> Path | None:
    """The keys a name stands for, given the fields there are; None when there is no such field."""
    if name in known:
        return (name,)
    keys = tuple(name.split("."))
    return keys if len(keys) > 1 and all(keys) and keys[0] in known and len(keys) <= _DEEPEST else None


def value_at(item: Any, path: Path) -> Any:
    """The value at a path, null when there is none; inside a list, the list of the values of its objects."""
    value = item
    for depth, key in enumerate(path):
        if isinstance(value, list):
            return [value_at(inner, path[depth:]) for inner in value]
        value = value.get(key) if isinstance(value, dict) else None
    return value


def changed_at(value: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    """The value with what stands at the path changed; the same object when nothing is different.

    Lists on the way are gone through. A path that leads nowhere changes nothing.
    """
    if not path:
        return change(value)
    if isinstance(value, list):
        treated = [changed_at(inner, path, change) for inner in value]
        return treated if any(new is not old for new, old in zip(treated, value, strict=True)) else value
    if not isinstance(value, dict) or (len(path) > 1 and path[0] not in value):
        return value
    old = value.get(path[0])
    new = changed_at(old, path[1:], change)
    return value if new is old else {**value, path[0]: new}


def without(value: Any, path: Path) -> Any:
    """The value without what stands at the path."""
    if isinstance(value, list):
        return [without(inner, path) for inner in value]
    if not isinstance(value, dict) or path[0] not in value:
        return value
    if len(path) == 1:
        return {key: inner for key, inner in value.items() if key != path[0]}
    return {**value, path[0]: without(value[path[0]], path[1:])}


def dropped(item: Item, path: Path) -> Item:
    """The item without the field."""
    left: Item = without(item, path)
    return left
