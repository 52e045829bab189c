"""A worker's context and options."""

from __future__ import annotations

import msgspec

from smartspider.engine.outage import OutageRetry
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.event_bus import EventBus
from smartspider.interfaces.frontier import Frontier
from smartspider.interfaces.ledger import Ledger
from smartspider.interfaces.worker_registry import WorkerRegistry
from smartspider.store.runs.store import RunStore


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
    """Options of a worker that deviate from the defaults."""

    drain_s: float | None = None
    """Seconds to finish requests in flight after a request to stop."""
    renew_s: float | None = None
    """Seconds between renewals of its leases."""
    reclaims: bool = True
    """Reclaim the leases of dead workers; not needed where a keeper does it."""
    is_placed: bool = True
    """Prefer the hosts assigned to this worker."""
    leases_ahead: bool = False
    """Lease new requests before finished ones are settled; useful with a slow ledger."""
