"""`number`, `integer` and `boolean`: convert text to numbers and truth values."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple, Self

from smartspider.core.items.columns import ColumnKind
from smartspider.interfaces.step import PageContext, StepFailed
from smartspider.pipeline.notations.currencies import CODES
from smartspider.pipeline.notations.number_marks import (
    LARGEST,
    NumberText,
    decimal_sign,
    guessed_decimal_sign,
    shown_decimal_sign,
)
from smartspider.pipeline.notations.number_text import parse_number
from smartspider.pipeline.steps.base import LOOKED_AT, Converter, require_short_text
from smartspider.plugins.options import InvalidOption

_REMEMBERED = 4096
_UNSURE = "unsure: the point can be a decimal sign or separate thousands; set 'locale'"


class _ColumnMarks(NamedTuple):
    """The decimal sign of a column: as its values show it, and else that of the language or a guess."""

    shown: str | None
    otherwise: str | None
    is_guess: bool


_lone = attrgetter("lone")
_UNKNOWN = _ColumnMarks(None, None, is_guess=True)


class NumberStep(Converter):
    """Converts a text with exactly one number; numbers pass unchanged, everything else fails. Numbers without
    decimals are ints.

    `locale` determines the decimal sign. Without it, a lone mark before exactly three digits is judged by the
    other values of the column, then as a thousands mark in money, then by the language of the page; a comma
    then separates thousands, and a point is the decimal sign, which is noted as unsure.

    `currency` names the field for the ISO code of the currency; `true` is the field's own name plus
    `_currency`; an ISO code rejects other currencies.
    """

    kind: ColumnKind | None = "number"
    _is_whole = False

    def __init__(self, *, locale: str | None = None, currency: str | bool = False) -> None:
        decimal = None if locale is None else decimal_sign(locale)
        if locale is not None and decimal is None:
            raise InvalidOption("locale", f"{locale!r} is not a known locale", "like 'de', 'en-US' or 'zh'")
        if currency == "":
            raise InvalidOption("currency", "is empty", "the name of a field, or true")
        self.wanted = currency if currency in CODES else None
        self.extra_field: str | None = None
        """The field for the currency; `*` stands for the field with the number."""
        if currency and self.wanted is None:
            self.extra_field = "*_currency" if currency is True else str(currency)
        self.extra_kind: ColumnKind = "text"
        self.extra_option = "currency"
        language = (locale or "").replace("_", "-").partition("-")[0].lower()
        self._decimal = decimal
        self._parse = lru_cache(_REMEMBERED)(lambda text: parse_number(text, decimal, language))
        self._column = _UNKNOWN
        self._of_columns: dict[_ColumnMarks, Self] = {}

    def for_column(self, values: Sequence[Any], context: PageContext) -> Self:
        """Return the step for a column with these values; itself if no value has two readings."""
        if self._decimal is not None:
            return self
        parse = self._parse
        texts = [value for value in values if type(value) is str and len(value) <= LOOKED_AT]
        numbers = [number for text in texts if (number := parse(text)) is not None]
        if not any(map(_lone, numbers)):
            return self
        # Where the point is the decimal sign, a page says no more than the convention.
        is_comma = context.language is not None and decimal_sign(context.language) == ","
        guessed = guessed_decimal_sign(numbers)
        marks = _ColumnMarks(shown_decimal_sign(numbers), "," if is_comma else guessed, not is_comma)
        if marks == _UNKNOWN:
            return self
        step = self._of_columns.get(marks)
        if step is None:
            step = self._of_columns[marks] = copy(self)
            step._column = marks  # noqa: SLF001 - a copy of itself
        return step

    def note(self, value: Any) -> str:
        """Return the remark about a value whose reading is a guess; empty if it is none."""
        column = self._column
        if column.shown or not column.is_guess or self._is_whole or not isinstance(value, str):
            return ""
        number = self._parse(value) if len(value) <= LOOKED_AT else None
        return _UNSURE if number is not None and number.is_unsure else ""

    def apply(self, value: Any, context: PageContext) -> int | float:
        """Return the number."""
        return self.apply_with_extra(value, context)[0]

    def apply_with_extra(self, value: Any, _: PageContext) -> tuple[int | float, str | None]:
        """Return the number and its currency."""
        if not isinstance(value, str):
            return check_number(value), None
        found = self._parse(require_short_text(value, "a number"))
        if found is None:
            raise StepFailed("is not a number")
        if self.wanted is not None and found.currency not in (None, self.wanted):
            raise StepFailed(f"is not in {self.wanted}")
        return (self._chosen(found) if found.lone else found.value), found.currency

    def _chosen(self, number: NumberText) -> int | float:
        """Return the reading of a number with a lone mark before exactly three digits."""
        column = self._column
        if column.shown is not None:
            return number.read_with(column.shown)
        if self._is_whole:
            return number.grouped
        if number.is_money or column.otherwise is None:
            return number.value
        return number.read_with(column.otherwise)


def check_number(value: Any) -> int | float:
    """Return a number that fits a column; raise `StepFailed` otherwise."""
    match value:
        case bool() | list() | dict():
            raise StepFailed("is not a number")
        case int() if abs(value) <= LARGEST:
            return value
        case float() if math.isfinite(value):
            return value
        case _:
            raise StepFailed("is not a number of a usable size")


class IntegerStep(NumberStep):
    """Like `number`, but the number must be whole: 12.0 is 12, and 12.5 fails. A lone mark before exactly
    three digits separates thousands unless the column shows otherwise.
    """

    kind: ColumnKind | None = "integer"
    _is_whole = True

    def __init__(self, *, locale: str | None = None) -> None:
        super().__init__(locale=locale)

    def apply(self, value: Any, context: PageContext) -> int:
        """Return the integer."""
        number = self.apply_with_extra(value, context)[0]
        if isinstance(number, int):
            return number
        if not number.is_integer() or abs(number) > LARGEST:
            raise StepFailed("is not a whole number")
        return int(number)


_TRUE = frozenset(
    "true yes y t on 1 ja oui si sí sim да tak ano evet 是 真 有 对 對 はい 예 ✓ ✔ ☑ ✅ "
    "checked enabled".split()
)
_FALSE = frozenset(
    "false no n f off 0 nein non não nao нет nie ne 否 假 无 無 没有 沒有 不是 不 いいえ 아니요 "
    "✗ ✘ ☐ ❌ unchecked disabled".split()
)


class BooleanStep(Converter):
    """Converts words such as yes, no, on, 是 and 否, and 1 and 0; everything else fails."""

    kind: ColumnKind | None = "boolean"

    def apply(self, value: Any, _: PageContext) -> bool:
        """Return True or False."""
        if isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            if value in (0, 1):
                return value == 1
            raise StepFailed("is neither true nor false")
        word = (
            unicodedata.normalize("NFKC", require_short_text(value, "true or false"))
            .strip()
            .rstrip(".!")
            .casefold()
        )
        if word in _TRUE:
            return True
        if word in _FALSE:
            return False
        raise StepFailed("is neither true nor false")
