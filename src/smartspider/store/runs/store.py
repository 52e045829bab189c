"""The store in SQL."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence

from smartspider.core.errors import Conflict, NotAllowed
from smartspider.core.frontier.verdict import UrlState
from smartspider.core.pages.extraction import StepCount
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import FINISHED, Run, RunState, end_id, first_id
from smartspider.core.runs.tuning import Tuning
from smartspider.core.tasks import SYSTEM
from smartspider.interfaces.robots_cache import RobotsAnswer
from smartspider.store.database import Connection, Database, rows
from smartspider.store.hosts import robots
from smartspider.store.nodes import leadership
from smartspider.store.results.rows import StoredItem
from smartspider.store.runs import fsck, lifecycle, listing, records
from smartspider.store.runs import retry as retrying
from smartspider.store.runs import tuning as knobs
from smartspider.store.runs.fsck import Finding
from smartspider.store.runs.listing import FailedRequest, UrlRow
from smartspider.store.runs.records import HostReceipt, HostStatus, StoredChange, StoredReject, UrlRecord

SQL = lifecycle.SQL


class RunStore(ABC):
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

    def __init__(self, database: Database) -> None:
        self._db = database
        self._has_live = False
        """Whether there was one at the last look. Where there was none, it is first asked if there is."""

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

        def work(connection: Connection) -> Run:
            run_id = lifecycle.create_run(
                connection, plan, self._db.now(), actor, version, is_only=is_only, started_by=started_by
            )
            return lifecycle.read_run(connection, run_id)

        return await self._db.write(work)

    async def get_run(self, run_id: int) -> Run:
        """A run as it stands."""
        return await self._db.read(lambda connection: lifecycle.read_run(connection, run_id))

    async def find_runs(self, task_name: str | None = None, *, limit: int | None = None) -> list[Run]:
        """Runs, newest first; all of them unless there is a limit."""

        def work(connection: Connection) -> list[Run]:
            return listing.read(connection, listing.named_run_ids(connection, task_name, limit))

        return await self._db.read(work)

    async def list_runs(
        self,
        *,
        task_id: int | None = None,
        states: Sequence[RunState] = (),
        before: int | None = None,
        limit: int = 100,
    ) -> list[Run]:
        """Runs, newest first, those with a smaller id than `before`; of one task, or in some states."""

        def work(connection: Connection) -> list[Run]:
            return listing.read(connection, listing.run_ids(connection, task_id, states, before, limit))

        return await self._db.read(work)

    async def live_runs(self) -> list[Run]:
        """Runs that are queued, running or stopping, oldest first."""
        if not self._has_live and not await self._db.fetch(SQL.live_runs):
            return []
        found = await self._db.read(listing.live_runs)
        self._has_live = bool(found)
        return found

    async def tune(self, run_id: int, tuning: Tuning, *, actor: str = SYSTEM) -> Run:
        """Turn knobs of a run that is not over. One that stands at a value already is not turned."""

        def work(connection: Connection) -> Run:
            knobs.tune(connection, run_id, tuning, self._db.now(), actor)
            return lifecycle.read_run(connection, run_id)

        return await self._db.write(work)

    async def retry(self, run_id: int, *, actor: str = SYSTEM) -> int:
        """Open the failed rows of a run again and queue it, also one that is over; how many rows.

        One that is running goes on running. Without any such row it is refused, and for a cancelled run.
        """
        sweep = retrying.RetrySweep(run_id, actor)
        await self._until_done(lambda connection: retrying.step(connection, sweep, self._db.now()))
        if not sweep.opened:
            raise NotAllowed(
                f"no request of run {run_id} failed, so there is nothing to retry",
                hint="start another run of its task to fetch everything anew",
            )
        return sweep.opened

    async def pages(
        self, run_id: int, *, state: UrlState | None = None, after: int = 0, limit: int = 100
    ) -> list[UrlRow]:
        """Requests of a run in the order they were found, those with a greater id than `after`."""
        return await self._db.read(lambda connection: listing.pages(connection, run_id, state, after, limit))

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

        def work(connection: Connection) -> Run:
            if was is not None and (found := lifecycle.read_run(connection, run_id).state) != was:
                raise Conflict(
                    f"run {run_id} is {found} and not {was} any more", hint="look at how it stands now"
                )
            lifecycle.set_state(connection, run_id, state, reason, self._db.now(), actor=actor)
            return lifecycle.read_run(connection, run_id)

        run = await self._db.write(work)
        if state in FINISHED:
            await self._until_done(
                lambda connection: lifecycle.close_ended(connection, run_id, self._db.now())
            )
            run = await self.get_run(run_id)
        return run

    async def finish(self, run_id: int, *, epoch: int | None = None) -> Run:
        """End a run that has nothing left to do, or has reached a limit; the run as it then stands.

        With the epoch of a leader it is refused (`TermOver`) when there is a newer one.
        """

        def step(connection: Connection) -> Run | None:
            if epoch is not None:
                leadership.check(connection, epoch)
            if lifecycle.finish_step(connection, run_id, self._db.now()):
                return None
            return lifecycle.read_run(connection, run_id)

        while (ended := await self._db.write(step)) is None:  # noqa: ASYNC110 - nothing is waited for
            await asyncio.sleep(0)
        return ended

    async def delete_run(self, run_id: int, *, actor: str = SYSTEM) -> None:
        """Forget a run that nobody works on.

        It may be over with some of it in the hands of workers: that counts at its hosts until it ends.
        """
        await self._db.write(
            lambda connection: lifecycle.begin_delete(connection, run_id, self._db.now(), actor)
        )
        await self._until_done(lambda connection: lifecycle.delete_step(connection, run_id))

    async def _until_done(self, step: Callable[[Connection], bool]) -> None:
        """Long work in short transactions, so that nobody waits for the whole of it."""
        while await self._db.write(step):  # noqa: ASYNC110 - nothing is waited for
            await asyncio.sleep(0)  # a loop that serves others goes on in between

    async def items(self, run_id: int, after: int = 0) -> AsyncIterator[Sequence[StoredItem]]:
        """Committed items in batches, those with a greater id than `after`."""
        cursor = max(after, first_id(run_id))
        while batch := await self._db.read(self._items_after(run_id, cursor)):
            yield batch
            cursor = batch[-1].id

    def _items_after(self, run_id: int, cursor: int) -> Callable[[Connection], list[StoredItem]]:
        def work(connection: Connection) -> list[StoredItem]:
            return [
                StoredItem(item_id, run_id, url, data.encode(), created_at)
                for item_id, url, data, created_at in rows(connection, SQL.items, (cursor, end_id(run_id)))
            ]

        return work

    async def rejects(self, run_id: int, *, limit: int = 100, after: int = 0) -> list[StoredReject]:
        """Items of a run that were not kept, those with a greater id than `after`."""
        return await self._db.read(lambda connection: records.rejects(connection, run_id, limit, after))

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
        return await self._db.read(
            lambda connection: records.cleaning(connection, run_id, (field, step), limit, after)
        )

    async def step_counts(self, run_id: int) -> dict[str, StepCount]:
        """What each step of a run did, by its name in the task and in the order of that."""
        return await self._db.read(lambda connection: records.step_counts(connection, run_id))

    async def find_urls(self, fingerprint: bytes, run_id: int | None = None) -> list[UrlRecord]:
        """What is known about a URL, newest run first."""

        def work(connection: Connection) -> list[UrlRecord]:
            among = [run_id] if run_id is not None else listing.named_run_ids(connection, None, None)
            return records.find_urls(connection, fingerprint, among, self._db.now())

        return await self._db.read(work)

    async def failures(self, run_id: int, limit: int = 100, *, after: int = 0) -> list[FailedRequest]:
        """Requests of a run that ended in failure, in the order they were found, ids greater than `after`."""
        return await self._db.read(lambda connection: listing.failures(connection, run_id, after, limit))

    async def hosts(self, run_id: int, limit: int = 20) -> list[HostStatus]:
        """The gates a run stands at, slowest first."""
        return await self._db.read(lambda connection: records.hosts(connection, run_id, limit))

    async def receipt(self, run_id: int) -> list[HostReceipt]:
        """How hosts were treated."""
        return await self._db.read(lambda connection: records.receipt(connection, run_id))

    async def fsck(self, *, repair: bool = False) -> list[Finding]:
        """Check that everything agrees."""
        ask = self._db.write if repair else self._db.read
        return await ask(lambda connection: fsck.check(connection, self._db.now(), repair=repair))

    @abstractmethod
    async def sizes(self) -> dict[str, int]:
        """Return the bytes used, by purpose."""

    async def get_robots(self, origin: str) -> RobotsAnswer | None:
        """What a host said about robots."""
        return await self._db.read(lambda connection: robots.get(connection, origin))

    async def put_robots(self, answer: RobotsAnswer, *, host: str, crawl_delay_s: float | None) -> None:
        """Keep what a host says about robots, and its Crawl-delay with its gate."""
        await self._db.write(lambda connection: robots.put(connection, answer, host, crawl_delay_s))
