"""Parse dates relative to the fetch, in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

from smartspider.pipeline.notations.date_text import CLOCK, ParsedDate, add_clock

_NOW = frozenset(
    "now|just now|right now|moments ago|a moment ago|刚刚|刚才|剛剛|剛才|现在|たった今".split("|")
)
_UNITS = {
    "s": "second", "sec": "second", "second": "second", "秒": "second", "秒钟": "second", "秒鐘": "second",
    "m": "minute", "min": "minute", "minute": "minute", "分": "minute", "分钟": "minute", "分鐘": "minute",
    "h": "hour", "hr": "hour", "hour": "hour", "小时": "hour", "小時": "hour", "钟头": "hour", "時間": "hour",
    "d": "day", "day": "day", "天": "day", "日": "day",
    "w": "week", "wk": "week", "week": "week", "周": "week", "週": "week", "星期": "week", "週間": "week",
    "mo": "month", "month": "month", "月": "month", "y": "year", "yr": "year", "year": "year", "年": "year",
}  # fmt: skip
_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_SMALL = {
    "a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "half a": 0.5, "half an": 0.5,
    "半": 0.5, "一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9,
    "十": 10,
}  # fmt: skip
_DAYS = {
    "today": 0, "yesterday": 1, "the day before yesterday": 2, "day before yesterday": 2, "tomorrow": -1,
    "the day after tomorrow": -2, "day after tomorrow": -2, "今天": 0, "今日": 0, "昨天": 1, "昨日": 1,
    "前天": 2, "大前天": 3, "明天": -1, "后天": -2, "後天": -2,
}  # fmt: skip
_HOURS = {"noon": 12, "midnight": 0}
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CHINESE_WEEKDAYS = "一二三四五六日"


def _any(names: Iterable[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


_ABOUT = (
    r"(?:about|around|approximately|approx\.?|almost|nearly|over|(?:more|less) than)\s+|[~≈]\s*|大?[约約]"
)
_AMOUNT = rf"(?P<amount>\d{{1,9}}(?:\.\d{{1,3}})?|{_any(_SMALL)})"
_SPAN = rf"(?:{_ABOUT})?{_AMOUNT}\s*[个個]?\s*(?P<unit>{_any(_UNITS)})s?"
_AT = rf"(?:(?:\s*,)?(?:\s+at)?\s*(?:(?P<named>noon|midnight)|{CLOCK}))?"
_AGO = rf"{_SPAN}\s*(?P<past>ago|之?前|以前)"
_AHEAD = rf"in\s+{_SPAN}(?:['\u2019]?\s+time)?"
_LATER = rf"{_SPAN}\s*(?:from\s+now|later|之?[后後]|以[后後])"
_DAY = rf"(?P<day>{_any(_DAYS)}){_AT}"
_WEEKDAY = (
    r"(?:(?:last|on)\s+)?(?:(?P<english>mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?"
    rf"|(?P<last>上)?个?(?:周|週|星期|礼拜|禮拜)(?P<chinese>[一二三四五六日天])){_AT}"
)
_MONTH_FIRST = rf"(?P<month>\d{{1,2}})\s*月\s*(?P<of_month>\d{{1,2}})\s*[日号號]?(?:\s*{CLOCK})?"
_TIME = rf"(?=.*[ap]\.?m){CLOCK}"
_INSIDE = tuple(
    re.compile(rf"(?<![a-z0-9.,:]){pattern}(?![a-z0-9'\u2019])", re.ASCII)
    for pattern in (_AGO, _AHEAD, _LATER, _DAY)
)
_WHOLE = tuple(map(re.compile, (_AGO, _AHEAD, _LATER, _DAY, _WEEKDAY, _MONTH_FIRST, _TIME)))


def parse_relative_date(text: str, now: datetime) -> ParsedDate | None:
    """Parse a date relative to `now`, which has a zone: `3 hours ago`, `昨天 12:30`, `Friday`, `1月3日`. Days
    are days of that zone; an explicit time of day is returned without a zone.
    """
    text = text.lower()
    if text in _NOW:
        return ParsedDate(now.replace(microsecond=0), has_time=True)
    found = next((found for pattern in _WHOLE if (found := pattern.fullmatch(text))), None)
    return None if found is None else _date(found, now)


def find_relative_date(text: str, now: datetime) -> ParsedDate | None:
    """Find the one relative date in a sentence: `Posted 3 hours ago by Ann`; None if there are several."""
    text = text.lower()
    found = [match for pattern in _INSIDE for match in pattern.finditer(text)]
    if len(found) > 1:
        longest = max(found, key=lambda match: match.end() - match.start())
        found = [longest] if all(_is_within(match, longest) for match in found) else []
    return _date(found[0], now) if found else None


def _is_within(inner: re.Match[str], outer: re.Match[str]) -> bool:
    return outer.start() <= inner.start() and inner.end() <= outer.end()


def _date(found: re.Match[str], now: datetime) -> ParsedDate | None:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    groups = found.groupdict()
    try:
        if groups.get("amount"):
            amount = _SMALL.get(groups["amount"]) or float(groups["amount"])
            return _moved(amount if groups.get("past") else -amount, _UNITS[groups["unit"]], now, today)
        day = _day(groups, today)
        if groups.get("named"):
            return ParsedDate(day.replace(hour=_HOURS[groups["named"]]), has_time=True)
        return add_clock(found, day)
    except (ValueError, OverflowError):
        return None


def _day(groups: dict[str, str], today: datetime) -> datetime:
    if groups.get("day"):
        return today - timedelta(days=_DAYS[groups["day"]])
    if groups.get("month"):
        return past_day(int(groups["month"]), int(groups["of_month"]), today)
    if groups.get("english"):
        weekday = _WEEKDAYS.index(groups["english"][:3])
    elif groups.get("chinese"):
        weekday = _CHINESE_WEEKDAYS.index(groups["chinese"].replace("天", "日"))
        if groups.get("last"):
            return today - timedelta(days=today.weekday() + 7 - weekday)
    else:
        return today
    return today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)


def past_day(month: int, day: int, today: datetime) -> datetime:
    """Return the latest such day that is not after tomorrow: a date without a year is in the past."""
    this_year = today.replace(month=month, day=day)
    return this_year if this_year <= today + timedelta(days=1) else this_year.replace(year=today.year - 1)


def _moved(amount: float, unit: str, now: datetime, today: datetime) -> ParsedDate | None:
    """Return the date an amount of units ago; parts of days, weeks and months are not counted."""
    if unit in _SECONDS:
        moment = now.replace(microsecond=0) - timedelta(seconds=amount * _SECONDS[unit])
        return ParsedDate(moment, has_time=True)
    if unit in ("day", "week"):
        days = amount * (7 if unit == "week" else 1)
        return ParsedDate(today - timedelta(days=int(days)), has_time=False) if days == int(days) else None
    months = amount * (12 if unit == "year" else 1)
    return ParsedDate(_months_before(today, int(months)), has_time=False) if months == int(months) else None


def _months_before(day: datetime, months: int) -> datetime:
    year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    for last in (day.day, 30, 29, 28):
        try:
            return day.replace(year=year, month=month + 1, day=min(day.day, last))
        except ValueError:
            if last == 28:
                raise
    raise ValueError(months)
