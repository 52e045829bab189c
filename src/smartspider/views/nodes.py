"""Views of nodes and workers."""

from __future__ import annotations

from typing import Literal

import msgspec

WorkerState = Literal["alive", "silent", "draining", "dead"]


class WorkerView(msgspec.Struct, frozen=True):
    """A worker process."""

    id: str
    name: str
    node: str
    pid: int
    version: str
    state: WorkerState
    """silent: its process lives, but does not respond."""
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
    """Duration of a request, as a moving average."""
    pages: int
    """Pages stored since it joined."""
    is_elastic: bool
    """True if it was started by autoscaling."""
    joined_at: str
    seen_at: str


class NodeView(msgspec.Struct, frozen=True):
    """A machine and its workers. The load of other machines is reported by their workers; the machine that
    serves the request measures its own.
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


class ClockView(msgspec.Struct, frozen=True):
    """The time of the store, by which everything is dated, due and expired, and the clock that it follows."""

    store_time: str
    wall_time: str
    """By the clock of the machine, or of the database server of a cluster."""
    is_confirmed: bool
    """False while the clock differs because it jumped: store time goes on as before the jump."""
    ahead_s: float | None = None
    """By how much an unconfirmed clock is ahead; negative if it is behind."""
    since: str | None = None
    believed_at: str | None = None
    """When store time follows the clock, if it stays as it is."""


class NodeTuned(msgspec.Struct, frozen=True):
    """The number of workers whose slots were changed."""

    node: str
    slots: int
    workers: int


class Drained(msgspec.Struct, frozen=True):
    """The number of workers that were told to drain."""

    node: str
    asked: int


class ScalingRunView(msgspec.Struct, frozen=True):
    """The share of a run in the desired number of workers."""

    run_id: str
    open: int
    """Remaining requests."""
    hosts: int
    """Number of hosts with queued requests."""
    in_flight: float
    """Maximum number of requests in flight allowed by its host rate limits and concurrency."""
    wanted: float
    """The number of requests in flight needed to fetch the backlog in time."""
    reason: str


class ScalingView(msgspec.Struct, frozen=True):
    """The desired number of workers and the reason. Autoscalers use `desired`."""

    desired: int
    workers: int
    """Workers that are alive and not draining."""
    elastic: int
    """Number of these workers started by autoscaling."""
    reason: str
    at: str | None
    """Time of the decision; null if no decision exists yet, in which case `desired` is the current number."""
    slots: int
    """The maximum number of requests in flight of one worker."""
    request_s: float
    """The mean duration of a request."""
    pages_per_s: float
    """The throughput of one fully loaded worker."""
    runs: list[ScalingRunView]
