"""Separators of numbers: which mark is the decimal sign, and which separates thousands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

LARGEST = 2**63 - 1
"""Larger integers fit no column."""

_LONGEST_EXPONENT = 4
_GROUPS = re.compile(r"\d{1,3}(?:[.,' ]\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}")
"""Groups of three digits; or, as in India, of two before the last three."""
_LONE = re.compile(r"[1-9]\d{0,2}([.,])\d{3}")
"""Matches a lone mark before exactly three digits, the one notation with two meanings."""
_COMMA = frozenset(
    "af az be bg bs ca cs da de el es et eu fi fr gl hr hu hy id is it ka kk lt lv mk nb nl nn no pl pt ro "
    "ru sk sl sq sr sv tr uk uz vi".split()
)
_POINT = frozenset("ar bn cy en fa fil ga gu he hi ja ko mr ms mt my ne pa si sw ta te th ur zh".split())
_ELSEWHERE = {
    "de-ch": ".", "de-li": ".", "it-ch": ".", "fr-ch": ".", "es-mx": ".", "es-us": ".", "es-pr": ".",
    "es-gt": ".", "es-hn": ".", "es-ni": ".", "es-pa": ".", "es-pe": ".", "es-sv": ".", "es-do": ".",
    "en-za": ",",
}  # fmt: skip


def decimal_sign(locale: str) -> str | None:
    """Return the decimal sign of a locale such as `de`, `de_CH` or `en-US`; None for an unknown language."""
    tag = locale.partition(".")[0].replace("_", "-").lower()
    language = tag.partition("-")[0]
    if tag in _ELSEWHERE:
        return _ELSEWHERE[tag]
    return "," if language in _COMMA else "." if language in _POINT else None


class NumberToken(NamedTuple):
    """The digits of a number as written. A lone mark before exactly three digits gives two readings."""

    value: Decimal
    """The value; the mark is read as decimal sign if it is lone."""
    proves: str = ""
    """The decimal sign that the notation proves, if any."""
    lone: str = ""
    grouped: Decimal | None = None
    """The value if the lone mark separates thousands."""


def read_token(token: str, decimal: str | None) -> NumberToken | None:
    """Read digits with separators; None if the separators make no sense.

    Without a decimal sign, the last of two different marks is the decimal sign, and so is a single one.
    """
    mantissa, _, exponent = token.lower().partition("e")
    if len(exponent) > _LONGEST_EXPONENT or (decimal and mantissa.count(decimal) > 1):
        return None
    lone = _LONE.fullmatch(mantissa) if decimal is None and not exponent else None
    if lone is not None:
        digits = mantissa.replace(lone[1], "")
        return NumberToken(Decimal(digits).scaleb(-3), lone=lone[1], grouped=Decimal(digits))
    cut = _decimal_at(mantissa, decimal)
    whole, fraction = (mantissa, "") if cut is None else (mantissa[:cut], mantissa[cut + 1 :])
    if not fraction.isdecimal() and fraction:
        return None
    proves = "" if cut is None else mantissa[cut]
    if whole and not whole.isdecimal():
        marks = {char for char in whole if not char.isdecimal()}
        if len(marks) > 1 or _GROUPS.fullmatch(whole) is None:
            return None
        proves = proves or {".": ",", ",": "."}.get(marks.pop(), "")
        whole = "".join(filter(str.isdecimal, whole))
    value = Decimal(f"{whole or 0}{'.' if fraction else ''}{fraction}").scaleb(int(exponent or 0))
    return NumberToken(value, proves)


def _decimal_at(token: str, decimal: str | None) -> int | None:
    """Return the position of the decimal sign."""
    at = token.rfind(decimal) if decimal is not None else max(token.rfind("."), token.rfind(","))
    return None if at < 0 or token.count(token[at]) > 1 else at


class NumberText(NamedTuple):
    """The number in a text. With a lone mark before exactly three digits, `value` is the likelier reading of
    the text on its own and `other` the other one.
    """

    value: int | float
    currency: str | None = None
    is_money: bool = False
    proves: str = ""
    """The decimal sign that the notation proves, if any."""
    lone: str = ""
    other: int | float = 0

    @property
    def is_unsure(self) -> bool:
        """True if nothing in the text says what its point means."""
        return self.lone == "." and not self.is_money

    def swapped(self) -> NumberText:
        """Return the number with its other reading as the likelier one."""
        return NumberText(self.other, self.currency, self.is_money, self.proves, self.lone, self.value)

    def read_with(self, decimal: str) -> int | float:
        """Return the reading for a decimal sign."""
        small, large = sorted((self.value, self.other), key=abs)
        return small if decimal == self.lone else large

    @property
    def grouped(self) -> int | float:
        """The reading in which the mark separates thousands."""
        return max(self.value, self.other, key=abs) if self.lone else self.value


def is_round(text: str) -> bool:
    """Return True for digits such as `129.900`: nobody writes the two zeros as decimals."""
    return text.endswith("00")


def shown_decimal_sign(numbers: Sequence[NumberText]) -> str | None:
    """Return the decimal sign that the numbers of a column show together; None if they do not.

    Proof are numbers that can be read in one way only. Else plain whole numbers show it: beside 987, 1.234
    has a thousands mark, and beside 12345 it has not.
    """
    proofs = {number.proves for number in numbers if number.proves}
    if proofs:
        return proofs.pop() if len(proofs) == 1 else None
    if not any(number.is_unsure for number in numbers):
        return None
    plain = [abs(number.value) for number in numbers if not number.lone and isinstance(number.value, int)]
    largest = max(plain, default=0)
    return "." if largest >= 1000 else "," if largest >= 100 else None


def guessed_decimal_sign(numbers: Sequence[NumberText]) -> str | None:
    """Return the likelier decimal sign of the unsure numbers of a column, so that all are read alike; None
    if there are none. Three decimals that all end in zeros are thousands.
    """
    endings = [str(value)[-3:] for value in {number.grouped for number in numbers if number.is_unsure}]
    if not endings:
        return None
    zeros = sum(len(ending) - len(ending.rstrip("0")) for ending in endings)
    return "," if zeros >= 2 and all(ending.endswith("0") for ending in endings) else "."
