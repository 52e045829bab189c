"""The Retry-After header, in seconds or as a date."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from math import isfinite

from smartspider.core.moments import zoned


def retry_after_s(value: str | None, now: float) -> float | None:
    """How long the server asks to be left alone, or None when it does not say."""
    if not value:
        return None
    text = value.strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():
        seconds = float(text)
        return seconds if isfinite(seconds) else None
    try:
        moment = zoned(parsedate_to_datetime(text))
    except (ValueError, OverflowError):
        return None
    return max(0.0, moment.timestamp() - now)
