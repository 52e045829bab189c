"""Events. The engine publishes them, telemetry subscribes. `name` is noun.verb."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from smartspider.core.frontier.cause import CauseCode


class Event(msgspec.Struct, frozen=True):
    """Something that happened in a run. Events outside of runs have `run_id` 0."""

    name: ClassVar[str] = "event.happened"
    level: ClassVar[str] = "info"
    run_id: int


class RunStarted(Event, frozen=True):
    """A run started or resumed (`is_resumed`)."""

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
    """Items dropped because equal ones are stored."""
    bytes_read: int = 0
    waited_s: float = 0.0
    """Part of `elapsed_s` spent waiting for the host's gate."""
    is_file: bool = False
    """The request is for a file that an item names."""
    cause: CauseCode | None = None


class FetchRetried(Event, frozen=True):
    """A fetch failed and will be retried."""

    name: ClassVar[str] = "fetch.retried"
    level: ClassVar[str] = "warning"
    host: str
    url: str
    reason: str
    attempts: int
    delay_s: float
    cause: CauseCode = "other"


class PageBuried(Event, frozen=True):
    """A request was given up."""

    name: ClassVar[str] = "page.buried"
    level: ClassVar[str] = "error"
    host: str
    url: str
    reason: str
    status: int | None = None
    """HTTP status of the last response, if any."""
    is_file: bool = False
    """The request is for a file that an item names."""
    cause: CauseCode | None = None


class ValuesCleaned(Event, frozen=True):
    """Characters that no store accepts (NUL, lone surrogates) were removed from values of a page."""

    name: ClassVar[str] = "values.cleaned"
    level: ClassVar[str] = "warning"
    host: str
    url: str
    count: int


class ItemsRejected(Event, frozen=True):
    """Items of a page were rejected; `reason` is that of the first."""

    name: ClassVar[str] = "items.rejected"
    level: ClassVar[str] = "warning"
    host: str
    url: str
    count: int
    reason: str


class LinksDropped(Event, frozen=True):
    """A page had more links than the maximum; the first ones were kept."""

    name: ClassVar[str] = "links.dropped"
    level: ClassVar[str] = "warning"
    host: str
    url: str
    count: int


class UrlsLeftOut(Event, frozen=True):
    """Links that became no request, or requests that were skipped, for the same reason."""

    name: ClassVar[str] = "urls.omitted"
    level: ClassVar[str] = "debug"
    code: str
    """A code of `core/requests/refusal.py`."""
    count: int


class FieldsDropped(Event, frozen=True):
    """Fields carried by links of a page were dropped because they were too large."""

    name: ClassVar[str] = "fields.dropped"
    level: ClassVar[str] = "warning"
    host: str
    url: str
    count: int


class HostHeld(Event, frozen=True):
    """A host was put on hold: it asked for a pause, or it fails."""

    name: ClassVar[str] = "host.held"
    level: ClassVar[str] = "warning"
    host: str
    hold_s: float
    reason: str


class HostAbandoned(Event, frozen=True):
    """The remaining requests of a host were closed: it stays down, or its Retry-After is too long."""

    name: ClassVar[str] = "host.abandoned"
    level: ClassVar[str] = "error"
    host: str
    count: int
    reason: str


class CookiesInvalid(Event, frozen=True):
    """A set of cookies was set aside: its site no longer knows the login."""

    name: ClassVar[str] = "cookies.invalid"
    level: ClassVar[str] = "error"
    set_id: int
    title: str
    owner: str
    reason: str


class LeasesReturned(Event, frozen=True):
    """A worker died or stopped responding, and its requests were queued again."""

    name: ClassVar[str] = "leases.returned"
    level: ClassVar[str] = "warning"
    count: int
    worker: str


class WorkerKilled(Event, frozen=True):
    """A supervisor killed a worker process. `url` is the request it was reading, if that is to blame."""

    name: ClassVar[str] = "worker.killed"
    level: ClassVar[str] = "error"
    host: str
    url: str
    worker: str
    cause: str
    """A cause of `core/workers/watch.py`."""
    reason: str


class WorkerDrained(Event, frozen=True):
    """A supervisor drains a worker process that uses too much memory. `url` is the request it was reading."""

    name: ClassVar[str] = "worker.drained"
    level: ClassVar[str] = "warning"
    host: str
    url: str
    worker: str
    reason: str


class GuardTripped(Event, frozen=True):
    """A guard detected that the run goes wrong."""

    name: ClassVar[str] = "guard.tripped"
    level: ClassVar[str] = "error"
    reason: str


class StoreLost(Event, frozen=True):
    """Store or frontier do not respond; the worker keeps its leases and waits. `run_id` is 0."""

    name: ClassVar[str] = "store.lost"
    level: ClassVar[str] = "warning"
    reason: str


class StoreReturned(Event, frozen=True):
    """Store and frontier respond again. `run_id` is 0."""

    name: ClassVar[str] = "store.returned"
    away_s: float


class WorkerThrottled(Event, frozen=True):
    """A worker is clearly less healthy than the others and reduces its load. `run_id` is 0."""

    name: ClassVar[str] = "worker.throttled"
    level: ClassVar[str] = "warning"
    share: float
    """Share of its slots that it uses from now on."""
    fault_share: float
    lag_s: float


class WorkerRestored(Event, frozen=True):
    """A worker uses all its slots again. `run_id` is 0."""

    name: ClassVar[str] = "worker.restored"


class UrlFilterCounted(Event, frozen=True):
    """Counts of a URL filter since the last such event, in URLs. `run_id` is 0."""

    name: ClassVar[str] = "filter.counted"
    level: ClassVar[str] = "debug"
    layer: str
    hits: int
    misses: int
    added: int
    refused: int
    unavailable: int


class UrlFilterFull(Event, frozen=True):
    """A URL filter has used most of its memory, or all of it (`is_full`): then it takes no more URLs, and
    lookups go to the store.
    """

    name: ClassVar[str] = "filter.filled"
    level: ClassVar[str] = "warning"
    layer: str
    bytes_used: int
    bytes_max: int
    is_full: bool


PROGRESS = "run.progress"
PROGRESS_EVERY_S = 0.25
"""Minimum interval of progress events; state changes and problems are published at once."""


class RunEvent(msgspec.Struct, frozen=True):
    """A stored event of a run. `id` counts over all runs, `number` within the run from 1 without gaps. `data`
    is JSON.
    """

    id: int
    run_id: int
    number: int
    at: float
    name: str
    data: bytes

    @property
    def key(self) -> str:
        """Its identity outside the store."""
        return f"{self.run_id}-{self.number}"

    @property
    def version(self) -> int:
        """Its id: events never change."""
        return self.id
