"""The truth: runs, one row per request, items."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

import msgspec

from smartspider.core.frontier.verdict import UrlState
from smartspider.core.pages.extraction import StepCount
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run, RunState
from smartspider.core.runs.tuning import Tuning
from smartspider.core.tasks import SYSTEM


class StoredItem(msgspec.Struct, frozen=True):
    """A committed item. `data` is its JSON, fields in task order."""

    id: int
    run_id: int
    url: str
    data: bytes
    created_at: float


class StoredReject(msgspec.Struct, frozen=True):
    """An item that was not kept. `value` and `data` are JSON; of what is too long, a string of its start."""

    id: int
    run_id: int
    url: str
    reason: str
    step: str
    field: str
    value: bytes
    data: bytes


class StoredChange(msgspec.Struct, frozen=True):
    """A line of the cleaning log. `before` and `after` are JSON, cut like those of a reject."""

    id: int
    run_id: int
    url: str
    item: int
    """Its number on the page."""
    step: str
    field: str
    before: bytes
    after: bytes


class Attempt(msgspec.Struct, frozen=True):
    """One fetch that failed."""

    at: float
    status: int | None
    reason: str
    elapsed_s: float


class UrlRecord(msgspec.Struct, frozen=True):
    """Everything the store knows about one request."""

    id: int
    run_id: int
    url: str
    state: UrlState
    reason: str
    status: int | None
    page: str
    depth: int
    priority: int
    attempts: int
    returns: int
    items: int
    parent: str | None
    target: str | None
    found_at: float
    closed_at: float | None
    place: str
    """Where an open request is: queued, waiting until, or leased."""
    failures: list[Attempt] = []


class UrlRow(msgspec.Struct, frozen=True):
    """A request in a list of them."""

    id: int
    url: str
    state: UrlState
    reason: str
    status: int | None
    page: str
    depth: int
    attempts: int
    items: int
    found_at: float
    closed_at: float | None


class Failure(msgspec.Struct, frozen=True):
    """A request that ended in failure."""

    url: str
    state: UrlState
    reason: str
    id: int = 0


class HostReceipt(msgspec.Struct, frozen=True):
    """How a host was treated in a run, from the moments requests left."""

    host: str
    requests: int
    smallest_gap_s: float | None
    asked_delay_s: float
    """The smallest delay that was in force while requests were spaced; 0 when none was."""
    requests_per_s: float
    refusals: int
    """Answers 429 and 503, and timeouts: signs that it was too much for the host."""
    violations: int
    """Gaps under the delay that was in force."""


class HostStatus(msgspec.Struct, frozen=True):
    """A host's gate as it stands."""

    host: str
    queued: int
    in_flight: int
    delay_s: float
    set_by: str
    held_until: float
    hold_reason: str


class Finding(msgspec.Struct, frozen=True):
    """Something fsck found. `is_repaired` says whether it mended it."""

    code: str
    message: str
    is_repaired: bool


