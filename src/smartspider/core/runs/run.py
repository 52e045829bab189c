"""Runs: states, transitions, counters, needed capabilities and the ids of their rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

import msgspec

HTTP_ONLY = frozenset({"http"})
"""The capabilities (transports, secrets) that workers have and runs need by default."""

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
"""`completed` and `failed` are left only by retry; `cancelled` is final."""

LEASES_IN: frozenset[RunState] = frozenset({"running"})
"""States in which requests are leased."""

ACCEPTS_PAGES: frozenset[RunState] = frozenset({"running", "paused", "stopping"})
"""States in which leased requests can be settled."""

UNFINISHED: frozenset[RunState] = frozenset({"created", "queued", "running", "paused", "stopping", "stopped"})
"""States in which the same command continues the run."""

FINISHED: frozenset[RunState] = frozenset({"completed", "failed", "cancelled"})
"""States of a run without open rows."""


LIMIT = "limit: "
"""Prefix of the reason of a run that reached a limit."""

GUARD = "guard: "
"""Prefix of the reason of a run paused by a guard."""


def can_transition(old: RunState, new: RunState) -> bool:
    """Return whether a run may change from `old` to `new`."""
    return new in TRANSITIONS[old]


class Counters(msgspec.Struct, frozen=True):
    """Counters of a run. Every settle updates them; fsck compares them with the rows."""

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
    """Items dropped because an equal one is stored."""
    updated: int = 0
    """Stored items changed or replaced by a later duplicate."""
    duplicate_urls: int = 0
    retries: int = 0
    returns: int = 0
    """Leases returned from workers that died or stopped responding."""
    late: int = 0
    """Settlements that came too late to add anything."""
    bytes_read: int = 0
    left_out: int = 0
    """Links that became no request."""
    files: int = 0
    """Downloaded files; they are among `done`."""

    @property
    def seen(self) -> int:
        """All that the run met: stored, redirected, missing, failed, left out and open."""
        return self.total + self.left_out

    @property
    def open(self) -> int:
        """Requests still to be fetched."""
        closed = self.done + self.redirect + self.missing + self.skipped + self.dead + self.broken
        return self.total - closed

    @property
    def ended(self) -> int:
        """Closed requests except skipped ones."""
        return self.total - self.open - self.skipped

    @property
    def failed(self) -> int:
        """Failed requests."""
        return self.dead + self.broken


class Run(msgspec.Struct, frozen=True):
    """One execution of a task. `spec` (JSON) is the version `task_version` of the task; later changes of the
    task do not affect the run.
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
    """Seconds of work before `resumed_at`."""
    resumed_at: float | None = None
    """Start of the current period of work."""
    max_duration_s: float | None = None
    """Maximum seconds of work, pauses excluded."""
    tuning: bytes | None = None
    """Tuning applied since the run was created (`core.runs.tuning`, JSON), if any."""
    revision: int = 0
    """Number of changes of the tuning."""
    needs: frozenset[str] = HTTP_ONLY
    """Capabilities a worker must have to lease requests of the run."""

    @property
    def deadline_at(self) -> float:
        """The time at which the run reaches `max_duration_s` if it works without a pause."""
        if self.max_duration_s is None or self.resumed_at is None:
            return math.inf
        return self.resumed_at + self.max_duration_s - self.active_s


ROW_ID_BITS = 40
"""Ids of url and item rows start with the id of their run, so that a run is one range of rows."""


def first_id(run_id: int) -> int:
    """Return the smallest row id of a run."""
    return run_id << ROW_ID_BITS


def end_id(run_id: int) -> int:
    """Return the end of a run's row ids, exclusive."""
    return (run_id + 1) << ROW_ID_BITS


def run_of(row_id: int) -> int:
    """Return the run of a row."""
    return row_id >> ROW_ID_BITS


SECRET = "secret:"  # noqa: S105 - a prefix
"""Prefix of the capability to fill in a secret."""

VAULT = "vault"
"""The capability to open the secrets of the vault: a worker with the master key has it."""


def secret_capability(name: str) -> str:
    """Return the capability of a worker that has a secret."""
    return f"{SECRET}{name}"


def encode_capabilities(names: Iterable[str]) -> str:
    """Return the stored form: sorted names, separated by spaces."""
    return " ".join(sorted(names))


def decode_capabilities(text: str) -> frozenset[str]:
    """Return the names of a stored form."""
    return HTTP_ONLY if text == "http" else frozenset(text.split())
