"""Parse and format dates and times. UTC is the default time zone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import overload


def assume_utc(moment: datetime) -> datetime:
    """Return the datetime, with UTC as its time zone if it has none."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def parse_iso_datetime(text: str) -> datetime:
    """Parse an ISO 8601 date or datetime; raise `ValueError` for other text."""
    return assume_utc(datetime.fromisoformat(text))


@overload
def format_time(at: float) -> str: ...
@overload
def format_time(at: float | None) -> str | None: ...
def format_time(at: float | None) -> str | None:
    """Return a time as ISO 8601 in UTC, to the millisecond; a time outside the calendar, as a number."""
    if at is None:
        return None
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return repr(at)
