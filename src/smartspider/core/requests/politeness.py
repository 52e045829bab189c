"""Politeness: delays, send windows and the circuit breaker of a host's gate."""

from __future__ import annotations

import msgspec

WINDOW_SHARE = 0.05
WINDOW_MIN_S = 0.005
WINDOW_MAX_S = 0.050
PERMIT_AHEAD_S = 0.2
"""Lead time of a started request over its slot: time to open a connection."""
LEASE_AHEAD_S = 0.25
"""Windows that begin within this time may be leased: a hold that comes later reaches the next one."""
LEASE_LEAD_S = 0.02
"""A worker asks for the next windows of a host this long before the first of them begins."""

ADAPTIVE_FIRST_S = 0.5
ADAPTIVE_MAX_S = 60.0
ADAPTIVE_RECOVERY = 0.8
ADAPTIVE_GONE_S = 0.05

CIRCUIT_FAILURES = 8
"""Consecutive connection failures that open a host's circuit. Any HTTP status counts as reachable."""
CIRCUIT_FIRST_S = 10.0
CIRCUIT_MAX_S = 600.0
CIRCUIT_GIVE_UP = 6
"""Consecutive openings after which a host is considered down and its open requests are buried."""
CIRCUIT_GIVE_UP_UNSEEN = 2
"""The same for a host that never responded: it is more likely misspelled than down."""


SHARED_DELAY_MAX_S = 60.0
"""Longest delay of a run that applies to all runs at a host. A longer one applies to the run alone."""
DEFAULT_DELAY_S = 0.5

MAX_HOLD_S = 86_400.0
"""Longest Retry-After to wait for. Beyond it the host's requests are skipped."""


class PolitenessPolicy(msgspec.Struct, frozen=True):
    """Politeness settings of a task, applied to every host."""

    obey_robots: bool = True
    delay_s: float = DEFAULT_DELAY_S
    rate_per_s: float | None = None
    per_host: int = 4
    per_domain: int | None = None
    adaptive: bool = True

    @property
    def spacing_s(self) -> float:
        """Seconds between the starts of two requests, considering this task alone."""
        return max(self.delay_s, 1.0 / self.rate_per_s if self.rate_per_s else 0.0)


def shared_delay_s(spacing_s: float) -> float:
    """Return the delay that a run with this spacing asks of the gates it shares with other runs."""
    return spacing_s if spacing_s <= SHARED_DELAY_MAX_S else DEFAULT_DELAY_S


class OwnGate(msgspec.Struct, frozen=True):
    """A hold and a delay that a user set at a host for the user's own runs."""

    delay_s: float = 0.0
    held_until: float = 0.0


class OwnPace(msgspec.Struct, frozen=True):
    """The delays and holds that apply to one run alone, besides the gates it shares."""

    delay_s: float = 0.0
    """Its own delay at every host; 0 if the gates have it."""
    gates: dict[str, OwnGate] = {}
    """The gates that its owner set for own runs, by host."""

    def delay_at(self, host: str) -> float:
        """Return the delay between two requests of the run to a host."""
        return max(self.delay_s, self.gates[host].delay_s) if host in self.gates else self.delay_s

    def opens_at(self, host: str, sent_until: float) -> float:
        """Return when the run may send to a host again; `sent_until` is the end of its last slot, or 0."""
        held_until = self.gates[host].held_until if host in self.gates else 0.0
        return max(held_until, sent_until + self.delay_at(host) if sent_until else 0.0)


def window_length_s(delay_s: float) -> float:
    """Return the length of a send window. It is added to the spacing, so that no gap is shorter than the
    delay.
    """
    return min(max(delay_s * WINDOW_SHARE, WINDOW_MIN_S), WINDOW_MAX_S)


def increased_delay_s(adaptive_s: float, delay_s: float) -> float:
    """Return the adaptive delay after a host showed overload (429, 503, a timeout)."""
    return min(max(adaptive_s * 2.0, delay_s * 2.0, ADAPTIVE_FIRST_S), ADAPTIVE_MAX_S)


def decreased_delay_s(adaptive_s: float) -> float:
    """Return the adaptive delay after a success: it decays and finally drops to 0."""
    faded = adaptive_s * ADAPTIVE_RECOVERY
    return faded if faded >= ADAPTIVE_GONE_S else 0.0


def circuit_hold_s(openings: int) -> float:
    """Return how long a failing host is put on hold, by the consecutive openings of its circuit."""
    return min(CIRCUIT_FIRST_S * 2.0 ** min(openings, 30), CIRCUIT_MAX_S)
