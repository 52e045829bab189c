"""When something changed, as sitemaps and feeds write it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from smartspider.core.datetimes import assume_utc, parse_iso_datetime

_PARTIAL = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
_LONGEST = 64
_LENGTHS = (timedelta(days=366), timedelta(days=31), timedelta(days=1))
"""Of a year, a month and a day, at most."""


def latest_moment(text: str) -> float | None:
    """The last moment a date can mean (a day lasts until its end), or None. Without a zone it is UTC."""
    if len(text) > _LONGEST:
        return None
    try:
        partial = _PARTIAL.fullmatch(text)
        if partial is not None:
            year, month, day = (int(part or 1) for part in partial.groups())
            length = _LENGTHS[2 - partial.groups().count(None)]
            return (datetime(year, month, day, tzinfo=UTC) + length).timestamp()
        return _exact(text).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None


def _exact(text: str) -> datetime:
    try:
        return parse_iso_datetime(text)
    except ValueError:
        return assume_utc(parsedate_to_datetime(text))
