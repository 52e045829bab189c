"""Currencies in texts: signs, names and ISO codes."""

# Cyrillic, Arabic and full-width letters are meant as such.
# ruff: noqa: RUF001

from __future__ import annotations

import re
from typing import NamedTuple

_SIGNS = {
    "€": "EUR", "£": "GBP", "¥": "CNY", "$": "USD", "₹": "INR", "र": "INR", "₽": "RUB", "₩": "KRW",
    "₺": "TRY", "₫": "VND", "đ": "VND", "฿": "THB", "₴": "UAH", "₪": "ILS", "₱": "PHP", "₦": "NGN",
    "₸": "KZT", "₡": "CRC", "₲": "PYG", "₵": "GHS", "₮": "MNT", "₼": "AZN", "₾": "GEL", "৳": "BDT",
    "₨": "INR", "؋": "AFN", "₭": "LAK", "៛": "KHR", "֏": "AMD",
    "R$": "BRL", "A$": "AUD", "AU$": "AUD", "C$": "CAD", "CA$": "CAD", "HK$": "HKD", "NT$": "TWD",
    "S$": "SGD", "US$": "USD", "NZ$": "NZD", "MX$": "MXN", "CN¥": "CNY", "JP¥": "JPY", "zł": "PLN",
    "Kč": "CZK", "Ft": "HUF", "Gs": "PYG", "Rs": "INR", "RM": "MYR", "Rp": "IDR", "TL": "TRY",
    "lei": "RON", "Lei": "RON", "Tk": "BDT", "VNĐ": "VND", "DT": "TND", "DH": "MAD", "Dh": "AED",
    "Dhs": "AED", "SR": "SAR", "QR": "QAR", "Br": "ETB", "Ksh": "KES", "KSh": "KES", "USh": "UGX",
    "TSh": "TZS", "Bs": "BOB", "FBu": "BIF", "Fdj": "DJF", "Nfk": "ERN",
    "грн": "UAH", "лв": "BGN", "руб": "RUB", "тг": "KZT", "元": "CNY", "块": "CNY", "人民币": "CNY",
    "RMB": "CNY", "円": "JPY", "日元": "JPY", "美元": "USD", "欧元": "EUR", "英镑": "GBP", "港元": "HKD",
    "港币": "HKD", "台币": "TWD", "新台币": "TWD", "韩元": "KRW", "원": "KRW",
    "تومان": "IRR", "ریال": "IRR", "درهم": "AED", "ש״ח": "ILS", 'ש"ח': "ILS",
    "د.ب": "BHD", "د.أ": "JOD", "د.ك": "KWD", "ر.ع": "OMR", "د.ت": "TND", "د.ل": "LYD", "د.ع": "IQD",
    "ر.س": "SAR", "د.إ": "AED", "ر.ق": "QAR", "ج.م": "EGP", "د.م": "MAD", "د.ج": "DZD", "ل.ل": "LBP",
    "ل.س": "SYP", "ر.ي": "YER", "ج.س": "SDG",
}  # fmt: skip
_ISO_CODES = (
    "AED AFN ANG AOA ARS AUD AWG AZN BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP "
    "CNY COP CRC CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG "
    "HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LBP LKR LRD LSL LYD MAD MDL "
    "MGA MKD MMK MNT MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PEN PGK PHP PKR PLN PYG QAR RON "
    "RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SRD SSP SYP SZL THB TJS TMT TND TRY TTD TWD TZS UAH UGX USD "
    "UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW"
).split()
"""ISO 4217, without the codes that are words: ALL, TOP, CUP, SOS and the like."""
_LOWER_CODES = {
    "eur": "EUR",
    "usd": "USD",
    "gbp": "GBP",
    "cny": "CNY",
    "jpy": "JPY",
    "chf": "CHF",
    "rmb": "CNY",
}
"""Codes that are not words, so lower case is safe."""
CODES = frozenset(_ISO_CODES)
"""Known ISO 4217 codes."""
THREE_DECIMALS = {"BHD": ".", "JOD": ".", "KWD": ".", "OMR": ".", "LYD": ".,", "TND": ".,"}
"""Currencies with a thousand parts, and their decimal signs."""

_UNCODED = frozenset({"kr", "Kr", "KR", "S/", "B/", "CFA", "FCFA", "F CFA"})
"""Names of several currencies: the text is money, its currency unknown."""
_VAGUE = frozenset({"$", "¥", "£", "₨", "Rs", *_UNCODED})
"""An ISO code in the same text says more."""
_NAMES: dict[str, str | None] = {
    **{code: code for code in _ISO_CODES},
    **_LOWER_CODES,
    **_SIGNS,
    **dict.fromkeys(_UNCODED),
    "R": "ZAR",
}
_LATIN = "A-Za-z\u00c0-\u024f"
_SINGLE = "".join(name for name in _SIGNS if len(name) == 1 and name != "đ")
_FOREIGN = sorted((name for name in _SIGNS if len(name) > 1 and name[0] > "\u024f"), key=len, reverse=True)
_CANDIDATE = re.compile(
    rf"(?:(?<![A-Za-z])[A-Z]{{1,3}}(?=[$¥₵]))?[{_SINGLE}]"
    # A Latin name is not part of a longer word; a point ends an abbreviation.
    rf"|(?<![{_LATIN}])(?:F CFA|[SB]/(?=\.?\s?\d)|đ|[{_LATIN}]{{2,4}})(?![{_LATIN}])\.?"
    # A lone R is the rand only before an amount: R16 is the size of a tyre.
    rf"|(?<![{_LATIN}])R(?=\s?\d{{1,3}}(?:[ ,']\d{{3}})+(?!\d)|\s?\d+[.,]\d\d(?!\d))"
    rf"|(?=[{''.join({name[0] for name in _FOREIGN})}])(?:{'|'.join(map(re.escape, _FOREIGN))})\.?"
)


class Money(NamedTuple):
    """A text without its currencies; `code` is the ISO code of the first clear one, if there is one."""

    text: str
    code: str | None
    is_money: bool


def cut_currencies(text: str, language: str) -> Money:
    """Cut all currencies out of a text. The yen sign is JPY in Japanese and CNY otherwise."""
    names: list[str] = []

    def cut(found: re.Match[str]) -> str:
        name = found[0].removesuffix(".")
        if name not in _NAMES and name[-1] not in _SINGLE:
            return found[0]
        names.append(name)
        return " "

    text = _CANDIDATE.sub(cut, text)
    if not names:
        return Money(text, None, is_money=False)
    name = names[0]
    if len(names) > 1 and name in _VAGUE:
        name = next((each for each in names if each not in _VAGUE), name)
    return Money(text, "JPY" if name == "¥" and language == "ja" else _NAMES.get(name), is_money=True)
