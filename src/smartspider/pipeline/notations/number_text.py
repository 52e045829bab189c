"""Find the number in a text: its currency, unit and sign."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

from smartspider.pipeline.notations.currencies import THREE_DECIMALS, cut_currencies
from smartspider.pipeline.notations.number_marks import LARGEST, NumberText, NumberToken, is_round, read_token

_MINUS = "-\u2212\u2013\u2012\ufe63"
_IDEOGRAPHS = "\u2e80"
"""From here on, words and numbers are written without spaces."""
_SPELLING = str.maketrans("\u2019\u00b4\u066c\u066b\u060c", "'''.,", "\u200b\u200e\u200f")
"""Replaces typographic and Arabic separators, and removes invisible characters."""
_PLAIN = re.compile(r"(-?)((?:[1-9]\d{0,2}(?:,\d{3}){1,4}|\d{1,15}))(\.\d{1,15})?", re.ASCII)
"""The fast path: matches most numbers at a tenth of the cost."""
_WORDS = re.compile(r"[^\d\s.,'()%+-]")
_NUMBER = re.compile(r"(?:(?<!\d)[.,])?\d+(?:[.,' ]\d+)*(?:[eE][+-]?\d+)?")
_UNIT = re.compile(
    r" ?(?:(万亿|[千万萬亿億兆])|(thousand|million|billion|mio|mrd|mln)\b)|(k|mn|m|bn|b)(?![^\W\d_])",
    re.IGNORECASE,
)
_UNITS = {
    "k": 3, "千": 3, "thousand": 3, "万": 4, "萬": 4, "m": 6, "mn": 6, "mio": 6, "mln": 6, "million": 6,
    "亿": 8, "億": 8, "b": 9, "bn": 9, "mrd": 9, "billion": 9, "兆": 12, "万亿": 12,
}  # fmt: skip
_NO_CENTS = re.compile(r"(?<=\d)([.,])\s?[-\u2013\u2014]+(?!\s?\d)")
"""The dash for no cents: `1.299,-`."""
_SIGNS = re.compile(r"\d\s?[€£$]\s?\d")
_SIGN_INSIDE = re.compile(r"(?<![.,\d])(\d{1,3}(?:[ .,]?\d{3})*)\s?([€£$])\s?(\d\d)(?![\d.,])")
"""A currency sign as decimal sign: `35€ 99`."""
_GAP = re.compile(r"(?<=\d)([.,]) (?=\d\d(?!\d))")
"""A space before the decimals, left by markup: `119. 95`."""
_ALL_DIGITS = re.compile(r"[\d.' ]+")
_STRAY_POINT = re.compile(r"(?<![\d.,])\.(?=\d+[.,]\d)")
"""A point before a number that has its own marks: `$.750.30`."""
_DASHES = "-\u2013\u2014"
_SEPARATING_DASH = re.compile(rf"^[{_DASHES}]\s+")
"""The rest of `Name - $44.99`; a minus sign stands beside the amount or its currency."""
_ASIDE = re.compile(r"\([^()]*\d[^()]*\)")
_PERCENTAGE = re.compile(r"[-+\u2212]?\s?\d+(?:[.,]\d+)?\s?%")
_OUT_OF = re.compile(r"(?<=\d)\s*(?:out of|von|sur|su|trên|из)\s+\d+\b", re.IGNORECASE)
"""The maximum of a rating."""
_FREE = frozenset("free gratis gratuit kostenlos бесплатно 免费 免費 無料 무료".split())


def parse_number(text: str, decimal: str | None, language: str) -> NumberText | None:
    """Return the one number in a text, with its currency; None if there is no number, or several.

    Numbers in parentheses beside it, percentages beside money, the maximum of a rating and the same number
    again do not count.
    """
    quick = _quick(text, decimal, None, is_money=False)
    if quick is not None:
        return quick
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_SPELLING)
    text = text.strip()
    if "(" in text and any(map(str.isdecimal, rest := _ASIDE.sub(" ", text))):
        text = rest.strip()
    if not _WORDS.search(text):
        return _read(text, decimal, None, is_money=False)
    if _SIGNS.search(text):
        text = _SIGN_INSIDE.sub(lambda found: _with_cents(found, decimal or "."), text)
    money = cut_currencies(text, language)
    if not money.is_money:
        return _read(text, decimal, None, is_money=False)
    if text[0] in _DASHES:
        money = cut_currencies(_SEPARATING_DASH.sub("", text), language)
    text = money.text.strip()
    found = _quick(text, decimal, money.code, is_money=True)
    return found or _read(text, decimal, money.code, is_money=True)


def _with_cents(found: re.Match[str], decimal: str) -> str:
    whole = "".join(filter(str.isdecimal, found[1]))
    return f"{whole}{decimal}{found[3]}{found[2]}"


def _quick(text: str, decimal: str | None, code: str | None, *, is_money: bool) -> NumberText | None:
    plain = _PLAIN.fullmatch(text)
    if plain is None or decimal == ",":
        return None
    minus, whole, fraction = plain.groups()
    digits = minus + whole.replace(",", "")
    if fraction is None:
        if decimal is None and len(whole) in (5, 6, 7) and whole[-4] == ",":
            number = NumberText(int(digits), code, is_money, "", ",", int(digits) / 1000)
            return number if code is None else _judged(number.swapped(), text)
        return NumberText(int(digits), code, is_money, "." if len(digits) < len(whole) else "")
    value = float(digits + fraction)
    if decimal is not None or len(fraction) != 4 or len(whole) > 3 or whole[0] == "0":
        return NumberText(value, code, is_money, ".")
    return _judged(NumberText(value, code, is_money, "", ".", int(digits + fraction[1:])), text)


def _judged(number: NumberText, text: str) -> NumberText:
    """Choose the likelier reading of a lone mark before exactly three digits, given as decimal sign."""
    if number.is_money:
        is_grouped = number.lone not in THREE_DECIMALS.get(number.currency or "", "")
    else:
        is_grouped = number.lone == "," or is_round(text)
    return number.swapped() if is_grouped else number


def _read(text: str, decimal: str | None, code: str | None, *, is_money: bool) -> NumberText | None:
    cents = _NO_CENTS.search(text)
    if cents is not None:
        text = f"{text[: cents.start()]} {text[cents.end() :]}".strip()
        is_money = True
    text = _STRAY_POINT.sub(" ", text)
    if is_money or _ALL_DIGITS.fullmatch(text):
        text = _GAP.sub(r"\1", text)
    numbers = list(_NUMBER.finditer(text))
    if len(numbers) > 1:
        text = _OUT_OF.sub("", text)
        if is_money:
            text = _PERCENTAGE.sub("", text)
        numbers = list(_NUMBER.finditer(text))
        whole = _GAP.sub(r"\1", text)
        if len(numbers) > 1 and _is_repeated(repeats := list(_NUMBER.finditer(whole)), decimal):
            text, numbers = whole, repeats[:1]
    if len(numbers) != 1:
        return NumberText(0) if not numbers and text.strip("!. ").casefold() in _FREE else None
    found = numbers[0]
    token = read_token(found[0], decimal)
    is_negative = _is_negative(text[: found.start()], text[found.end() :])
    if token is None or is_negative is None:
        return None
    unit = _UNIT.match(text, found.end())
    number = _number(token, is_negative=is_negative, scale=_UNITS[unit[0].strip().lower()] if unit else 0)
    if number is None:
        return None
    proves = cents[1] if cents is not None else number.proves
    number = number._replace(currency=code, is_money=is_money, proves=proves)
    is_sure = unit is not None or text.startswith(("%", " %"), found.end())
    return _settled(number, found[0], is_sure=is_sure) if number.lone else number


def _is_repeated(numbers: list[re.Match[str]], decimal: str | None) -> bool:
    """Return True for the same amount again: `205,68 € 205.68`."""
    amounts = {token.value if (token := read_token(found[0], decimal)) else None for found in numbers}
    return len(numbers) > 1 and len(amounts) == 1 and all(found[0][-3:-2] in {".", ","} for found in numbers)


def _settled(number: NumberText, token: str, *, is_sure: bool) -> NumberText:
    """Choose a reading of a number with a lone mark, given as decimal sign; with a unit it is sure."""
    if not is_sure:
        return _judged(number, token)
    if number.lone == ",":
        number = number.swapped()
    return number._replace(lone="", proves="")


def _number(token: NumberToken, *, is_negative: bool, scale: int) -> NumberText | None:
    value = _plain(token.value, is_negative=is_negative, scale=scale)
    other = _plain(token.grouped, is_negative=is_negative, scale=scale) if token.grouped is not None else 0
    if value is None or other is None:
        return None
    return NumberText(value, proves=token.proves, lone=token.lone, other=other)


def _is_negative(before: str, after: str) -> bool | None:
    """Read the sign of a number from its surroundings; None if it is part of a word, such as B12 or A-12."""
    last = before[-1:]
    if last.isalpha() and last < _IDEOGRAPHS:
        return None
    before, after = before.rstrip(), after.strip()
    if before == "(" and after.endswith(")"):
        return True
    if before and before[-1] in _MINUS:
        return None if before[-2:-1].isalnum() else True
    return len(after) == 1 and after in _MINUS


def _plain(value: Decimal, *, is_negative: bool, scale: int) -> int | float | None:
    value = (-value if is_negative else value).scaleb(scale)
    exponent = value.as_tuple().exponent
    if value.adjusted() > 300 or not isinstance(exponent, int):
        return None
    if exponent >= 0 or (scale and value == value.to_integral_value()):
        number = int(value)
        return number if abs(number) <= LARGEST else None
    return float(value)
