"""Rate limiting by token buckets."""

from __future__ import annotations

import math

import msgspec


class RateLimit(msgspec.Struct, frozen=True):
    """Average rate per second and burst size. A rate of 0 means no limit."""

    per_s: float
    burst: float


class TokenBuckets:
    """A token bucket per key. Beyond `size` keys the least recently used one is dropped."""

    def __init__(self, rate: RateLimit, size: int = 10_000) -> None:
        self._rate, self._size = rate, size
        self._left: dict[object, tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._left)

    def take(self, key: object, now: float, count: float = 1.0) -> float:
        """Take tokens and return 0; if none is left, return the seconds until the next one. More may be taken
        than are left: then the bucket fills up again later.
        """
        if self._rate.per_s <= 0:
            return 0.0
        left, at = self._left.pop(key, (self._rate.burst, now))
        left = min(self._rate.burst, left + max(0.0, now - at) * self._rate.per_s)
        wait_s = 0.0 if left >= 1.0 else (1.0 - left) / self._rate.per_s
        self._left[key] = (left if wait_s else left - count, now)
        if len(self._left) > self._size:
            del self._left[next(iter(self._left))]
        return wait_s

    def refund(self, key: object) -> None:
        """Put the last token back."""
        if key in self._left:
            left, at = self._left[key]
            self._left[key] = (min(self._rate.burst, left + 1.0), at)


def parse_rate(text: str) -> RateLimit:
    """Parse `RATE` or `RATE/BURST`, such as `500/1000`; raise `ValueError` if invalid. The default burst is
    twice the rate.
    """
    rate, _, burst = text.partition("/")
    try:
        per_s = float(rate)
        at_once = float(burst) if burst.strip() else max(1.0, 2 * per_s)
    except ValueError:
        per_s = at_once = math.nan
    if not (math.isfinite(per_s) and math.isfinite(at_once) and per_s >= 0 and at_once >= 1):
        raise ValueError(f"{text!r} is not a rate")
    return RateLimit(per_s, at_once)
