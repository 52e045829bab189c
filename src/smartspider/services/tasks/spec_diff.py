"""Differences of two versions of a task, by path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

_MAX_DEPTH = 100
"""Deeper values are compared as a whole."""
_PLAIN = re.compile(r"[\w-]+")

_encode = msgspec.json.Encoder().encode


class SpecChange(msgspec.Struct, frozen=True):
    """A difference at one path. For `reordered`, before and after are the keys, whose order is that of the
    columns.
    """

    kind: Literal["added", "removed", "changed", "reordered"]
    path: str
    before: Any = None
    after: Any = None


def diff_specs(before: bytes, after: bytes) -> list[SpecChange]:
    """Return the differences in the order of the later spec."""
    return list(_compare("", msgspec.json.decode(before), msgspec.json.decode(after), _MAX_DEPTH))


def _compare(path: str, before: Any, after: Any, depth: int) -> Iterator[SpecChange]:
    if depth and isinstance(before, dict) and isinstance(after, dict):
        yield from _compare_objects(path, before, after, depth - 1)
    elif depth and isinstance(before, list) and isinstance(after, list):
        yield from _compare_lists(path, before, after, depth - 1)
    elif _encode(before) != _encode(after):  # distinguishes 1, 1.0 and true
        yield SpecChange("changed", path, before, after)


def _compare_objects(
    path: str, before: dict[str, Any], after: dict[str, Any], depth: int
) -> Iterator[SpecChange]:
    for key, value in after.items():
        if key in before:
            yield from _compare(_below(path, key), before[key], value, depth)
        else:
            yield SpecChange("added", _below(path, key), after=value)
    for key, value in before.items():
        if key not in after:
            yield SpecChange("removed", _below(path, key), before=value)
    old_order, new_order = [key for key in before if key in after], [key for key in after if key in before]
    if old_order != new_order:
        yield SpecChange("reordered", path, old_order, new_order)


def _compare_lists(path: str, before: list[Any], after: list[Any], depth: int) -> Iterator[SpecChange]:
    """Skip the common head and tail, so that an inserted element shows as one change."""
    old, new = [_encode(each) for each in before], [_encode(each) for each in after]
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    tail = 0
    while tail < min(len(old), len(new)) - first and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    paired = min(len(old), len(new)) - tail
    for index in range(first, paired):
        yield from _compare(f"{path}[{index}]", before[index], after[index], depth)
    for index in range(paired, len(new) - tail):
        yield SpecChange("added", f"{path}[{index}]", after=after[index])
    for index in range(paired, len(old) - tail):
        yield SpecChange("removed", f"{path}[{index}]", before=before[index])


def _below(path: str, key: str) -> str:
    if not _PLAIN.fullmatch(key):
        return f"{path}[{_encode(key).decode()}]"
    return f"{path}.{key}" if path else key
