"""What changed between two runs of a task: rows that are new, changed, gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any, cast

import msgspec

from smartspider.core.errors import NotFound, RequestInvalid
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run
from smartspider.services.background import BackgroundThread
from smartspider.services.results.matching import Matching, MatchKey
from smartspider.services.results.unseen import UnseenPages
from smartspider.store.results.rows import StoredItem
from smartspider.store.runs.store import RunStore
from smartspider.views.results import ChangeCounts, RowChange, RowEdit


class Difference(msgspec.Struct, frozen=True):
    """What became of the rows of one run in another. Rows are recognised by `key`, in words."""

    before: Run
    after: Run
    key: str
    counts: ChangeCounts
    _matching: Matching

    def changes(self, limit: int | None = None) -> Iterator[RowChange]:
        """New and changed rows in the order of the later run, then those that are gone, so many in all."""
        left = self.counts.new + self.counts.changed + self.counts.gone if limit is None else limit
        for _, url, data, old in self._matching.arrived(left):
            left -= 1
            row = msgspec.json.decode(data)
            if old is None:
                yield RowChange("new", url, row)
            else:
                yield RowChange("changed", url, row, _edits(msgspec.json.decode(old), row))
        for url, data in self._matching.left(left):
            yield RowChange("gone", url, msgspec.json.decode(data))


@asynccontextmanager
async def diff_runs(
    store: RunStore, before: Run, after: Run, plan: Plan, fields: Sequence[str] = ()
) -> AsyncIterator[Difference]:
    """Compare two runs of a task; `plan` is that of the later one.

    Rows are recognised by `fields`, else by the fields that the task tells items apart by, else by the page
    where no page has two rows, else by all of their content, so that none counts as changed. All rows go
    through a temporary file: memory stays the same however many there are.
    """
    if before.task_name != after.task_name:
        raise RequestInvalid(
            f"run {before.id} is of the task {before.task_name!r}, run {after.id} of {after.task_name!r}",
            hint="compare two runs of one task",
        )
    async with BackgroundThread() as aside:
        with Matching() as matching:
            key = await _load(aside, matching, store, ([before], after), key_fields(plan, fields))
            await _set_aside(aside, matching, UnseenPages(store, before, after, plan.canonical), plan)
            counts = ChangeCounts(*await aside.do(matching.counts))
            yield Difference(before, after, key.told, counts, matching)


async def rows_of(
    store: RunStore, run: Run, plan: Plan, *, only_changes: bool
) -> AsyncIterator[Sequence[StoredItem]]:
    """The rows of a run, or only those that earlier runs of the task did not have like that."""
    earlier = await earlier_runs(store, run, plan) if only_changes else []
    async with aclosing(cast("Any", changed_rows(store, run, earlier, plan))) as batches:
        async for batch in batches:
            yield batch


async def changed_rows(
    store: RunStore, run: Run, earlier: Sequence[Run], plan: Plan, fields: Sequence[str] = ()
) -> AsyncIterator[Sequence[StoredItem]]:
    """The rows of a run that are new or changed against earlier runs, in batches and in their order.

    `earlier` comes newest first: of rows that several runs have, the newest counts. None at all: all rows.
    """
    if not earlier:
        async for batch in store.items(run.id):
            yield batch
        return
    async with BackgroundThread() as aside:
        with Matching() as matching:
            await _load(aside, matching, store, (earlier, run), key_fields(plan, fields))
            async for batch in store.items(run.id):
                arrived = await aside.do(matching.arrived_ids, batch[0].id, batch[-1].id)
                if kept := [item for item in batch if item.id in arrived]:
                    yield kept


async def previous_run(store: RunStore, run: Run) -> Run:
    """The newest completed run of the same task before this one."""
    async for one in _completed_before(store, run, at_a_time=1):
        return one
    raise NotFound(
        f"there is no completed run of {run.task_name!r} before run {run.id}",
        hint="`smartspider run list` shows the runs there are",
    )


async def earlier_runs(store: RunStore, run: Run, plan: Plan) -> list[Run]:
    """The completed runs that tell what is new in this one, newest first.

    That is the run before; and where pages are left alone for a while, all that may have looked at them.
    """
    reach_s = max(plan.recrawl.window_s or 0.0, plan.recrawl.max_s or 0.0)
    found: list[Run] = []
    async for one in _completed_before(store, run, at_a_time=100 if reach_s else 1):
        if not found or (one.finished_at or 0.0) >= found[0].created_at - reach_s:
            found.append(one)
        if not reach_s:
            break
    return found


async def _completed_before(store: RunStore, run: Run, at_a_time: int) -> AsyncIterator[Run]:
    """Completed runs of the same task before this one, newest first."""
    before = run.id
    while page := await store.list_runs(
        task_id=run.task_id, states=("completed",), before=before, limit=at_a_time
    ):
        for one in page:
            yield one
        before = page[-1].id


def key_fields(plan: Plan, fields: Sequence[str] = ()) -> tuple[str, ...]:
    """The fields rows are recognised by: those asked for, else the task's own; may be none."""
    known = {name for page in plan.pages.values() for name in page.fields}
    if fields and known and not plan.pipeline:
        wrong = [field for field in fields if field not in known]
        if wrong:
            raise RequestInvalid(
                f"the task {plan.name!r} has no field {wrong[0]!r}", hint=f"it has {', '.join(sorted(known))}"
            )
    return tuple(fields) or next((key for key in plan.items.keys if key), ())


async def _load(
    aside: BackgroundThread,
    matching: Matching,
    store: RunStore,
    sides: tuple[Sequence[Run], Run],
    fields: tuple[str, ...],
) -> MatchKey:
    """Put the rows of both sides beside each other, and find out which belong together."""
    earlier, run = sides
    for number, one in enumerate(earlier):
        add = partial(matching.add_before, is_first=number == 0)
        async for batch in store.items(one.id):
            await aside.do(add, batch, fields)
        if number + 1 < len(earlier):
            await aside.do(matching.end_run)
    async for batch in store.items(run.id):
        await aside.do(matching.add_after, batch, fields)
    return await aside.do(matching.match, fields)


async def _set_aside(aside: BackgroundThread, matching: Matching, pages: UnseenPages, plan: Plan) -> None:
    """Leave out the rows about which nothing can be said."""
    leaves_out = bool(plan.items.keys) and plan.items.scope == "task" and plan.items.keep == "first"
    if not leaves_out and not pages.are_possible:
        return
    last = ""
    while urls := await aside.do(matching.left_urls, last):
        for url in urls:
            if leaves_out or await pages.is_unseen(url):
                matching.set_aside(url)
        last = urls[-1]
        await asyncio.sleep(0)


def _edits(before: dict[str, Any], after: dict[str, Any]) -> list[RowEdit]:
    """Fields that differ, in the order of the later row."""
    return [
        RowEdit(field, before.get(field), after.get(field))
        for field in dict.fromkeys((*after, *before))
        if msgspec.json.encode(before.get(field), order="sorted")
        != msgspec.json.encode(after.get(field), order="sorted")
    ]
