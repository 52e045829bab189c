"""A worker's context and options."""

from __future__ import annotations

import msgspec

from smartspider.core.requests.politeness import LEASE_AHEAD_S
from smartspider.engine.outage import OutageRetry
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.event_bus import EventBus
from smartspider.interfaces.frontier import Frontier
from smartspider.interfaces.ledger import Ledger
from smartspider.interfaces.worker_registry import WorkerRegistry
from smartspider.store.runs.store import RunStore

DRAIN_S = 8.0
RENEW_S = 20.0


class WorkerContext(msgspec.Struct, frozen=True):
    """The services a worker uses."""

    store: RunStore
    frontier: Frontier
    ledger: Ledger
    workers: WorkerRegistry
    clock: Clock
    bus: EventBus
    outage: OutageRetry | None = None
    """Retries calls while the store or frontier is unavailable; None: the worker ends instead."""


class WorkerOptions(msgspec.Struct, frozen=True):
    """The intervals and modes of a worker."""

    drain_s: float = DRAIN_S
    """Seconds to finish requests in flight after a request to stop."""
    store_s: float = 5.0
    """Further seconds to store the results."""
    beat_s: float = 1.8
    """Interval of heartbeats. The reply carries orders, so a worker receives them within two seconds."""
    renew_s: float = RENEW_S
    """Interval of renewing its leases."""
    reclaim_s: float = 5.0
    """Interval of reclaiming the leases of dead workers."""
    refresh_s: float = 0.5
    """Interval of refreshing the list of runs."""
    settle_s: float = 0.050
    """Time to wait for more finished pages before settling."""
    paced_settle_s: float = 0.250
    """The longest time to wait for more finished pages while no host could be sent to anyway."""
    free_after_s: float = 1.0
    """A request that only waits for bytes takes no slot from this time after the start of its window."""
    quick_s: float = 0.100
    """If the last settle was faster, `leases_ahead` applies."""
    lease_ahead_s: float = LEASE_AHEAD_S
    """Windows of hosts with a delay that begin within this time are leased together."""
    reclaims: bool = True
    """Reclaim the leases of dead workers; not needed where a keeper does it."""
    leases_ahead: bool = False
    """Lease new requests before finished ones are settled; useful with a slow ledger."""
