"""Filters and sort order of rows: JSON paths, conditions on values, sort keys."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from smartspider.core.errors import RequestInvalid
from smartspider.core.pages.extraction import Item
from smartspider.core.pages.nesting import call_deep

Operator = Literal["eq", "ne", "lt", "le", "gt", "ge", "contains", "exists"]
Path = tuple[str | int, ...]
"""Keys of objects and indexes of lists, outermost first."""
RowFilter = Callable[[Item], bool]

MAX_STEPS = 20
"""Maximum number of steps in a path."""
_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_NAME = re.compile(r'"((?:[^"\\]|\\["\\])*)"|([^.\[\]"]+)')
_PLACE = re.compile(r"\[(-?[0-9]{1,9})\]")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,300}(?:\.[0-9]{0,300})?|\.[0-9]{1,300})(?:[eE][+-]?[0-9]{1,3})?")
_SORTED_CHARS = 300

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Condition(msgspec.Struct, frozen=True):
    """A condition on a value. `path` is a field or a JSON path into it: `price`, `tags[0]`, `seller.name`.

    `value` may be text: it equals the same text, the number it denotes (`3` and `3.0`), a list or an
    object as JSON and, if empty, null, a missing value and an empty list or object. `lt`, `le`, `gt` and
    `ge` compare numbers as numbers and other text as text. `contains` finds a case-insensitive substring or
    an element of a list. `exists` matches everything but null.
    """

    path: str
    operator: Operator
    value: Any = None


def parse_path(text: str) -> Path:
    """Return the steps of a path; raise `RequestInvalid` for text that is not a path."""
    steps: list[str | int] = []
    at = 0
    while True:
        name = _NAME.match(text, at)
        if name is None:
            raise _path_invalid(text)
        steps.append(re.sub(r"\\(.)", r"\1", name[1]) if name[1] is not None else name[2])
        at = name.end()
        while place := _PLACE.match(text, at):
            steps.append(int(place[1]))
            at = place.end()
        if len(steps) > MAX_STEPS:
            raise RequestInvalid(
                f"a path has more than {MAX_STEPS} steps", hint="select a value that is less deeply nested"
            )
        if at == len(text):
            return tuple(steps)
        if text[at] != ".":
            raise _path_invalid(text)
        at += 1


def quote_key(name: str) -> str:
    """Return any key as one quoted step of a path."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def value_at(row: Any, path: Path) -> Any:
    """Return the value at a path, or None."""
    for step in path:
        match row:
            case dict() if isinstance(step, str):
                row = row.get(step)
            case list() if isinstance(step, int) and -len(row) <= step < len(row):
                row = row[step]
            case _:
                return None
    return row


def row_filter(conditions: Sequence[Condition]) -> RowFilter | None:
    """Return a predicate that is true for rows that meet all conditions; None without conditions."""
    tests = [_test(parse_path(condition.path), _value_test(condition)) for condition in conditions]
    if len(tests) <= 1:
        return tests[0] if tests else None
    return lambda row: all(test(row) for test in tests)


def row_reader(paths: Sequence[Path]) -> Callable[[str], Item]:
    """Return a decoder of the fields that the paths start with; it skips the others, which is faster."""
    fields = sorted({str(path[0]) for path in paths})
    if not all(map(_is_plain, fields)):
        return lambda data: call_deep(_decode, data)
    names = [f"field_{number}" for number in range(len(fields))]
    row_type = msgspec.defstruct(
        "Fields",
        [(name, Any, None) for name in names],
        rename=dict(zip(names, fields, strict=True)),
    )
    read = msgspec.json.Decoder(row_type).decode

    def fields_of(data: str) -> Item:
        return dict(zip(fields, msgspec.structs.astuple(call_deep(read, data)), strict=True))

    return fields_of


def sort_key(value: Any, *, is_descending: bool) -> tuple[int, Any]:
    """Return the sort key of a value: numbers, text, booleans, other JSON, and null always last.

    Only the first 300 characters of text count.
    """
    match value:
        case None:
            return (-1 if is_descending else 4), 0
        case bool():
            return 2, value
        case int() | float():
            return 0, value
        case str():
            return 1, value[:_SORTED_CHARS]
        case _:
            return 3, _json(value)[:_SORTED_CHARS]


def _is_plain(name: str) -> bool:
    return name.isprintable() and not set(name) & set('"\\')


def _test(path: Path, fits: Callable[[Any], bool]) -> RowFilter:
    if len(path) == 1 and isinstance(path[0], str):
        field = path[0]
        return lambda row: fits(row.get(field))
    return lambda row: fits(value_at(row, path))


def _value_test(condition: Condition) -> Callable[[Any], bool]:
    match condition.operator:
        case "exists":
            wanted = condition.value is not False
            return lambda value: (value is not None) is wanted
        case "contains":
            return _contains(condition.value)
        case "eq":
            return _equals(condition.value)
        case "ne":
            equals = _equals(condition.value)
            return lambda value: not equals(value)
        case ordered:
            return _compares(_ORDERED[ordered], condition.value)


def _equals(wanted: Any) -> Callable[[Any], bool]:
    text = _text(wanted)
    number = number_of(wanted)
    content = _content(text)

    def equals(value: Any) -> bool:
        match value:
            case None:
                return not text
            case str():
                return value == text
            case bool():
                return text == ("true" if value else "false")
            case int() | float():
                return number is not None and bool(value == number)
            case _:
                return bool(call_deep(lambda inner: inner == content, value)) if text else not value

    return equals


def _compares(holds: Callable[[Any, Any], bool], wanted: Any) -> Callable[[Any], bool]:
    text = _text(wanted)
    number = number_of(wanted)

    def compares(value: Any) -> bool:
        match value:
            case bool() | None:
                return False
            case int() | float():
                return number is not None and holds(value, number)
            case str():
                meant = number_of(value) if number is not None else None
                return holds(value, text) if meant is None else holds(meant, number)
            case _:
                return False

    return compares


def _contains(wanted: Any) -> Callable[[Any], bool]:
    part = _text(wanted).casefold()
    equals = _equals(wanted)

    def contains(value: Any) -> bool:
        match value:
            case str():
                return part in value.casefold()
            case list():
                return any(map(equals, value))
            case _:
                return False

    return contains


def number_of(value: Any) -> int | float | None:
    """Return a number, or the number that a whole text denotes; None for other values."""
    match value:
        case bool():
            return None
        case int() | float():
            return value
        case str() if _NUMBER.fullmatch(value):
            return int(value) if value.lstrip("+-").isdecimal() else float(value)
        case _:
            return None


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return call_deep(_encode, value).decode()


def _content(text: str) -> Any:
    """Return the list or object that a JSON text denotes; otherwise an object that equals nothing."""
    if text[:1] in ("[", "{"):
        try:
            return call_deep(_decode, text)
        except (msgspec.DecodeError, RecursionError):
            pass
    return object()


def _path_invalid(text: str) -> RequestInvalid:
    return RequestInvalid(
        f"{text[:80]!r} is not a path into a row",
        hint='write price, tags[0], seller.name, or "a key with dots"',
    )
