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
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\d{4}[-/.年]\s?\d{1,2}[-/.月]\s?\d{1,2}日?(?:[T ,].*)?",
        r"\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})(?:[ ,].*)?",
        r"\d{1,2}月\d{1,2}日.*",
        rf"{_DAY}\d{{1,2}}(?:st|nd|rd|th|\.)?\s+{_MONTH}(?:,?\s+\d{{4}})?(?:[ ,].*)?",
        rf"{_DAY}{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?(?:[ ,].*)?",
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
    text = value.strip()
    if text and len(text) <= _LONGEST:
        for kind, patterns in _LOOKS:
            if any(pattern.fullmatch(text) for pattern in patterns):
                return kind
    return "url" if _URL.fullmatch(text) else "text"


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
    colon = max(start.rfind(":"), start.rfind("\uff1a"))
    if colon > 0 and any(character.isalpha() for character in start[:colon]):
        return start[: colon + 1]
    start = start[: start.rfind(" ") + 1]
    said = start.strip().casefold()
    return start if said and len(distinct) > 2 and (said in _INTRODUCING or said in set(words)) else ""


_ENDING = re.compile(r"(?:\s*(?:[\u00b6#\u00a7\u2022|/\u00b7>\u203a\u00bb]+|\[\w{2,8}\]))+$")


def common_ending(values: list[str]) -> str:
    """Return the mark that all texts end with: a permalink sign or `[edit]`."""
    found = [match[0] if (match := _ENDING.search(value)) else "" for value in values]
    is_same = len(values) > 2 and len(set(found)) == 1 and found[0] != ""
    return found[0] if is_same and any(len(value) > len(found[0]) for value in values) else ""
