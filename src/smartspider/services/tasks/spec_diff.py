"""What two versions of a task differ in, path by path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

_MAX_DEPTH = 100
"""Below this, values are compared as a whole."""
_PLAIN = re.compile(r"[\w-]+")

_encode = msgspec.json.Encoder().encode


class SpecChange(msgspec.Struct, frozen=True):
    """One place where two specs differ. Of `reordered`, before and after are the keys; their order is that of
    columns.
    """

    kind: Literal["added", "removed", "changed", "reordered"]
    path: str
    before: Any = None
    after: Any = None


def diff_specs(before: bytes, after: bytes) -> list[SpecChange]:
    """From one spec to another: what was added, removed and changed, in the order of the later one."""
    return list(_compare("", msgspec.json.decode(before), msgspec.json.decode(after), _MAX_DEPTH))


def _compare(path: str, before: Any, after: Any, depth: int) -> Iterator[SpecChange]:
    if depth and isinstance(before, dict) and isinstance(after, dict):
        yield from _compare_objects(path, before, after, depth - 1)
    elif depth and isinstance(before, list) and isinstance(after, list):
        yield from _compare_lists(path, before, after, depth - 1)
    elif _encode(before) != _encode(after):  # which tells 1 from 1.0 and from true
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
    kept, stayed = [key for key in before if key in after], [key for key in after if key in before]
    if kept != stayed:
        yield SpecChange("reordered", path, kept, stayed)


def _compare_lists(path: str, before: list[Any], after: list[Any], depth: int) -> Iterator[SpecChange]:
    """What both begin and end with is left aside, so that one that was put in shows as one."""
    old, new = [_encode(each) for each in before], [_encode(each) for each in after]
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    tail = 0
    while tail < min(len(old), len(new)) - first and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    paired = min(len(old), len(new)) - tail
    for place in range(first, paired):
        yield from _compare(f"{path}[{place}]", before[place], after[place], depth)
    for place in range(paired, len(new) - tail):
        yield SpecChange("added", f"{path}[{place}]", after=after[place])
    for place in range(paired, len(old) - tail):
        yield SpecChange("removed", f"{path}[{place}]", before=before[place])


def _below(path: str, key: str) -> str:
    if not _PLAIN.fullmatch(key):
        return f"{path}[{_encode(key).decode()}]"
    return f"{path}.{key}" if path else key
