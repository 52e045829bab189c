"""`number`: texts such as `1.234,56 €` become numbers."""

from __future__ import annotations

import math
import unicodedata
from functools import lru_cache
from typing import Any

from smartspider.core.items.columns import ColumnKind
from smartspider.interfaces.step import Around, StepFailed
from smartspider.pipeline.options import OptionWrong
from smartspider.pipeline.steps.number_text import CODES, LARGEST, decimal_sign, parse_number
from smartspider.pipeline.steps.shapes import Converter, short_text

_REMEMBERED = 4096


class NumberStep(Converter):
    """The one number in a text; numbers pass, everything else is not a number. Whole numbers without decimals
    are ints. `locale` says what the decimal sign is; without it, it is guessed: a comma before exactly three
    digits separates thousands, a point that stands alone is the decimal sign.

    `currency` names the field that receives the ISO code of the currency; `true` means the field's own name
    with `_currency` behind it, and an ISO code that no other currency may stand there.
    """

    kind: ColumnKind | None = "number"

    def __init__(self, *, locale: str | None = None, currency: str | bool = False) -> None:
        decimal = None if locale is None else decimal_sign(locale)
        if locale is not None and decimal is None:
            raise OptionWrong("locale", f"{locale!r} is not a known locale", "like 'de', 'en-US' or 'zh'")
        if currency == "":
            raise OptionWrong("currency", "is empty", "the name of a field, or true")
        self.wanted = currency if currency in CODES else None
        self.aside: str | None = None
        """The field that receives the currency; `*` in it stands for the field with the number."""
        if currency and self.wanted is None:
            self.aside = "*_currency" if currency is True else str(currency)
        self.aside_kind: ColumnKind = "text"
        self.aside_option = "currency"
        language = (locale or "").replace("_", "-").partition("-")[0].lower()
        self._parse = lru_cache(_REMEMBERED)(lambda text: parse_number(text, decimal, language))

    def treat(self, value: Any, around: Around) -> int | float:
        """The number."""
        return self.treat_aside(value, around)[0]

    def treat_aside(self, value: Any, _: Around) -> tuple[int | float, str | None]:
        """The number, and the currency beside it."""
        if not isinstance(value, str):
            return checked(value), None
        found = self._parse(short_text(value, "a number"))
        if found is None:
            raise StepFailed("is not a number")
        if self.wanted is not None and found[1] not in (None, self.wanted):
            raise StepFailed(f"is not in {self.wanted}")
        return found


def checked(value: Any) -> int | float:
    """The value, when it is a number that a column can hold."""
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
    """Reads what `number` reads, and wants it whole: 12.0 is 12, and 12.5 is not an integer."""

    kind: ColumnKind | None = "integer"

    def __init__(self, *, locale: str | None = None) -> None:
        super().__init__(locale=locale)

    def treat(self, value: Any, around: Around) -> int:
        """The whole number."""
        number = self.treat_aside(value, around)[0]
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
    """True or false of words such as yes, no, on, 是 and 否, and of 1 and 0; everything else is neither."""

    kind: ColumnKind | None = "boolean"

    def treat(self, value: Any, _: Around) -> bool:
        """True or false."""
        if isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            if value in (0, 1):
                return value == 1
            raise StepFailed("is neither true nor false")
        word = (
            unicodedata.normalize("NFKC", short_text(value, "true or false")).strip().rstrip(".!").casefold()
        )
        if word in _TRUE:
            return True
        if word in _FALSE:
            return False
        raise StepFailed("is neither true nor false")
