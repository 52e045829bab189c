"""Dates that depend on when the page was fetched: `3 hours ago`, `昨天 12:30`, `1月3日`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from smartspider.pipeline.steps.date_text import CLOCK, Moment, clock_of

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


def relative_moment(text: str, now: datetime) -> Moment | None:
    """The moment a text means at `now`, which has a zone. Days are days of that zone; a time of day that is
    written out comes back without one.
    """
    text = text.lower()
    if text in _NOW:
        return Moment(now.replace(microsecond=0), has_time=True)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    try:
        if found := _AGO.fullmatch(text):
            return _ago(found[1], _UNITS[found[2]], now, today)
        if found := _DAY.fullmatch(text):
            return clock_of(found, today - timedelta(days=_DAYS[found[1]]))
        if found := _MONTH_FIRST.fullmatch(text):
            return clock_of(found, past_day(int(found[1]), int(found[2]), today))
    except (ValueError, OverflowError):
        return None
    return None


def past_day(month: int, day: int, today: datetime) -> datetime:
    """The newest day of that name that is not after tomorrow: who writes no year means the last one."""
    this_year = today.replace(month=month, day=day)
    return this_year if this_year <= today + timedelta(days=1) else this_year.replace(year=today.year - 1)


def _ago(amount: str, unit: str, now: datetime, today: datetime) -> Moment | None:
    if unit in _SECONDS:
        number = 0.5 if amount == "半" else _SMALL.get(amount) or int(amount)
        return Moment(now.replace(microsecond=0) - timedelta(seconds=number * _SECONDS[unit]), has_time=True)
    if amount == "半":
        return Moment(_months_before(today, 6), has_time=False) if unit == "year" else None
    count = _SMALL.get(amount) or int(amount)
    if unit in ("day", "week"):
        return Moment(today - timedelta(days=count * (7 if unit == "week" else 1)), has_time=False)
    return Moment(_months_before(today, count * (12 if unit == "year" else 1)), has_time=False)


def _months_before(day: datetime, months: int) -> datetime:
    year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    for last in (day.day, 30, 29, 28):
        try:
            return day.replace(year=year, month=month + 1, day=min(day.day, last))
        except ValueError:
            if last == 28:
                raise
    raise ValueError(months)
