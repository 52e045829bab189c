"""A worker's own health, and its share of the work compared with its peers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from smartspider.core.events import WorkerRestored, WorkerThrottled
from smartspider.core.frontier.verdict import Settlement
from smartspider.core.workers.host_assignment import load_shares, owned_partitions
from smartspider.core.workers.worker import WorkerHealth
from smartspider.interfaces.event_bus import EventBus

DECAY = 200
"""Requests in the moving averages."""
LAG_DECAY = 5
"""Heartbeats in the moving average of the lag."""
LAG_MAX_S = 2.0
"""Longer lags come from a suspended machine and are cut."""


class HealthMeter:
    """Measures the share of failed requests and the scheduling lag of this process.

    The share of faults starts at 0 and grows with what is observed.
    """

    def __init__(self) -> None:
        self._faults = 0.0
        self._request_s = 0.0
        self._requests = 0
        self._pages = 0
        self._lag_s = 0.0
        self._latest_s = 0.0

    def record_settled(self, settlements: Iterable[Settlement], stored: int) -> None:
        """Record settled requests, `stored` of which stored a page."""
        self._pages += stored
        for one in settlements:
            self._requests += 1
            is_fault = any(news.is_unreachable for news in one.news)
            self._faults += (is_fault - self._faults) / DECAY
            self._request_s += (one.elapsed_s - self._request_s) / min(self._requests, DECAY)

    def record_lag(self, seconds: float) -> None:
        """Record that something ran `seconds` late."""
        self._latest_s = max(self._latest_s, min(seconds, LAG_MAX_S))

    def measure(self) -> WorkerHealth:
        """Return the current health. Called once per heartbeat: the worst lag since the last call counts."""
        self._lag_s += (self._latest_s - self._lag_s) / LAG_DECAY
        self._latest_s = 0.0
        return WorkerHealth(
            round(self._lag_s, 4), round(self._faults, 4), round(self._request_s, 6), self._pages, _load()
        )


def _load() -> float:
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:  # pragma: no cover - a machine that does not know
        return 0.0


class Peers:
    """The share of its slots and the hosts a worker takes, by the health of all workers.

    Publishes an event when it starts to take less, and when it takes its full share again.
    """

    def __init__(self, bus: EventBus, *, is_placed: bool = True) -> None:
        self.share = 1.0
        """The share of its slots that it fills."""
        self.own = b""
        """The hosts it prefers, see `core/workers/host_assignment.py`; empty: no preference."""
        self._bus = bus
        self._is_placed = is_placed
        self._placed_for: tuple[int, dict[int, float]] = (0, {})

    def update(self, worker_id: int, peers: Mapping[int, WorkerHealth]) -> None:
        """Take over the health of all workers that are not draining, including this one."""
        weights = load_shares(peers)
        self._set_share(weights.get(worker_id, 1.0), peers.get(worker_id, WorkerHealth()))
        if self._is_placed and self._placed_for != (worker_id, weights):
            self._placed_for = (worker_id, weights)
            self.own = owned_partitions(worker_id, weights) if len(weights) > 1 else b""

    def usable_slots(self, slots: int) -> int:
        """Return how many slots to fill: at least one, unless it has none."""
        return min(slots, max(int(slots * self.share), 1))

    def _set_share(self, share: float, health: WorkerHealth) -> None:
        was, self.share = self.share, share
        if was == 1.0 > share:
            self._bus.publish(WorkerThrottled(0, share, health.fault_share, health.lag_s))
        elif was < 1.0 == share:
            self._bus.publish(WorkerRestored(0))
