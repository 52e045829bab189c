"""The store of runs, their requests, items and hosts."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence

from smartspider.core.errors import Conflict, NotAllowed
from smartspider.core.pages.extraction import StepCount
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import FINISHED, Run, RunState, end_id, first_id
from smartspider.core.runs.tuning import Tuning
from smartspider.core.tasks import SYSTEM
from smartspider.interfaces.robots_cache import RobotsAnswer
from smartspider.store import cookies
from smartspider.store.cookies import StoredCookies
from smartspider.store.database import Connection, Database, row, rows
from smartspider.store.hosts import gates
from smartspider.store.nodes import leadership
from smartspider.store.results.damage import check_order, checked_row, missing_items
from smartspider.store.results.files import FileTotals, file_totals, fill_files
from smartspider.store.results.rows import RowCounts, StoredItem
from smartspider.store.runs import creation, fsck, lifecycle, listing, records
from smartspider.store.runs import reopen_failed as retries
from smartspider.store.runs import tuning as settings
from smartspider.store.runs.fsck import Finding
from smartspider.store.runs.listing import FailedRequest, PageFilter, PageList, RecentRun
from smartspider.store.runs.records import HostReceipt, HostStatus, StoredChange, StoredReject, UrlRecord
from smartspider.store.runs.reopen_failed import FailureFilter

SQL = lifecycle.SQL


class RunStore(ABC):
    """1. A run and its entry rows are created in one transaction; a run has at least one row.
    2. States change only as `core.runs` allows; anything else is refused and changes nothing.
    3. A finished run has no open row. `finish` completes a run exactly if it has rows and none is open.
    4. Items are read in commit order, by a cursor that neither skips nor repeats one.
    5. Deleting a run deletes everything of it, and its id is never used again.
    6. `fsck` finds inconsistencies, and with `repair` repairs those that can be computed from the rows.
    7. Rejects and the cleaning log are read in commit order, by a cursor like that of items.
    8. Runs, pages and failures are listed by cursors that neither skip nor repeat one, using indexes. A
       filter reads a bounded number of pages in one call.
    9. Changed settings apply at once everywhere: the next lease, settle and limit check use them. The old
       values are in the audit log and in the events of the run.
    10. A retry reopens the failed rows of a run (dead, broken, skipped with an abandoned host), each as
       another visit, and queues the run. Some thousand rows are one transaction, after each of which
       everything agrees; the next retry reopens what an interrupted one left. Late failures of an earlier
       visit change nothing.
    11. A run keeps the version of its task, whatever happens to the task. Creating and deleting a run,
       changing its state, and every rule of politeness it turns off are in the audit log with their actor,
       in the same transaction. What a crawl does by itself is not.
    12. Cookies of a run are read by version: those stored or deleted since, and the newest version.
    13. A run is compared with while it was the last to fetch a page that its task remembers, or has the item
       that its task knows a key by.
    """

    def __init__(self, database: Database) -> None:
        self._db = database
        self._has_live = False
        """True if the last call found a live run. If not, the next one checks with a
        cheaper statement first.
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
        """Create a run with its entries as open rows, in state `queued`.

        With `is_only`, an unfinished run of the same task raises `Conflict`. `started_by` is the origin of
        the run if it is not the actor (`schedule:3`, `retry:7`).

        `version` is the version of the task that the plan was compiled from. Without it, the plan's spec
        becomes the newest version of the task with its name, unless it already is.
        """

        def work(connection: Connection) -> Run:
            run_id = creation.create_run(
                connection, plan, self._db.now(), actor, version, is_only=is_only, started_by=started_by
            )
            return lifecycle.read_run(connection, run_id)

        return await self._db.write(work)

    async def get_run(self, run_id: int) -> Run:
        """Return a run."""
        return await self._db.read(lambda connection: lifecycle.read_run(connection, run_id))

    async def find_runs(self, task_name: str | None = None, *, limit: int | None = None) -> list[Run]:
        """Return runs, newest first, optionally of tasks with a name."""

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
        """Return runs with ids smaller than `before`, newest first, optionally of one
        task or in some states.
        """

        def work(connection: Connection) -> list[Run]:
            return listing.read(connection, listing.run_ids(connection, task_id, states, before, limit))

        return await self._db.read(work)

    async def recent_runs(self, task_ids: Sequence[int], limit: int = 30) -> dict[int, list[RecentRun]]:
        """Return the newest runs of tasks, newest first, by task."""
        return await self._db.read(lambda connection: listing.recent_runs(connection, task_ids, limit))

    async def count_unfinished(self) -> dict[str, int]:
        """Return the number of unfinished runs by state."""
        return dict(await self._db.fetch(SQL.count_unfinished))

    async def live_runs(self) -> list[Run]:
        """Return queued, running and stopping runs, oldest first."""
        if not self._has_live and not await self._db.fetch(SQL.live_runs):
            return []
        found = await self._db.read(listing.live_runs)
        self._has_live = bool(found)
        return found

    async def tune(self, run_id: int, tuning: Tuning, *, actor: str = SYSTEM) -> Run:
        """Change settings of an unfinished run. A setting that already has its value is not changed."""

        def work(connection: Connection) -> Run:
            settings.tune(connection, run_id, tuning, self._db.now(), actor)
            return lifecycle.read_run(connection, run_id)

        return await self._db.write(work)

    async def retry(self, run_id: int, only: FailureFilter = FailureFilter(), *, actor: str = SYSTEM) -> int:
        """Reopen the failed rows of a run that match, and queue it, also an ended one. Return the number of
        rows.

        A running run stays so. A run without such rows and a cancelled one are refused.
        """
        sweep = retries.RetrySweep(run_id, actor, only)
        await self._until_done(lambda connection: retries.step(connection, sweep, self._db.now()))
        if not sweep.opened and only != FailureFilter():
            raise NotAllowed(
                f"no failed request of run {run_id} matches, so there is nothing to retry",
                hint="`smartspider run problems` lists what went wrong, by cause and host",
            )
        if not sweep.opened:
            raise NotAllowed(
                f"no request of run {run_id} failed, so there is nothing to retry",
                hint="start another run of its task to fetch everything again",
            )
        return sweep.opened

    async def pages(
        self,
        run_id: int,
        only: PageFilter = PageFilter(),
        *,
        after: int = 0,
        limit: int = 100,
        scan: int = listing.SCANNED,
    ) -> PageList:
        """Return requests of a run with ids greater than `after`, in the order they were found, among
        the next `scan` ones.
        """
        return await self._db.read(
            lambda connection: listing.pages(connection, run_id, only, after, limit, scan)
        )

    async def set_state(
        self,
        run_id: int,
        state: RunState,
        reason: str = "",
        *,
        actor: str = SYSTEM,
        was: RunState | None = None,
    ) -> Run:
        """Change the state of a run. A run whose task is deleted is not reopened.

        With `was`, raise `Conflict` if the run is in any other state.
        """

        def work(connection: Connection) -> Run:
            if was is not None and (found := lifecycle.read_run(connection, run_id).state) != was:
                raise Conflict(
                    f"run {run_id} is {found}, no longer {was}",
                    hint="`smartspider run show` shows its state",
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
        """End a run that has no open rows or has reached a limit. Return the run.

        With the epoch of a leader, raise `LeadershipLost` if there is a newer one.
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

    async def is_compared_with(self, run_id: int) -> bool:
        """Return whether later runs compare their pages or items with those of a run."""
        return await self._db.read(lambda connection: lifecycle.is_compared_with(connection, run_id))

    async def delete_run(self, run_id: int, *, actor: str = SYSTEM) -> None:
        """Delete an idle run.

        An ended run may still have leases: these count at the gates of their hosts until they end.
        """
        await self._db.write(
            lambda connection: lifecycle.begin_delete(connection, run_id, self._db.now(), actor)
        )
        await self._until_done(lambda connection: lifecycle.delete_step(connection, run_id))

    async def _until_done(self, step: Callable[[Connection], bool]) -> None:
        """Repeat `step` in short transactions, so that other writers do not wait for all of it."""
        while await self._db.write(step):  # noqa: ASYNC110 - nothing is waited for
            await asyncio.sleep(0)  # let other tasks of the loop run

    async def items(self, run_id: int, after: int = 0) -> AsyncIterator[Sequence[StoredItem]]:
        """Yield committed items with ids greater than `after`, in batches.

        Raise `StoreUnavailable` if one is damaged, or if all items are not as many as the run has stored.
        """
        cursor = start = max(after, first_id(run_id))
        begun, found = None, 0
        while True:
            batch, counts = await self._db.read(self._items_after(run_id, cursor))
            begun = begun or counts
            if not batch:
                break
            found += len(batch)
            yield batch
            cursor = batch[-1].id
        if start > first_id(run_id) or counts is None or begun is None:
            return
        if counts.has_only_more_than(begun) and found != counts.items:
            raise missing_items(run_id, found, counts.items)

    def _items_after(
        self, run_id: int, cursor: int
    ) -> Callable[[Connection], tuple[list[StoredItem], RowCounts | None]]:
        def work(connection: Connection) -> tuple[list[StoredItem], RowCounts | None]:
            counts = row(connection, SQL.row_counts, (run_id, lifecycle.DELETED))
            found = rows(connection, SQL.items, (cursor, end_id(run_id)))
            check_order([one[0] for one in found], cursor)
            checked = [
                checked_row(item_id, url_id, data, checksum)[2]
                for item_id, _, data, _, url_id, checksum in found
            ]
            filled = fill_files(connection, run_id, checked)
            batch = [
                StoredItem(item_id, run_id, url, data.encode(), created_at, page_id)
                for (item_id, url, _, created_at, page_id, _), data in zip(found, filled, strict=True)
            ]
            return batch, None if counts is None else RowCounts(*counts)

        return work

    async def cookies(self, run_id: int, *, after: int = 0) -> StoredCookies:
        """Return the cookies of a run that were stored after a version, and the newest version."""
        return await self._db.read(lambda connection: cookies.read(connection, run_id, after))

    async def file_totals(self, run_id: int) -> FileTotals:
        """Return the number and size of the files that a run downloaded."""
        return await self._db.read(lambda connection: file_totals(connection, run_id))

    async def rejects(self, run_id: int, *, limit: int = 100, after: int = 0) -> list[StoredReject]:
        """Return rejected items of a run with ids greater than `after`."""
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
        """Return changed values with ids greater than `after`, optionally of one field or step.

        A step is given as in the task (`pipeline[2] number`) or by what it uses (`number`).
        """
        return await self._db.read(
            lambda connection: records.cleaning(connection, run_id, (field, step), limit, after)
        )

    async def step_counts(self, run_id: int) -> dict[str, StepCount]:
        """Return the counts of each step by its name in the task, in task order."""
        return await self._db.read(lambda connection: records.step_counts(connection, run_id))

    async def find_urls(self, fingerprint: bytes, run_id: int | None = None) -> list[UrlRecord]:
        """Return the rows of a request, newest run first."""

        def work(connection: Connection) -> list[UrlRecord]:
            among = [run_id] if run_id is not None else listing.named_run_ids(connection, None, None)
            return records.find_urls(connection, fingerprint, among, self._db.now())

        return await self._db.read(work)

    async def failures(self, run_id: int, limit: int = 100, *, after: int = 0) -> list[FailedRequest]:
        """Return failed requests of a run with ids greater than `after`, in the order they were found."""
        return await self._db.read(lambda connection: listing.failures(connection, run_id, after, limit))

    async def hosts(self, run_id: int, limit: int = 20) -> list[HostStatus]:
        """Return the gates of a run's hosts, slowest first."""
        return await self._db.read(lambda connection: records.hosts(connection, run_id, limit))

    async def receipt(self, run_id: int) -> list[HostReceipt]:
        """Return the politeness of a run towards its hosts."""
        return await self._db.read(lambda connection: records.receipt(connection, run_id))

    async def fsck(self, *, repair: bool = False) -> list[Finding]:
        """Check the consistency of the store."""
        ask = self._db.write if repair else self._db.read
        return await ask(lambda connection: fsck.check(connection, self._db.now(), repair=repair))

    @abstractmethod
    async def sizes(self) -> dict[str, int]:
        """Return the bytes used, by purpose."""

    async def get_robots(self, origin: str) -> RobotsAnswer | None:
        """Return the stored robots.txt of an origin."""
        return await self._db.read(lambda connection: gates.read_robots(connection, origin))

    async def put_robots(self, answer: RobotsAnswer, *, host: str, crawl_delay_s: float | None) -> None:
        """Store the robots.txt of a host, and its Crawl-delay with the gate."""
        await self._db.write(lambda connection: gates.store_robots(connection, answer, host, crawl_delay_s))
