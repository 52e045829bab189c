"""Moments in texts: what names no time zone is UTC."""

from __future__ import annotations

from datetime import UTC, datetime


def zoned(moment: datetime) -> datetime:
    """The moment itself, in UTC when it has no zone."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def iso_moment(text: str) -> datetime:
    """The moment of an ISO 8601 date, with or without a time; raises `ValueError`."""
    return zoned(datetime.fromisoformat(text))
