"""A worker among the others: which hosts are its own, and how much of what it could hold it asks for."""

from __future__ import annotations

from collections.abc import Mapping

from smartspider.core.events import WorkerEased, WorkerRestored
from smartspider.core.placement import own_parts, shares
from smartspider.core.workers import Form
from smartspider.interfaces.event_bus import EventBus


class Peers:
    """What a worker makes of how all of them do. When it begins to ask for less, and when that is over, it is
    said.
    """

    def __init__(self, bus: EventBus, *, is_placed: bool = True) -> None:
        self.share = 1.0
        """Of its slots, what it fills."""
        self.own = b""
        """The hosts that it takes first, see `core/placement.py`; none: it does not matter."""
        self._bus = bus
        self._is_placed = is_placed
        self._placed_for: tuple[int, dict[int, float]] = (0, {})

    def heed(self, worker_id: int, peers: Mapping[int, Form]) -> None:
        """All workers that stay, as they do now, this one among them."""
        weights = shares(peers)
        self._ask_for(weights.get(worker_id, 1.0), peers.get(worker_id, Form()))
        if self._is_placed and self._placed_for != (worker_id, weights):
            self._placed_for = (worker_id, weights)
            self.own = own_parts(worker_id, weights) if len(weights) > 1 else b""

    def places(self, slots: int) -> int:
        """How many of its slots it fills: one at least, unless it has none."""
        return min(slots, max(int(slots * self.share), 1))

    def _ask_for(self, share: float, form: Form) -> None:
        was, self.share = self.share, share
        if was == 1.0 > share:
            self._bus.publish(WorkerEased(0, share, form.fault_share, form.lag_s))
        elif was < 1.0 == share:
            self._bus.publish(WorkerRestored(0))
