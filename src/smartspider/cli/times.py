"""Parse and format times and durations."""

from __future__ import annotations

import re
import time

from smartspider.core.errors import RequestInvalid

_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([smhdw]?)\Z")
_UNIT_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0, "": 1.0}


def parse_duration_s(text: str) -> float:
    """Return `90`, `90s`, `15m`, `2h`, `7d` or `4w` in seconds; raise `RequestInvalid` for other texts."""
    found = _DURATION.match(text.strip())
    if found is None:
        raise RequestInvalid(f"{text[:40]!r} is not a duration", hint="write it as 90s, 15m, 2h, 7d or 4w")
    return float(found[1]) * _UNIT_S[found[2]]


def parse_time(text: str | None, now: float | None = None) -> str | None:
    """Return a time for the API; a duration with a unit (`10m`, `2h`, `7d`) means that long ago."""
    found = None if text is None else _DURATION.match(text.strip())
    if found is None or not found[2]:
        return text
    return f"{(time.time() if now is None else now) - parse_duration_s(found[0]):.3f}"


def format_time(at: str | None) -> str:
    """Return an ISO 8601 time without fractions of a second."""
    return f"{at[:19]}Z" if at and at.endswith("Z") else at or ""
