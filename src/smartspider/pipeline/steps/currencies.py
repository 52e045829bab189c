"""Currencies in texts: signs, names and ISO codes."""

# Cyrillic, Arabic and full-width letters are meant as such.
# ruff: noqa: RUF001

from __future__ import annotations

import re
from collections.abc import Iterable

_SIGNS = {
    "€": "EUR", "£": "GBP", "¥": "CNY", "$": "USD", "₹": "INR", "र": "INR", "₽": "RUB", "₩": "KRW",
    "₺": "TRY", "₫": "VND", "đ": "VND", "฿": "THB", "₴": "UAH", "₪": "ILS", "₱": "PHP", "₦": "NGN",
    "₸": "KZT", "₡": "CRC", "₲": "PYG", "₵": "GHS", "₮": "MNT", "₼": "AZN", "₾": "GEL", "৳": "BDT",
    "₨": "INR", "R$": "BRL", "A$": "AUD", "AU$": "AUD", "C$": "CAD", "CA$": "CAD", "HK$": "HKD", "NT$": "TWD",
    "S$": "SGD", "US$": "USD", "NZ$": "NZD", "MX$": "MXN", "zł": "PLN", "Kč": "CZK", "Ft": "HUF",
    "Rs": "INR", "RM": "MYR", "Rp": "IDR", "TL": "TRY", "lei": "RON", "Lei": "RON", "Tk": "BDT", "VNĐ": "VND",
    "грн": "UAH", "лв": "BGN", "руб": "RUB", "тг": "KZT", "元": "CNY", "块": "CNY", "人民币": "CNY",
    "RMB": "CNY", "円": "JPY", "日元": "JPY", "美元": "USD", "欧元": "EUR", "英镑": "GBP", "港元": "HKD",
    "港币": "HKD", "台币": "TWD", "新台币": "TWD", "韩元": "KRW", "원": "KRW",
    "تومان": "IRR", "ریال": "IRR", "درهم": "AED", "ש״ח": "ILS", 'ש"ח': "ILS",
}  # fmt: skip
_UNCODED = ("kr", "Kr", "KR", "kr.", "S/")
"""Names of several currencies: the text is money, its currency unknown."""
_VAGUE = frozenset({"$", "¥", "£", "₨", "Rs", *_UNCODED})
"""An ISO code in the same text says more."""
_ISO_CODES = (
    "AED ARS AUD BDT BGN BHD BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP GEL GHS HKD HUF IDR ILS INR IRR ISK "
    "JOD JPY KES KRW KWD KZT LKR MAD MNT MXN MYR NGN NOK NPR NZD OMR PEN PHP PKR PLN PYG QAR RON RSD RUB SAR "
    "SEK SGD THB TND TRY TWD UAH USD UYU VND ZAR"
).split()
_LOWER_CODES = ("eur", "usd", "gbp", "cny", "jpy", "chf", "rmb")
"""Codes that are not words, so lower case is safe."""
THREE_DECIMALS = frozenset({"BHD", "JOD", "KWD", "OMR", "TND"})
"""Currencies with a thousand parts."""

_LATIN = "\u0250"
"""Letters before it are Latin."""

CODES = frozenset(_ISO_CODES)
"""Known ISO 4217 codes."""


def _any(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(names, key=len, reverse=True)))


def _is_word(name: str) -> bool:
    return name[0].isalpha() and max(name) < _LATIN and len(name) > 1 and not name.endswith("$")


FOUND = re.compile(
    # The first character decides at most positions of a text.
    f"[{''.join(name for name in _SIGNS if len(name) == 1 and name != 'đ')}]"
    rf"|(?<![A-Za-z])(?:{_any(name for name in _SIGNS if len(name) > 1 and name.endswith('$'))})"
    rf"|(?<![A-Za-zÀ-ÿ])(?:{_any([*filter(_is_word, _SIGNS), *_UNCODED, *_ISO_CODES, *_LOWER_CODES])})"
    r"(?![A-Za-zÀ-ÿ])"
    # A lone R is the rand only before an amount: R16 is the size of a tyre.
    r"|(?<![^\W\d_])(?:đ(?![^\W\d_])|R(?=\s?\d{1,3}(?:[ ,]\d{3})+(?!\d)|\s?\d+[.,]\d\d(?!\d)))"
    f"|{_any(name for name in _SIGNS if len(name) > 1 and name[0] > _LATIN)}"
)
"""Matches a currency name or sign; a Latin name is not part of a longer word."""


def currency_code(name: str, language: str) -> str | None:
    """Return the ISO code of a match of `FOUND`; None if it is the name of several currencies. The yen sign
    is JPY in Japanese and CNY otherwise.
    """
    if name == "¥" and language == "ja":
        return "JPY"
    if name in _UNCODED:
        return None
    if name == "R":
        return "ZAR"
    return _SIGNS.get(name) or _SIGNS.get(name.upper()) or name.upper()


def is_vague(name: str) -> bool:
    """Return True for a sign that several currencies use."""
    return name in _VAGUE
