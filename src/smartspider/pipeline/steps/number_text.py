"""Parse numbers with separators, units and currencies."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal

LARGEST = 2**63 - 1
"""Larger integers fit no column."""

_LONGEST_EXPONENT = 4
_MINUS = "-\u2212\u2013\u2012\ufe63"
_IDEOGRAPHS = "\u2e80"
"""From here on, words and numbers are written without spaces."""
_SPELLING = str.maketrans("\u2019\u00b4\u066c\u066b", "'''.", "\u200b")
"""Replaces typographic and Arabic separators."""
_PLAIN = re.compile(r"(-?(?:[1-9]\d{0,2}(?:,\d{3}){1,4}|\d{1,15}))(\.\d{1,15})?", re.ASCII)
"""The fast path: matches most numbers at a tenth of the cost."""
_WORDS = re.compile(r"[^\d\s.,'()%+-]")
_NUMBER = re.compile(r"(?:(?<!\d)[.,])?\d+(?:[.,' ]\d+)*(?:[eE][+-]?\d+)?")
_GROUPS = re.compile(r"\d{1,3}(?:[.,' ]\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}")
"""Groups of three digits; or, as in India, of two before the last three."""
_UNIT = re.compile(
    r" ?(?:(万亿|[千万萬亿億兆])|(thousand|million|billion|mio|mrd|mln)\b)|(k|mn|m|bn|b)(?![^\W\d_])",
    re.IGNORECASE,
)
_UNITS = {
    "k": 3, "千": 3, "thousand": 3, "万": 4, "萬": 4, "m": 6, "mn": 6, "mio": 6, "mln": 6, "million": 6,
    "亿": 8, "億": 8, "b": 9, "bn": 9, "mrd": 9, "billion": 9, "兆": 12, "万亿": 12,
}  # fmt: skip
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


def parse_number(text: str, decimal: str | None, language: str) -> tuple[int | float, str | None] | None:
    """Return the one number in a text and its currency; None if there is no number, or several.

    Without a decimal sign, the last of two different separators is the decimal sign, and so is a single
    one, except a comma before exactly three digits.
    """
    quick = _quick(text, decimal)
    if quick is not None:
        return quick, None
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_SPELLING)
    code = None
    currency = FOUND.search(text) if _WORDS.search(text) else None
    if currency is not None:
        code = currency_code(currency[0], language)
        text = f"{text[: currency.start()]} {text[currency.end() :]}"
    text = text.strip()
    number = _quick(text, decimal)
    if number is None:
        number = _read(text, decimal)
    return None if number is None else (number, code)


def _quick(text: str, decimal: str | None) -> int | float | None:
    plain = _PLAIN.fullmatch(text)
    if plain is None or decimal == ",":
        return None
    whole = plain[1].replace(",", "")
    return float(whole + plain[2]) if plain[2] else int(whole)


def _read(text: str, decimal: str | None) -> int | float | None:
    numbers = list(_NUMBER.finditer(text))
    if len(numbers) != 1:
        return None
    found = numbers[0]
    value = _value(found[0], decimal)
    is_negative = _is_negative(text[: found.start()], text[found.end() :])
    if value is None or is_negative is None:
        return None
    unit = _UNIT.match(text, found.end())
    if unit is not None:
        value = value.scaleb(_UNITS[unit[0].strip().lower()])
    return _plain(-value if is_negative else value, is_scaled=unit is not None)


def _value(token: str, decimal: str | None) -> Decimal | None:
    mantissa, _, exponent = token.lower().partition("e")
    if len(exponent) > _LONGEST_EXPONENT or (decimal and mantissa.count(decimal) > 1):
        return None
    cut = _decimal_at(mantissa, decimal)
    whole, fraction = (mantissa, "") if cut is None else (mantissa[:cut], mantissa[cut + 1 :])
    if not fraction.isdecimal() and fraction:
        return None
    if whole and not whole.isdecimal():
        signs = {char for char in whole if not char.isdecimal()}
        if len(signs) > 1 or _GROUPS.fullmatch(whole) is None:
            return None
        whole = "".join(filter(str.isdecimal, whole))
    return Decimal(f"{whole or 0}{'.' if fraction else ''}{fraction}").scaleb(int(exponent or 0))


def _decimal_at(token: str, decimal: str | None) -> int | None:
    """Return the position of the decimal sign."""
    if decimal is not None:
        at = token.rfind(decimal)
        return at if at >= 0 else None
    at = max(token.rfind("."), token.rfind(","))
    if at < 0 or token.count(token[at]) > 1:
        return None
    others = {char for char in token[:at] if not char.isdecimal()}
    is_thousand = (
        token[at] == "," and not others and len(token) - at == 4 and 1 <= at <= 3 and token[0] != "0"
    )
    return None if is_thousand else at


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


def _plain(value: Decimal, *, is_scaled: bool) -> int | float | None:
    exponent = value.as_tuple().exponent
    if value.adjusted() > 300 or not isinstance(exponent, int):
        return None
    if exponent >= 0 or (is_scaled and value == value.to_integral_value()):
        number = int(value)
        return number if abs(number) <= LARGEST else None
    return float(value)


_SIGNS = {
    "€": "EUR", "£": "GBP", "¥": "CNY", "$": "USD", "₹": "INR", "₽": "RUB", "₩": "KRW", "₺": "TRY",
    "₫": "VND", "฿": "THB", "₴": "UAH", "₪": "ILS", "₱": "PHP", "₦": "NGN", "₸": "KZT", "₡": "CRC",
    "R$": "BRL", "A$": "AUD", "AU$": "AUD", "C$": "CAD", "CA$": "CAD", "HK$": "HKD", "NT$": "TWD",
    "S$": "SGD", "US$": "USD", "NZ$": "NZD", "MX$": "MXN", "zł": "PLN", "Kč": "CZK", "Ft": "HUF",
    "грн": "UAH", "лв": "BGN", "元": "CNY", "块": "CNY", "人民币": "CNY",
    "RMB": "CNY", "円": "JPY", "日元": "JPY", "美元": "USD", "欧元": "EUR", "英镑": "GBP", "港元": "HKD",
    "港币": "HKD", "台币": "TWD", "新台币": "TWD", "韩元": "KRW", "원": "KRW",
}  # fmt: skip
_SIGNS["\u0440\u0443\u0431"] = "RUB"  # Cyrillic letters that look Latin
_ISO_CODES = (
    "AED ARS AUD BGN BHD BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW KWD "
    "KZT MAD MXN MYR NGN NOK NZD PEN PHP PKR PLN QAR RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR"
).split()
_LOWER_CODES = ("eur", "usd", "gbp", "cny", "jpy", "chf", "rmb")
"""Codes that are not words, so lower case is safe."""

_LATIN = "\u0250"
"""Letters before it are Latin."""

CODES = frozenset(_ISO_CODES)
"""Known ISO 4217 codes."""


def _any(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(names, key=len, reverse=True)))


def _is_word(name: str) -> bool:
    return name[0].isalpha() and name[-1].isalpha() and max(name) < _LATIN


FOUND = re.compile(
    # The first character decides at most positions of a text.
    f"[{''.join(name for name in _SIGNS if len(name) == 1)}]"
    rf"|(?<![A-Za-z])(?:{_any(name for name in _SIGNS if len(name) > 1 and name.endswith('$'))})"
    rf"|(?<![A-Za-zÀ-ÿ])(?:{_any([*filter(_is_word, _SIGNS), *_ISO_CODES, *_LOWER_CODES])})(?![A-Za-zÀ-ÿ])"
    f"|{_any(name for name in _SIGNS if len(name) > 1 and name[0] > _LATIN)}"
)
"""Matches a currency name or sign; a Latin name is not part of a longer word."""


def currency_code(name: str, language: str) -> str:
    """Return the ISO code of a match of `FOUND`; the yen sign is JPY in Japanese and CNY otherwise."""
    if name == "¥" and language == "ja":
        return "JPY"
    return _SIGNS.get(name) or _SIGNS.get(name.upper()) or name.upper()
