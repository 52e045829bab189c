"""Fields by path: `price`, or `seller.name` inside an object. Changes copy, they never mutate."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from smartspider.core.pages.extraction import Item

Path = tuple[str, ...]

_DEEPEST = 64


def parse_path(name: str, known: Collection[str]) -> Path | None:
    """Split a field name into keys; None if there is no such field."""
    if name in known:
        return (name,)
    keys = tuple(name.split("."))
    return keys if len(keys) > 1 and all(keys) and keys[0] in known and len(keys) <= _DEEPEST else None


def value_at(item: Any, path: Path) -> Any:
    """Return the value at a path, or None; inside a list, the list of values of its objects."""
    value = item
    for depth, key in enumerate(path):
        if isinstance(value, list):
            return [value_at(inner, path[depth:]) for inner in value]
        value = value.get(key) if isinstance(value, dict) else None
    return value


def column_at(items: list[Item], path: Path) -> list[Any]:
    """Return the value of each item at a path."""
    if len(path) == 1:
        name = path[0]
        return [item.get(name) for item in items]
    return [value_at(item, path) for item in items]


def change_at(value: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    """Return the value with the part at the path changed; the same object if nothing differs.

    Lists on the path are traversed. A path that does not exist changes nothing.
    """
    if not path:
        return change(value)
    if isinstance(value, list):
        changed = [change_at(inner, path, change) for inner in value]
        return changed if any(new is not old for new, old in zip(changed, value, strict=True)) else value
    if not isinstance(value, dict) or (len(path) > 1 and path[0] not in value):
        return value
    old = value.get(path[0])
    new = change_at(old, path[1:], change)
    return value if new is old else {**value, path[0]: new}


def _remove(value: Any, path: Path) -> Any:
    """Return the value without the part at the path."""
    if isinstance(value, list):
        return [_remove(inner, path) for inner in value]
    if not isinstance(value, dict) or path[0] not in value:
        return value
    if len(path) == 1:
        return {key: inner for key, inner in value.items() if key != path[0]}
    return {**value, path[0]: _remove(value[path[0]], path[1:])}


def drop_field(item: Item, path: Path) -> Item:
    """Return the item without the field."""
    left: Item = _remove(item, path)
    return left
