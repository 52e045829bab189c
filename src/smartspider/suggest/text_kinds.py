"""Classify texts: price, date, number, rating, address."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

TextKind = Literal["text", "price", "date", "number", "rating", "email", "phone", "url"]

_LONGEST = 80
_CURRENCY = (
    r"(?:[$€£¥\uffe5₹₽₩₺₴₫฿]|元|円|US\$|C\$|A\$|R\$|kr|zł|Kč|Ft|lei|CHF|"
    r"USD|EUR|GBP|CNY|RMB|JPY|INR|CAD|AUD|SEK|NOK|DKK|PLN)"
)
_AMOUNT = r"\d[\d.,' \u00a0\u202f]*(?:[.,]-)?(?:\s?[kKmM万亿])?"
_PRICE = re.compile(
    rf"(?:ab|from|only|ca\.?|约|起)?\s*(?:{_CURRENCY}\s?-?{_AMOUNT}|{_AMOUNT}\s?{_CURRENCY})"
    rf"(?:\s?(?:[-\u2013/~起+]|per|a|pro).*)?",
    re.IGNORECASE,
)
_MONTH = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|märz|mai|okt|dez|janv|févr|avr|juin|juil|août)\w*\.?"
)
_DAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)\w*\.?,?\s+)?"
_TIME = (
    r"\d{1,2}\s?(?:(?:[:hH]\s?|\.)\d{2}(?!\.?\d)(?::\d{2}(?:\.\d+)?)?(?:Z|\s?[-+]\d{2}:?\d{2})?|[ap]\.?m\b)"
)
_TAIL = (
    rf"(?:[T ,|]+(?:at |um |à |kl\.? |@ ?|[-\u2013] ?)?\s?{_TIME}(?:(?!{_TIME}).){{0,25}}"
    r"|,?\s?\([^\d)]{1,12}\)|,?\s(?:mon|tue|wed|thu|fri|sat|sun|星期|周)\w{0,6})?"
)
"""The time of day or the weekday after a date. With a second time it is a period, and no date."""
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\d{4}[-/.年]\s?\d{1,2}[-/.月]\s?\d{1,2}日?" + _TAIL,
        r"\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})" + _TAIL,
        r"\d{1,2}月\d{1,2}日" + _TAIL,
        rf"{_DAY}\d{{1,2}}(?:st|nd|rd|th|\.)?\s+{_MONTH}(?:,?\s+\d{{4}})?{_TAIL}",
        rf"\d{{1,2}}-{_MONTH}-\d{{2,4}}{_TAIL}",
        rf"{_DAY}{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?{_TAIL}",
        r"(?:about |over |an? |\d+\+? ?)(?:\d+ )?(?:second|minute|min|hour|day|week|month|year)s? ago",
        r"(?:yesterday|today|just now|刚刚|昨天.*|前天.*|今天.*)(?:,? (?:at )?\d.*)?",
        r"\d+\s?(?:秒|分钟|小时|天|周|个月|年)前",
    )
)
_NUMBER = re.compile(r"[-+(]?\s?\d[\d.,' \u00a0]*(?:[kKmM万亿])?\s?[%)+]?")
_RATING = re.compile(
    r"(?:rated\s+)?[0-5](?:[.,]\d{1,2})?\s*(?:/\s*5|out of 5|of 5|stars?|★|分)|★+☆*", re.IGNORECASE
)
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"\+\d[\d ()/.-]{6,18}\d|\(?0\d[\d ()/.-]{5,16}\d")
_URL = re.compile(r"https?://\S+")

_LOOKS: tuple[tuple[TextKind, tuple[re.Pattern[str], ...]], ...] = (
    ("rating", (_RATING,)),
    ("date", _DATES),
    ("price", (_PRICE,)),
    ("url", (_URL,)),
    ("email", (_EMAIL,)),
    ("phone", (_PHONE,)),
    ("number", (_NUMBER,)),
)
"""The first match wins: a price before a number; a telephone number is a number, too."""
_LONGEST_LABEL = 30
_INTRODUCING = frozenset(
    ("by", "posted by", "written by", "sold by", "from", "published", "posted", "updated", "posted on", "on")
)


def classify(value: str) -> TextKind:
    """Return the kind of a text."""
    text = _without_brackets(value.strip())
    if text and len(text) <= _LONGEST:
        for kind, patterns in _LOOKS:
            if any(pattern.fullmatch(text) for pattern in patterns):
                return kind
    return "url" if _URL.fullmatch(text) else "text"


_BRACKETS = frozenset(("()", "[]", "\uff08\uff09", "\u3010\u3011"))


def _without_brackets(text: str) -> str:
    """Return the inside of a text in brackets: `(15.2.2005)`."""
    return text[1:-1].strip() if text[:1] + text[-1:] in _BRACKETS else text


def classify_all(values: Iterable[str]) -> TextKind:
    """Return the kind of most texts; `text` unless four fifths agree."""
    counts: dict[TextKind, int] = {}
    total = 0
    for value in values:
        kind = classify(value)
        counts[kind] = counts.get(kind, 0) + 1
        total += 1
    if not total:
        return "text"
    kind, number = max(counts.items(), key=lambda pair: pair[1])
    return kind if number >= 0.8 * total else "text"


def common_label(values: list[str], words: Iterable[str] = ()) -> str:
    """Return the label that all texts start with: up to a colon, or one or two introducing words.

    `words` are the class words of the value; a text that starts with one of them is labelled, too.
    """
    distinct = sorted(set(values))
    if len(distinct) < 2:
        return ""
    first, last = distinct[0], distinct[-1]
    length = 0
    while length < min(len(first), len(last), _LONGEST_LABEL) and first[length] == last[length]:
        length += 1
    start = first[:length]
    colon = _LABEL.match(start)
    if colon is not None and all(_is_labelled(value, colon.end()) for value in distinct):
        return colon[0]
    start = start[: start.rfind(" ") + 1]
    said = start.strip().casefold()
    return start if said and len(distinct) > 2 and (said in _INTRODUCING or said in set(words)) else ""


_LABEL = re.compile(r"[^:\uff1a\d]*[^\W\d][^:\uff1a\d]*[:\uff1a]")


def _is_labelled(value: str, end: int) -> bool:
    """Return True if what ends there is a label: a space or a number follows, unlike in `ECLI:ES`."""
    rest = value[end:]
    is_address = rest.startswith("//")
    return value[end - 1] == "\uff1a" or not (rest[:1].isalpha() or is_address)


_ENDING = re.compile(r"(?:\s*(?:[\u00b6#\u00a7\u2022|/\u00b7>\u203a\u00bb]+|\[\w{2,8}\]))+$")


def common_ending(values: list[str]) -> str:
    """Return the mark that all texts end with: a permalink sign or `[edit]`."""
    found = [match[0] if (match := _ENDING.search(value)) else "" for value in values]
    is_same = len(values) > 2 and len(set(found)) == 1 and found[0] != ""
    return found[0] if is_same and any(len(value) > len(found[0]) for value in values) else ""
