"""Moments and durations as people write them."""

from __future__ import annotations

import re
import time

from smartspider.core.errors import RequestInvalid

_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([smhdw]?)\Z")
_UNIT_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0, "": 1.0}


def duration_s(text: str) -> float:
    """`90`, `90s`, `15m`, `2h`, `7d`, `4w` in seconds; raises `RequestInvalid`."""
    found = _DURATION.match(text.strip())
    if found is None:
        raise RequestInvalid(f"{text[:40]!r} is not a duration", hint="write it as 90s, 15m, 2h, 7d or 4w")
    return float(found[1]) * _UNIT_S[found[2]]


def moment(text: str | None) -> str | None:
    """A moment as the API takes it; so long ago is one, too: `10m`, `2h`, `7d`."""
    found = None if text is None else _DURATION.match(text.strip())
    if found is None or not found[2]:
        return text
    return f"{time.time() - duration_s(found[0]):.3f}"
