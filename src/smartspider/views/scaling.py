"""How many workers are wanted, as it is told."""

from __future__ import annotations

import msgspec


class ScalingRunView(msgspec.Struct, frozen=True):
    """What a run adds to the figure."""

    run_id: str
    open: int
    """Requests still to be fetched."""
    hosts: int
    """That it has work queued for."""
    in_flight: float
    """Requests that its gates and its concurrency let be in flight at once."""
    wanted: float
    """Those of them that fetch the backlog in time."""
    reason: str


class ScalingView(msgspec.Struct, frozen=True):
    """How many workers are wanted, and why. `desired` is what a scaler follows."""

    desired: int
    workers: int
    """That are at work and stay."""
    elastic: int
    """Of these, those that come and go with the figure."""
    reason: str
    at: str | None
    """When it was decided; null: nobody has yet, and `desired` is what there is."""
    slots: int
    """Requests one worker has in flight at most."""
    request_s: float
    """How long a request takes."""
    pages_per_s: float
    """Of one worker that has as much to do as it can."""
    runs: list[ScalingRunView]
