"""Views of nodes and workers."""

from __future__ import annotations

from typing import Literal

import msgspec


class WorkerView(msgspec.Struct, frozen=True):
    """A worker process."""

    id: str
    name: str
    node: str
    pid: int
    version: str
    state: Literal["alive", "draining", "dead"]
    slots: int
    used: int
    """Requests in flight."""
    free: int
    hosts: list[str]
    """Some of the hosts of its requests in flight."""
    run_ids: list[str]
    cpu_s: float
    memory_bytes: int
    lag_s: float
    """Scheduling lag of its event loop, a moving average."""
    fault_share: float
    """The share of its requests that got no response, a moving average."""
    request_s: float
    """The time it holds a request, a moving average."""
    pages: int
    """Pages stored since it joined."""
    is_elastic: bool
    """True if it was started by autoscaling."""
    joined_at: str
    seen_at: str


class NodeView(msgspec.Struct, frozen=True):
    """A machine and its workers. Other machines report their load through their workers; the answering
    machine measures its own.
    """

    node: str
    versions: list[str]
    slots: int
    used: int
    free: int
    memory_bytes: int
    """The total of its workers."""
    load: list[float] | None
    """Load averages over 1, 5 and 15 minutes; only the first for other machines, null if none is reported."""
    cpus: int | None
    workers: list[WorkerView]


class NodeTuned(msgspec.Struct, frozen=True):
    """The number of workers that have the new number of slots."""

    node: str
    slots: int
    workers: int


class Drained(msgspec.Struct, frozen=True):
    """The number of workers asked to finish their requests in flight and exit."""

    node: str
    asked: int


class ScalingRunView(msgspec.Struct, frozen=True):
    """The share of a run in the desired number of workers."""

    run_id: str
    open: int
    """Requests still to be fetched."""
    hosts: int
    """The number of hosts it has requests queued for."""
    in_flight: float
    """The largest number of requests in flight that its gates and its concurrency allow."""
    wanted: float
    """The number of requests in flight needed to fetch the backlog in time."""
    reason: str


class ScalingView(msgspec.Struct, frozen=True):
    """The desired number of workers, and the reason. A scaler follows `desired`."""

    desired: int
    workers: int
    """Workers that are alive and not draining."""
    elastic: int
    """The part of them that autoscaling started."""
    reason: str
    at: str | None
    """The time of the decision; null if there is none yet, and `desired` is the current number."""
    slots: int
    """The maximum number of requests in flight of one worker."""
    request_s: float
    """The mean duration of a request."""
    pages_per_s: float
    """The throughput of one fully loaded worker."""
    runs: list[ScalingRunView]
