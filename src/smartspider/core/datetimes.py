"""Parsing of dates and times. UTC is the default time zone."""

from __future__ import annotations

from datetime import UTC, datetime


def assume_utc(moment: datetime) -> datetime:
    """Return the datetime, with UTC as its time zone if it has none."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def parse_iso_datetime(text: str) -> datetime:
    """Parse an ISO 8601 date or datetime; raise `ValueError` for other text."""
    return assume_utc(datetime.fromisoformat(text))
