"""Signs and names of currencies, as they stand beside prices."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SIGNS = {
    "€": "EUR", "£": "GBP", "¥": "CNY", "$": "USD", "₹": "INR", "₽": "RUB", "₩": "KRW", "₺": "TRY",
    "₫": "VND", "฿": "THB", "₴": "UAH", "₪": "ILS", "₱": "PHP", "₦": "NGN", "₸": "KZT", "₡": "CRC",
    "R$": "BRL", "A$": "AUD", "AU$": "AUD", "C$": "CAD", "CA$": "CAD", "HK$": "HKD", "NT$": "TWD",
    "S$": "SGD", "US$": "USD", "NZ$": "NZD", "MX$": "MXN", "zł": "PLN", "Kč": "CZK", "Ft": "HUF",
    "грн": "UAH", "лв": "BGN", "元": "CNY", "块": "CNY", "人民币": "CNY",
    "RMB": "CNY", "円": "JPY", "日元": "JPY", "美元": "USD", "欧元": "EUR", "英镑": "GBP", "港元": "HKD",
    "港币": "HKD", "台币": "TWD", "新台币": "TWD", "韩元": "KRW", "원": "KRW",
}  # fmt: skip
_SIGNS["\u0440\u0443\u0431"] = "RUB"  # the Russian word, whose letters look like Latin ones
_CODES = (
    "AED ARS AUD BGN BHD BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW KWD "
    "KZT MAD MXN MYR NGN NOK NZD PEN PHP PKR PLN QAR RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR"
).split()
_SMALL = ("eur", "usd", "gbp", "cny", "jpy", "chf", "rmb")
"""Codes that are no words, so that small letters are understood too."""

_LATIN = "\u0250"
"""Letters before it are Latin ones."""

CODES = frozenset(_CODES)
"""ISO 4217 codes that are recognised."""


def _any(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(names, key=len, reverse=True)))


def _is_word(name: str) -> bool:
    return name[0].isalpha() and name[-1].isalpha() and max(name) < _LATIN


FOUND = re.compile(
    # One look at the first character decides about most positions of a text.
    f"[{''.join(name for name in _SIGNS if len(name) == 1)}]"
    rf"|(?<![A-Za-z])(?:{_any(name for name in _SIGNS if len(name) > 1 and name.endswith('$'))})"
    rf"|(?<![A-Za-zÀ-ÿ])(?:{_any([*filter(_is_word, _SIGNS), *_CODES, *_SMALL])})(?![A-Za-zÀ-ÿ])"
    f"|{_any(name for name in _SIGNS if len(name) > 1 and name[0] > _LATIN)}"
)
"""Finds the name or sign of a currency in a text; a name in Latin letters is no part of a longer word."""


def code_of(name: str, language: str) -> str:
    """The ISO code of what `FOUND` found; the yen sign is the yen in Japanese and the yuan elsewhere."""
    if name == "¥" and language == "ja":
        return "JPY"
    return _SIGNS.get(name) or _SIGNS.get(name.upper()) or name.upper()
