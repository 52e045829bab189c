"""Dates as pages write them for machines, as ISO 8601."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from smartspider.core.datetimes import parse_iso_datetime
from smartspider.extract.texts import collapsed

_LONGEST = 100
_ISO_DATE = re.compile(r"\d{4}(-?)\d\d\1\d\d")
_DAY_FIRST_PARTS = re.compile(
    r"(?P<year>\d{4})\s?[-/.年]\s?(?P<month>\d{1,2})\s?[-/.月]\s?(?P<day>\d{1,2})日?"
    r"(?:[T\s]+(?P<hour>\d{1,2})\s?[:时點点]\s?(?P<minute>\d{1,2})(?:\s?[:分]\s?(?P<second>\d{1,2}))?分?秒?)?"
    r"\s?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)?"
)
_ZONE_GAP = re.compile(r"(?<=\d) (?=[+-]\d\d:?\d\d$)")
_FRACTION = re.compile(r"(\.\d{6})\d+")


def moment(value: Any) -> str | None:
    """ISO 8601, with a time zone where the text has one; a date alone stays a date. None: it is no date."""
    if not isinstance(value, str):
        return None
    text = collapsed(value[: _LONGEST * 2])
    if not text or len(text) > _LONGEST:
        return None
    found = _parsed(text)
    if found is not None:
        return found.date().isoformat() if _ISO_DATE.fullmatch(text) else found.isoformat()
    parts = _DAY_FIRST_PARTS.match(text)
    return _from_parts(parts) if parts is not None else None


def utc_moment(value: Any) -> str | None:
    """ISO 8601 in UTC; what has no time zone is taken as UTC."""
    text = moment(value)
    if text is None:
        return None
    try:
        return parse_iso_datetime(text).astimezone(UTC).isoformat()
    except OverflowError:
        return None


def _parsed(text: str) -> datetime | None:
    if text[0].isdigit():
        try:
            return datetime.fromisoformat(_FRACTION.sub(r"\1", _ZONE_GAP.sub("", text)))
        except ValueError:
            if "-" in text[:8] or "/" in text[:8]:
                return None
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, IndexError, TypeError, OverflowError):
        return None
    return found


def _from_parts(parts: re.Match[str]) -> str | None:
    date = f"{parts['year']}-{int(parts['month']):02}-{int(parts['day']):02}"
    if parts["hour"] is None:
        return date if _parsed(date) is not None else None
    time = f"{int(parts['hour']):02}:{int(parts['minute']):02}:{int(parts['second'] or 0):02}"
    zone = parts["zone"] or ""
    found = _parsed(f"{date}T{time}{'+00:00' if zone in {'Z', 'UTC', 'GMT'} else zone}")
    return found.isoformat() if found is not None else None
