"""Checks: `type`, `range`, `length`, `enum`, `matches`. A value that fails rejects its item."""

from __future__ import annotations

import json
from typing import Any

from smartspider.core.items.columns import ColumnKind
from smartspider.core.patterns.pattern import UserPattern
from smartspider.interfaces.step import PageContext, StepFailed
from smartspider.pipeline.steps.base import Check, type_name
from smartspider.plugins.options import InvalidOption, check_bounds, compile_pattern, show

_TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "list": (list,),
    "object": (dict,),
}
_ALSO = {
    "string": "text",
    "str": "text",
    "float": "number",
    "int": "integer",
    "bool": "boolean",
    "array": "list",
    "dict": "object",
}
_KINDS: dict[str, ColumnKind] = {
    "text": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "list": "json",
    "object": "json",
}


class TypeStep(Check):
    """The value has one of the types in `is`: text, number, integer, boolean, list, object. Values of a list
    are checked one by one, unless `is` names `list`.
    """

    def __init__(self, *, is_: str | list[str]) -> None:
        names = [_ALSO.get(name, name) for name in ([is_] if isinstance(is_, str) else is_)]
        unknown = [name for name in names if name not in _TYPES]
        if unknown or not names:
            raise InvalidOption("is", f"{show(is_)} is not a type", f"one of {', '.join(_TYPES)}")
        self._types = {kind for name in names for kind in _TYPES[name]}
        self._reason = f"not {' or '.join(names)}"
        self.kind = _KINDS[names[0]] if len(names) == 1 else None
        self.takes_lists = "list" in names

    def apply(self, value: Any, _: PageContext) -> Any:
        """Return a value of that type."""
        if type(value) in self._types:
            return value
        raise StepFailed(f"is {type_name(value)}, {self._reason}")


class RangeStep(Check):
    """The number is between `min` and `max`, inclusive. With text bounds, texts are compared, such as ISO
    dates.
    """

    def __init__(self, *, min_: float | str | None = None, max_: float | str | None = None) -> None:
        if isinstance(min_, str) != isinstance(max_, str) and min_ is not None and max_ is not None:
            raise InvalidOption("max", "is not of the type of min", "two numbers, or two texts")
        check_bounds(min_, max_)
        self._min = min_
        self._max = max_
        self._is_text = isinstance(min_ if min_ is not None else max_, str)

    def apply(self, value: Any, _: PageContext) -> Any:
        """Return a value in the range."""
        if isinstance(value, str) != self._is_text or isinstance(value, bool | list | dict):
            raise StepFailed(f"is {type_name(value)}, not {'text' if self._is_text else 'a number'}")
        if value != value:  # noqa: PLR0124 - NaN is the one value that differs from itself
            raise StepFailed("is not a number")
        if self._min is not None and value < self._min:
            raise StepFailed(f"is below {show(self._min)}")
        if self._max is not None and value > self._max:
            raise StepFailed(f"is above {show(self._max)}")
        return value


class LengthStep(Check):
    """A text has between `min` and `max` characters, a list as many values, an object as many keys."""

    takes_lists = True

    def __init__(self, *, min_: int | None = None, max_: int | None = None) -> None:
        for name, bound in (("min", min_), ("max", max_)):
            if bound is not None and bound < 0:
                raise InvalidOption(name, f"{bound} is below 0", "a length is not negative")
        check_bounds(min_, max_)
        self._min = min_ or 0
        self._max = max_

    def apply(self, value: Any, _: PageContext) -> Any:
        """Return a value of that length."""
        if not isinstance(value, str | list | dict):
            raise StepFailed(f"is {type_name(value)}, which has no length")
        if len(value) < self._min:
            raise StepFailed(f"is shorter than {self._min}")
        if self._max is not None and len(value) > self._max:
            raise StepFailed(f"is longer than {self._max}")
        return value


class EnumStep(Check):
    """The value is one of `values`, of the same type: 1 is not "1"."""

    def __init__(self, *, values: list[Any]) -> None:
        if not values:
            raise InvalidOption("values", "is empty", "a list of allowed values")
        self._plain = {(type(value), value) for value in values if isinstance(value, str | int | float)}
        self._deep = [value for value in values if isinstance(value, list | dict)]
        self.takes_lists = any(isinstance(value, list) for value in values)
        listed = ", ".join(json.dumps(value, ensure_ascii=False) for value in values[:8])
        self._reason = f"is not one of {listed}{', ...' if len(values) > 8 else ''}"

    def apply(self, value: Any, _: PageContext) -> Any:
        """Return a value that is listed."""
        if isinstance(value, list | dict):
            if value in self._deep:
                return value
        elif (type(value), value) in self._plain:
            return value
        raise StepFailed(self._reason)


class MatchesStep(Check):
    """The text contains a match of `pattern` (a Python regular expression); `^` and `$` anchor it."""

    def __init__(self, *, pattern: str) -> None:
        self._pattern = _compiled(pattern)

    def apply(self, value: Any, _: PageContext) -> Any:
        """Return a value that matches."""
        if isinstance(value, bool | list | dict):
            raise StepFailed(f"is {type_name(value)}, not text")
        if self._pattern.search(value if isinstance(value, str) else json.dumps(value)) is None:
            raise StepFailed(f"does not match {show(self._pattern.pattern)}")
        return value


def _compiled(text: str) -> UserPattern:
    return compile_pattern("pattern", text)
