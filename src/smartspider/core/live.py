"""What watchers of a run are told, numbered without gaps."""

from __future__ import annotations

import msgspec

PROGRESS = "run.progress"
PROGRESS_EVERY_S = 0.25
"""Progress is told at most this often; state changes and trouble at once."""


class RunEvent(msgspec.Struct, frozen=True):
    """An event of a run. `id` counts over all runs, `number` within this one: 1, 2, 3, ... `data` is JSON."""

    id: int
    run_id: int
    number: int
    at: float
    name: str
    data: bytes
