"""Parse absolute dates: ISO 8601, year first, epoch numbers, HTTP dates."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

_LAST_SECOND = 100_000_000_000
"""Larger epoch numbers are milliseconds: as seconds they would be beyond the year 5000."""
_LAST_MILLISECOND = 100_000_000_000_000
_EPOCH = re.compile(r"-?\d{9,10}(?:\.\d{1,9})?|\d{12,13}", re.ASCII)
CLOCK = (
    r"(?P<half>上午|下午|凌晨|早上|中午|晚上)?\s*(?P<hour>\d{1,2})\s*[:时時点點]\s*(?P<minute>\d{1,2})?\s*[:分]?"
    r"\s*(?P<second>\d{1,2})?\s*秒?(?:\s*(?P<noon>[AaPp])\.?[Mm]\.?)?"
)
"""A time of day at the end of a pattern."""
_YEAR_FIRST = re.compile(
    r"(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})\s*[日号號]?"
    rf"(?:[\s,]*\(?(?:(?:星期|周|週)[一二三四五六日天])?\)?\s*{CLOCK})?"
)
_HTTP = re.compile(r"(?:[A-Z][a-z]{2,8},\s*)?\d{1,2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}(?::\d{2})? \S+")


class ParsedDate(NamedTuple):
    """A date, or a date and time. `at` is naive if the zone is unknown."""

    at: datetime
    has_time: bool
    is_counted: bool = False
    """It was an epoch number, so the zone is free to choose."""


def parse_absolute_date(text: str) -> ParsedDate | None:
    """Parse an absolute date; None if the text is in none of these notations."""
    if _EPOCH.fullmatch(text):
        return parse_epoch(float(text))
    if text[:1].isdigit():
        found = _iso(text) or _year_first(text)
        if found is not None:
            return found
    if _HTTP.fullmatch(text):
        try:
            return ParsedDate(parsedate_to_datetime(text), has_time=True)
        except (ValueError, TypeError, IndexError):
            return None
    return None


def parse_epoch(number: float) -> ParsedDate | None:
    """Convert seconds or milliseconds since 1970 to UTC."""
    if not abs(number) < _LAST_MILLISECOND:
        return None
    seconds = number / 1000 if abs(number) >= _LAST_SECOND else number
    try:
        return ParsedDate(datetime.fromtimestamp(seconds, UTC), has_time=True, is_counted=True)
    except (ValueError, OverflowError, OSError):
        return None


def add_clock(found: re.Match[str], at: datetime) -> ParsedDate | None:
    """Add the time of day of a match of `CLOCK` to a date."""
    if found["hour"] is None:
        return ParsedDate(at, has_time=False)
    hour, noon = int(found["hour"]), (found["noon"] or "").lower()
    is_late = noon == "p" or found["half"] in ("下午", "晚上") or (found["half"] == "中午" and hour < 3)
    is_early = noon == "a" or found["half"] in ("上午", "凌晨")
    if is_late and hour < 12:
        hour += 12
    elif is_early and hour == 12:
        hour = 0
    try:
        at = at.replace(hour=hour, minute=int(found["minute"] or 0), second=int(found["second"] or 0))
    except ValueError:
        return None
    return ParsedDate(at, has_time=True)


def _iso(text: str) -> ParsedDate | None:
    if len(text) == 14 and text.isascii() and text.isdigit():
        text = f"{text[:8]}T{text[8:]}"
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return ParsedDate(at, has_time=":" in text or "T" in text)


def _year_first(text: str) -> ParsedDate | None:
    found = _YEAR_FIRST.fullmatch(text)
    if found is None:
        return None
    try:
        at = datetime(int(found[1]), int(found[2]), int(found[3]))  # noqa: DTZ001 - its zone is not known
    except ValueError:
        return None
    return add_clock(found, at)