class Store(Protocol):
    """1. A run and its entry rows are created in one transaction; a run has at least one row.
    2. States change only as `core.runs` allows; anything else is refused and changes nothing.
    3. A finished run has no open row. `finish` completes a run exactly when it has rows and none is open.
    4. Items are read in the order they were committed, by a cursor that never skips or repeats one.
    5. A deleted run is gone with everything of it, and its id is never used again.
    6. fsck finds what does not agree, and with `repair` mends what can be mended from the rows.
    7. Rejects and the cleaning log are read in the order they were committed, by a cursor like that of items.
    8. Runs, pages and failures are listed by cursors that never skip or repeat one, found by keys.
    9. Turned knobs hold at once for everybody: the next lease, settle and limit check use them. What they
       replaced is in the audit and in the run's events.
    10. A retry opens the rows of a run that ended in failure (dead, broken, left with an abandoned host) once
       more, each as another visit, and queues the run. Some thousand rows are one transaction, after each of
       which everything agrees; what an interrupted retry leaves is opened by the next one. Failures that an
       earlier visit brings late change nothing.
    11. A run has a version of its task, whatever becomes of the task. Creating and deleting a run, moving it
       to another state, and every rule of politeness it turns off are in the audit, in the same transaction
       and with who did it. What a crawl does by itself is not.
    """

    async def create_run(
        self,
        plan: Plan,
        *,
        actor: str = SYSTEM,
        version: int | None = None,
        is_only: bool = False,
        started_by: str = "",
    ) -> Run:
        """A new run with its entries as open rows, in state `queued`.

        With `is_only` it is a `Conflict` when another run of the task is not over. `started_by` says what
        made it, where that is not the actor (`schedule:3`, `retry:7`).

        `version` is the version of the task that the plan was made from; without it, the plan's spec becomes
        the newest version of the task with its name, if it is not that already.
        """

    async def get_run(self, run_id: int) -> Run:
        """A run as it stands."""

    async def find_runs(self, task_name: str | None = None, *, limit: int | None = None) -> list[Run]:
        """Runs, newest first; all of them unless there is a limit."""

    async def list_runs(
        self,
        *,
        task_id: int | None = None,
        states: Sequence[RunState] = (),
        before: int | None = None,
        limit: int = 100,
    ) -> list[Run]:
        """Runs, newest first, those with a smaller id than `before`; of one task, or in some states."""

    async def live_runs(self) -> list[Run]:
        """Runs that are queued, running or stopping, oldest first."""

    async def tune(self, run_id: int, tuning: Tuning, *, actor: str = SYSTEM) -> Run:
        """Turn knobs of a run that is not over. One that stands at a value already is not turned."""

    async def retry(self, run_id: int, *, actor: str = SYSTEM) -> int:
        """Open the failed rows of a run again and queue it, also one that is over; how many rows.

        One that is running goes on running. Without any such row it is refused, and for a cancelled run.
        """

    async def pages(
        self, run_id: int, *, state: UrlState | None = None, after: int = 0, limit: int = 100
    ) -> list[UrlRow]:
        """Requests of a run in the order they were found, those with a greater id than `after`."""

    async def set_state(
        self,
        run_id: int,
        state: RunState,
        reason: str = "",
        *,
        actor: str = SYSTEM,
        was: RunState | None = None,
    ) -> Run:
        """Put a run into another state; one whose task is deleted is not opened again.

        With `was` it is a `Conflict` when the run is in any other state by now.
        """

    async def finish(self, run_id: int, *, epoch: int | None = None) -> Run:
        """End a run that has nothing left to do, or has reached a limit; the run as it then stands.

        With the epoch of a leader it is refused (`TermOver`) when there is a newer one.
        """

    async def delete_run(self, run_id: int, *, actor: str = SYSTEM) -> None:
        """Forget a run that nobody works on.

        It may be over with some of it in the hands of workers: that counts at its hosts until it ends.
        """

    def items(self, run_id: int, after: int = 0) -> AsyncIterator[Sequence[StoredItem]]:
        """Committed items in batches, those with a greater id than `after`."""

    async def rejects(self, run_id: int, *, limit: int = 100, after: int = 0) -> list[StoredReject]:
        """Items of a run that were not kept, those with a greater id than `after`."""

    async def cleaning(
        self,
        run_id: int,
        *,
        field: str | None = None,
        step: str | None = None,
        limit: int = 100,
        after: int = 0,
    ) -> list[StoredChange]:
        """What steps made of values, those with a greater id than `after`; of one field, or of one step.

        A step is named as the task has it (`pipeline[2] number`) or by what it uses (`number`).
        """

    async def step_counts(self, run_id: int) -> dict[str, StepCount]:
        """What each step of a run did, by its name in the task and in the order of that."""

    async def find_urls(self, fingerprint: bytes, run_id: int | None = None) -> list[UrlRecord]:
        """What is known about a URL, newest run first."""

    async def failures(self, run_id: int, limit: int = 100, *, after: int = 0) -> list[Failure]:
        """Requests of a run that ended in failure, in the order they were found, ids greater than `after`."""

    async def hosts(self, run_id: int, limit: int = 20) -> list[HostStatus]:
        """The gates a run stands at, slowest first."""

    async def receipt(self, run_id: int) -> list[HostReceipt]:
        """How hosts were treated."""

    async def fsck(self, *, repair: bool = False) -> list[Finding]:
        """Check that everything agrees."""

    async def sizes(self) -> dict[str, int]:
        """Bytes by what they are used for."""
