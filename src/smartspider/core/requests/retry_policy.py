"""Retry policy of failed requests."""

from __future__ import annotations

import msgspec

DEFAULT_ON_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524})


class RetryPolicy(msgspec.Struct, frozen=True):
    """Exponential back-off with full jitter."""

    max_attempts: int = 4
    backoff_s: float = 1.0
    max_backoff_s: float = 300.0
    on_status: frozenset[int] = DEFAULT_ON_STATUS

    def is_exhausted(self, failures: int) -> bool:
        """Return whether no attempt is left after `failures` failed ones."""
        return failures >= self.max_attempts

    def delay_s(self, failures: int, chance: float) -> float:
        """Return the delay after the given number of failures; `chance` in [0, 1) is the jitter."""
        ceiling = min(self.max_backoff_s, self.backoff_s * 2.0 ** min(failures - 1, 60))
        return ceiling * chance
