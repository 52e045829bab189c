"""What a worker stands on, and how it goes about its work."""

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
    """What a worker stands on."""

    store: RunStore
    frontier: Frontier
    ledger: Ledger
    workers: WorkerRegistry
    clock: Clock
    bus: EventBus
    outage: OutageRetry | None = None
    """With a store or frontier that is away; none: the worker ends."""


class WorkerOptions(msgspec.Struct, frozen=True):
    """How a worker goes about its work, where that is not as usual."""

    drain_s: float | None = None
    """How long it waits for what is in flight when it is asked to stop."""
    renew_s: float | None = None
    """How often it renews its leases."""
    reclaims: bool = True
    """Whether it takes back what dead workers hold; where a keeper does, it need not."""
    is_placed: bool = True
    """Whether it takes hosts of its own before those of other workers."""
    leases_ahead: bool = False
    """Whether slots go on before what they finished is settled: worth it where the ledger is far."""
