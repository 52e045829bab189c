"""Values of functions and plug-ins as JSON values, which all stores and formats hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from datetime import date, time
from decimal import Decimal
from typing import Any

MAX_DEPTH = 64
MAX_INTEGER_BITS = 1023
"""The range of a float, so that every format can hold the number."""
_MAX_EXPONENT = 308


class NotJson(Exception):
    """The value has no form in JSON; the message continues the sentence: `NaN, which cannot be stored`."""


def json_value(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON writes it; raise `NotJson`.

    Beyond what JSON knows: dates and times become ISO text, decimals numbers, or their exact text where a
    number cannot hold them, and sets become lists, sorted if they can be.
    """
    if depth > MAX_DEPTH:
        raise NotJson("a value that is nested too deep to be stored")
    for kinds, convert in _FORMS:
        if isinstance(value, kinds):
            return convert(value, depth)
    raise NotJson(f"a value of type {type(value).__name__}, which cannot be stored")


def is_json_value(value: Any, depth: int = 0) -> bool:
    """Return whether a value is in its JSON form already, so that nothing has to be converted."""
    kind = type(value)
    if kind is str:
        return value.isascii() or not _has_surrogate(value)
    if kind is float:
        return math.isfinite(value)
    if kind is int:
        return bool(value.bit_length() <= MAX_INTEGER_BITS)
    if kind is list:
        return depth < MAX_DEPTH and all(is_json_value(each, depth + 1) for each in value)
    if kind is dict:
        return depth < MAX_DEPTH and all(
            type(key) is str and is_json_value(key) and is_json_value(each, depth + 1)
            for key, each in value.items()
        )
    return value is None or kind is bool


def copied(value: Any) -> Any:
    """Return a copy of a JSON value, so that a function that changes it does not change the item."""
    if type(value) is dict:
        return {key: copied(each) for key, each in value.items()}
    if type(value) is list:
        return [copied(each) for each in value]
    return value


def _text(value: str, _depth: int = 0) -> str:
    if not value.isascii() and _has_surrogate(value):
        raise NotJson("a text with half a character (a lone surrogate), which cannot be stored")
    return str.__str__(value)


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def _integer(value: int, _depth: int = 0) -> int:
    if value.bit_length() > MAX_INTEGER_BITS:
        digits = int(value.bit_length() * math.log10(2))
        raise NotJson(f"an integer of about {digits:,} digits; at most 308 can be stored")
    return int(value)


def _number(value: float, _depth: int = 0) -> float:
    if not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "infinity" if value > 0 else "-infinity"
        raise NotJson(f"{name}, which cannot be stored")
    return float(value)


def _decimal(value: Decimal, _depth: int) -> int | float | str:
    """Return the number that a decimal is, or its text if a number would round it."""
    if not value.is_finite():
        return _number(float("nan") if value.is_nan() else math.copysign(math.inf, value))
    if abs(value.adjusted()) > _MAX_EXPONENT:
        raise NotJson("a decimal beyond the range of numbers, which cannot be stored")
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and exponent >= 0:
        return _integer(int(value))
    nearest = float(value)
    return nearest if Decimal(repr(nearest)) == value else str(value)


def _object(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    found = {_key(key): json_value(each, depth + 1) for key, each in value.items()}
    if len(found) != len(value):
        raise NotJson("an object two keys of which are the same in JSON, which cannot be stored")
    return found


def _list(value: Collection[Any], depth: int) -> list[Any]:
    return [json_value(each, depth + 1) for each in value]


def _key(key: Any) -> str:
    """Return a key as text: numbers, booleans and null as JSON writes them."""
    if isinstance(key, bool) or key is None:
        return {True: "true", False: "false", None: "null"}[key]
    if not isinstance(key, str | int | float | date):
        raise NotJson(f"an object with a key of type {type(key).__name__}, which cannot be stored")
    return str(json_value(key))


def _in_order(values: Collection[Any]) -> list[Any]:
    """Return the members of a set in an order that is the same in every process."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, repr(value)))


_Kinds = type | tuple[type, ...]
_FORMS: tuple[tuple[_Kinds, Callable[[Any, int], Any]], ...] = (
    ((bool, type(None)), lambda value, _: value),
    (str, _text),
    (int, _integer),
    (float, _number),
    (Mapping, _object),
    ((list, tuple), _list),
    ((set, frozenset), lambda value, depth: _list(_in_order(value), depth)),
    ((date, time), lambda value, _: value.isoformat()),
    (Decimal, _decimal),
)
"""The JSON form of each type; the first match wins. A datetime is a date."""
