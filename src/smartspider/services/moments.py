"""Moments as people write them."""

from __future__ import annotations

from datetime import datetime

from smartspider.core.errors import Problem, RequestInvalid
from smartspider.core.moments import iso_moment

_FARTHEST_S = 1e12
_HINT = "write it as 2026-01-31T12:00:00Z, or as seconds since 1970"


def read_moment(name: str, text: str | None) -> float | None:
    """ISO 8601 (UTC unless it says otherwise), or seconds since 1970; raises `RequestInvalid`."""
    if text is None:
        return None
    try:
        moment = _calendar(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        moment = _seconds(text)
    if not abs(moment) <= _FARTHEST_S:  # nor is what is no number
        message = f"{text[:40]!r} is not a moment"
        raise RequestInvalid(f"{name}: {message}", (Problem(name, message, _HINT),), hint=_HINT)
    return moment


def _calendar(text: str) -> datetime:
    try:
        return iso_moment(text)
    except ValueError:
        day, _, offset = text.rpartition(" ")  # a plus sign in a query is read as a space
        return iso_moment(f"{day}+{offset}")


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
