"""Views of autoscaling."""

from __future__ import annotations

import msgspec


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
