"""How gently a host is treated: the numbers of the host gate, as pure functions."""

from __future__ import annotations

import msgspec

WINDOW_SHARE = 0.05
WINDOW_MIN_S = 0.005
WINDOW_MAX_S = 0.050
PERMIT_AHEAD_S = 0.2
"""How long before its slot a request that is under way already may have it: time to open a connection."""

ADAPTIVE_FIRST_S = 0.5
ADAPTIVE_MAX_S = 60.0
ADAPTIVE_RECOVERY = 0.8
ADAPTIVE_GONE_S = 0.05

CIRCUIT_FAILURES = 8
"""Failures to reach a host, in a row, that open its circuit. An answer of any status is no such failure."""
CIRCUIT_FIRST_S = 10.0
CIRCUIT_MAX_S = 600.0
CIRCUIT_GIVE_UP = 6
"""Openings in a row after which a host counts as down and its open requests are buried."""
CIRCUIT_GIVE_UP_UNSEEN = 2
"""The same for a host that has never answered: it is more likely wrong than down."""


MAX_HOLD_S = 86_400.0
"""A host that wants to be left alone for longer is not waited for: its requests are skipped."""


class PolitenessPolicy(msgspec.Struct, frozen=True):
    """What a task asks of every host it touches."""

    obey_robots: bool = True
    delay_s: float = 0.5
    rate_per_s: float | None = None
    per_host: int = 4
    per_domain: int | None = None
    adaptive: bool = True

    @property
    def spacing_s(self) -> float:
        """Seconds from start to start that this task alone would keep."""
        return max(self.delay_s, 1.0 / self.rate_per_s if self.rate_per_s else 0.0)


def window_s(delay_s: float) -> float:
    """How long a send window stays open; it is added to the spacing, so no gap is ever under the delay."""
    return min(max(delay_s * WINDOW_SHARE, WINDOW_MIN_S), WINDOW_MAX_S)


def slowed(adaptive_s: float, delay_s: float) -> float:
    """The adaptive delay after a host asked for mercy (429, 503, a timeout)."""
    return min(max(adaptive_s * 2.0, delay_s * 2.0, ADAPTIVE_FIRST_S), ADAPTIVE_MAX_S)


def recovered(adaptive_s: float) -> float:
    """The adaptive delay after a good answer: it fades slowly and then is gone."""
    faded = adaptive_s * ADAPTIVE_RECOVERY
    return faded if faded >= ADAPTIVE_GONE_S else 0.0


def circuit_hold_s(openings: int) -> float:
    """How long a host that keeps failing is left alone, by how often its circuit opened in a row."""
    return min(CIRCUIT_FIRST_S * 2.0 ** min(openings, 30), CIRCUIT_MAX_S)
