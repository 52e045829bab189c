"""Events: what happened. The engine publishes, telemetry subscribes. `name` is noun.verb."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class Event(msgspec.Struct, frozen=True):
    """Something that happened in a run."""

    name: ClassVar[str] = "event.happened"
    level: ClassVar[str] = "info"
    run_id: int


class RunStarted(Event, frozen=True):
    """A run began, or went on (`is_resumed`)."""

    name: ClassVar[str] = "run.started"
    task: str
    is_resumed: bool


class RunEnded(Event, frozen=True):
    """A run left the state `running`."""

    name: ClassVar[str] = "run.ended"
    state: str
    reason: str


class PageClosed(Event, frozen=True):
    """A request got its final state."""

    name: ClassVar[str] = "page.closed"
    level: ClassVar[str] = "debug"
    host: str
    url: str
    state: str
    reason: str
    status: int | None
    items: int
    elapsed_s: float
    duplicates: int = 0
    """Items of it that are not stored because equal ones are."""
    bytes_read: int = 0
    waited_s: float = 0.0
    """Of `elapsed_s`, waiting for the host's gate."""


class FetchRetried(Event, frozen=True):
    """A fetch failed and will be tried again."""

    name: ClassVar[str] = "fetch.retried"
    level: ClassVar[str] = "warning"
    host: str
    url: str
    reason: str
    attempts: int
    delay_s: float


class PageBuried(Event, frozen=True):
    """A request was given up."""

    name: ClassVar[str] = "page.buried"
    level: ClassVar[str] = "error"
    host: str
    url: str
    reason: str
    status: int | None = None
    """Of the last answer, if there was one."""


class ValuesCleaned(Event, frozen=True):
    """Values of a page had characters taken out that no store can hold (NUL, lone surrogates)."""

    name: ClassVar[str] = "values.cleaned"
    level: ClassVar[str] = "warning"
    host: str
    url: str
    count: int


class ItemsRejected(Event, frozen=True):
    """Items of a page were not kept; `reason` is that of the first."""

    name: ClassVar[str] = "items.rejected"
    level: ClassVar[str] = "warning"
    host: str
    url: str
    count: int
    reason: str


class LinksDropped(Event, frozen=True):
    """A page had more links than are kept of one; the first ones were."""

    name: ClassVar[str] = "links.dropped"
    level: ClassVar[str] = "warning"
    host: str
    url: str
    count: int


class FieldsDropped(Event, frozen=True):
    """Links of a page lost the fields they should carry to the next one: these were too large."""

    name: ClassVar[str] = "fields.dropped"
    level: ClassVar[str] = "warning"
    host: str
    url: str
    count: int


class HostHeld(Event, frozen=True):
    """A host asked for a pause, or broke, and is left alone for a while."""

    name: ClassVar[str] = "host.held"
    level: ClassVar[str] = "warning"
    host: str
    hold_s: float
    reason: str


class HostAbandoned(Event, frozen=True):
    """What was left of a host was closed: it stays down, or wants to be left alone for too long."""

    name: ClassVar[str] = "host.abandoned"
    level: ClassVar[str] = "error"
    host: str
    count: int
    reason: str


class LeasesReturned(Event, frozen=True):
    """A worker died or fell silent and its requests went back to the queue."""

    name: ClassVar[str] = "leases.returned"
    level: ClassVar[str] = "warning"
    count: int
    worker: str


class GuardTripped(Event, frozen=True):
    """A guard saw that something is wrong with the run."""

    name: ClassVar[str] = "guard.tripped"
    level: ClassVar[str] = "error"
    reason: str


class StoreLost(Event, frozen=True):
    """Store or frontier do not answer, and a worker waits with what it holds. Of no run: `run_id` 0."""

    name: ClassVar[str] = "store.lost"
    level: ClassVar[str] = "warning"
    reason: str


class StoreReturned(Event, frozen=True):
    """They answer again. Of no run: `run_id` 0."""

    name: ClassVar[str] = "store.returned"
    away_s: float


class WorkerEased(Event, frozen=True):
    """A worker does clearly worse than the others and asks for less. Of no run: `run_id` 0."""

    name: ClassVar[str] = "worker.eased"
    level: ClassVar[str] = "warning"
    share: float
    """Of its slots, what it fills from now on."""
    fault_share: float
    lag_s: float


class WorkerRestored(Event, frozen=True):
    """It fills all its slots again. Of no run: `run_id` 0."""

    name: ClassVar[str] = "worker.restored"


class KnownUrlsCounted(Event, frozen=True):
    """What a layer in front of the store did since this was last told, in URLs. Of no run: `run_id` 0."""

    name: ClassVar[str] = "layer.counted"
    level: ClassVar[str] = "debug"
    layer: str
    hits: int
    misses: int
    certainly_new: int
    false_positives: int
    added: int
    refused: int
    unavailable: int


class KnownUrlsFull(Event, frozen=True):
    """A layer in front of the store has used most of its memory, or all of it (`is_full`): then it learns
    nothing more, and the store is asked.
    """

    name: ClassVar[str] = "layer.filled"
    level: ClassVar[str] = "warning"
    layer: str
    bytes_used: int
    bytes_max: int
    is_full: bool


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
