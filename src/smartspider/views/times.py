"""Formatting of times."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import overload


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
