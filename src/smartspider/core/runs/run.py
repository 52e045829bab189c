"""Runs: their states, what may follow what, and what is counted."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

RunState = Literal[
    "created", "queued", "running", "paused", "stopping", "stopped", "cancelled", "completed", "failed"
]

TRANSITIONS: dict[RunState, frozenset[RunState]] = {
    "created": frozenset({"queued", "running", "cancelled"}),
    "queued": frozenset({"running", "paused", "stopped", "cancelled", "completed", "failed"}),
    "running": frozenset({"paused", "stopping", "stopped", "cancelled", "completed", "failed"}),
    "paused": frozenset({"queued", "running", "stopped", "cancelled"}),
    "stopping": frozenset({"stopped", "cancelled", "completed", "failed"}),
    "stopped": frozenset({"queued", "running", "cancelled"}),
    "failed": frozenset({"queued", "running"}),
    "completed": frozenset({"queued", "running"}),
    "cancelled": frozenset(),
}
"""`completed` and `failed` open again only by retry; `cancelled` is for good."""

LEASES_IN: frozenset[RunState] = frozenset({"running"})
"""States in which new work is handed out."""

ACCEPTS_PAGES: frozenset[RunState] = frozenset({"running", "paused", "stopping"})
"""States in which work already handed out may still be settled."""

UNFINISHED: frozenset[RunState] = frozenset({"created", "queued", "running", "paused", "stopping", "stopped"})
"""States from which the same command goes on with the run."""

OVER: frozenset[RunState] = frozenset({"completed", "failed", "cancelled"})
"""States of a run that has no open row."""


LIMIT = "limit: "
"""How the reason of a run begins that ends because a limit was reached."""

GUARD = "guard: "
"""How the reason of a run begins that was paused because something is wrong with it."""


def may_become(old: RunState, new: RunState) -> bool:
    """Whether a run in state `old` may be put into state `new`."""
    return new in TRANSITIONS[old]


class Counters(msgspec.Struct, frozen=True):
    """What a run has done so far; kept with every settle, checked by fsck against the rows."""

    total: int = 0
    done: int = 0
    redirect: int = 0
    missing: int = 0
    skipped: int = 0
    dead: int = 0
    broken: int = 0
    items: int = 0
    rejected: int = 0
    duplicates: int = 0
    """Items that are not there because an equal one is."""
    updated: int = 0
    """Times a later equal item changed a stored one, or took its place with other content."""
    duplicate_urls: int = 0
    retries: int = 0
    returns: int = 0
    """Leases that came back from dead or silent workers."""
    late: int = 0
    """Settlements that came too late to add anything."""
    bytes_read: int = 0

    @property
    def open(self) -> int:
        """Requests still to be fetched."""
        closed = self.done + self.redirect + self.missing + self.skipped + self.dead + self.broken
        return self.total - closed

    @property
    def ended(self) -> int:
        """Requests that something came of: fetched, missing, redirected or given up, but not skipped."""
        return self.total - self.open - self.skipped

    @property
    def failed(self) -> int:
        """Requests that ended in failure."""
        return self.dead + self.broken


class Run(msgspec.Struct, frozen=True):
    """One execution of a task. `spec` is the task as it was when the run was created (JSON): its version
    `task_version`, which the run keeps whatever becomes of the task.
    """

    id: int
    task_name: str
    spec: bytes
    spec_hash: str
    state: RunState
    reason: str
    counters: Counters
    in_flight: int
    created_at: float
    started_at: float | None = None
    finished_at: float | None = None
    task_id: int = 0
    task_version: int = 0
    started_by: str = ""
    active_s: float = 0.0
    """Seconds it worked, up to `resumed_at` where it works now."""
    resumed_at: float | None = None
    """Since when it works without a break."""
    max_duration_s: float | None = None
    """How long it may work, breaks left out."""
    tuning: bytes | None = None
    """Knobs turned since it was made (`core.tuning`, JSON); None: none."""
    revision: int = 0
    """How often they were."""

    @property
    def over_at(self) -> float:
        """When its time is over, if it goes on without a break."""
        if self.max_duration_s is None or self.resumed_at is None:
            return math.inf
        return self.resumed_at + self.max_duration_s - self.active_s
