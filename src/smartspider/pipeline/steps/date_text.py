"""Parse dates: absolute (ISO 8601, year first, epoch numbers, HTTP dates), relative to the fetch, or guessed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

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


_NOW = frozenset(
    [
        "now",
        "just now",
        "right now",
        "moments ago",
        "a moment ago",
        "刚刚",
        "刚才",
        "剛剛",
        "剛才",
        "现在",
        "たった今",
    ]
)
_UNITS = {
    "s": "second", "sec": "second", "second": "second", "秒": "second", "秒钟": "second", "秒鐘": "second",
    "m": "minute", "min": "minute", "minute": "minute", "分": "minute", "分钟": "minute", "分鐘": "minute",
    "h": "hour", "hr": "hour", "hour": "hour", "小时": "hour", "小時": "hour", "钟头": "hour", "時間": "hour",
    "d": "day", "day": "day", "天": "day", "日": "day",
    "w": "week", "wk": "week", "week": "week", "周": "week", "週": "week", "星期": "week", "週間": "week",
    "mo": "month", "month": "month", "月": "month", "y": "year", "yr": "year", "year": "year", "年": "year",
}  # fmt: skip
_WORDS = sorted(_UNITS, key=len, reverse=True)
_AGO = re.compile(
    rf"(\d{{1,9}}|an?|one|半|[一两二三四五六七八九十])\s*[个個]?\s*({'|'.join(_WORDS)})s?\s*(?:ago|之?前|以前)"
)
_SMALL = {"a": 1, "an": 1, "one": 1, "一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7,
          "八": 8, "九": 9, "十": 10}  # fmt: skip
_DAYS = {
    "today": 0, "yesterday": 1, "tomorrow": -1, "今天": 0, "今日": 0, "昨天": 1, "昨日": 1, "前天": 2,
    "大前天": 3, "明天": -1,
}  # fmt: skip
_DAY = re.compile(rf"({'|'.join(sorted(_DAYS, key=len, reverse=True))})(?:(?:\s*,)?(?:\s+at)?\s*{CLOCK})?")
_MONTH_FIRST = re.compile(rf"(\d{{1,2}})\s*月\s*(\d{{1,2}})\s*[日号號]?(?:\s*{CLOCK})?")
_SECONDS = {"second": 1, "minute": 60, "hour": 3600}


def parse_relative_date(text: str, now: datetime) -> ParsedDate | None:
    """Parse a date relative to `now`, which has a zone: `3 hours ago`, `昨天 12:30`, `1月3日`. Days are
    days of that zone; an explicit time of day is returned without a zone.
    """
    text = text.lower()
    if text in _NOW:
        return ParsedDate(now.replace(microsecond=0), has_time=True)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    try:
        if found := _AGO.fullmatch(text):
            return _ago(found[1], _UNITS[found[2]], now, today)
        if found := _DAY.fullmatch(text):
            return add_clock(found, today - timedelta(days=_DAYS[found[1]]))
        if found := _MONTH_FIRST.fullmatch(text):
            return add_clock(found, past_day(int(found[1]), int(found[2]), today))
    except (ValueError, OverflowError):
        return None
    return None


def past_day(month: int, day: int, today: datetime) -> datetime:
    """Return the latest such day that is not after tomorrow: a date without a year is in the past."""
    this_year = today.replace(month=month, day=day)
    return this_year if this_year <= today + timedelta(days=1) else this_year.replace(year=today.year - 1)


def _ago(amount: str, unit: str, now: datetime, today: datetime) -> ParsedDate | None:
    if unit in _SECONDS:
        number = 0.5 if amount == "半" else _SMALL.get(amount) or int(amount)
        return ParsedDate(
            now.replace(microsecond=0) - timedelta(seconds=number * _SECONDS[unit]), has_time=True
        )
    if amount == "半":
        return ParsedDate(_months_before(today, 6), has_time=False) if unit == "year" else None
    count = _SMALL.get(amount) or int(amount)
    if unit in ("day", "week"):
        return ParsedDate(today - timedelta(days=count * (7 if unit == "week" else 1)), has_time=False)
    return ParsedDate(_months_before(today, count * (12 if unit == "year" else 1)), has_time=False)


def _months_before(day: datetime, months: int) -> datetime:
    year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    for last in (day.day, 30, 29, 28):
        try:
            return day.replace(year=year, month=month + 1, day=min(day.day, last))
        except ValueError:
            if last == 28:
                raise
    raise ValueError(months)


COMMON_LANGUAGES = tuple(
    "en zh es fr de ru ja pt it ar ko pl nl tr sv cs uk vi id fa el hu ro da fi nb he th bg hr sk".split()
)
"""Tried if the task names none. Loading all known languages takes seconds."""
_LONGEST = 60
_MOST_WORDS = 3
_DIGITS = re.compile(r"\d+")
_YEAR = re.compile(r"\d{4}")
_LETTER = re.compile(r"[^\W\d_]")


def guess_date(text: str, now: datetime, languages: Sequence[str] | None) -> ParsedDate | None:
    """Guess the date of a text. A date without a year is the last one before `now`."""
    if not _is_worth_a_guess(text):
        return None
    if _YEAR.search(text) and (absolute := _parsed(text, now, languages, ["absolute-time"])):
        return absolute
    relative = _parsed(text, now, languages, ["relative-time"])
    if relative is not None and relative.has_time:
        return ParsedDate(relative.at.replace(tzinfo=now.tzinfo), has_time=True)
    return relative or _parsed(text, now, languages, ["absolute-time"])


def unknown_languages(languages: Sequence[str]) -> list[str]:
    """Return the languages that dateparser does not know."""
    from dateparser.data.languages_info import language_order

    return [language for language in languages if language not in language_order]


def _is_worth_a_guess(text: str) -> bool:
    """Filter texts: guessing tries many languages, and finds a date in almost any number, such as `1.5`."""
    if len(text) > _LONGEST:
        return False
    groups = len(_DIGITS.findall(text))
    if _LETTER.search(text) is None:
        return groups >= 3
    return groups > 0 or len(text.split()) <= _MOST_WORDS


def _parsed(
    text: str, now: datetime, languages: Sequence[str] | None, parsers: list[str]
) -> ParsedDate | None:
    from dateparser.date import DateDataParser

    settings: dict[str, Any] = {
        "RELATIVE_BASE": now.replace(tzinfo=None),
        "RETURN_TIME_AS_PERIOD": True,
        "PREFER_DATES_FROM": "past",
        "REQUIRE_PARTS": ["day", "month"],
        "PARSERS": parsers,
    }
    parser = DateDataParser(languages=list(languages or COMMON_LANGUAGES), settings=settings)
    try:
        data = parser.get_date_data(text)
    except Exception:  # noqa: BLE001 - a text that trips the library is not a date
        return None
    at: datetime | None = data.date_obj
    return None if at is None else ParsedDate(at, has_time=data.period == "time")
