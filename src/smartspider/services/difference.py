"""What changed between two runs of a task: rows that are new, changed, gone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import msgspec

from smartspider.core.errors import NotFound, TaskInvalid
from smartspider.core.plan import Plan
from smartspider.core.runs import Run
from smartspider.interfaces.store import Store, StoredItem
from smartspider.services.matching import Key, Matching
from smartspider.services.unseen import UnseenPages


class Edit(msgspec.Struct, frozen=True):
    """A field of a row that is not what it was; missing is null."""

    field: str
    before: Any
    after: Any


class RowChange(msgspec.Struct, frozen=True):
    """A row that is new, changed or gone. `row` is how it is now, or was before it went."""

    kind: Literal["new", "changed", "gone"]
    url: str
    row: dict[str, Any]
    edits: list[Edit] = []


class ChangeCounts(msgspec.Struct, frozen=True):
    """How many rows are what. Nothing is known about those that are `unseen`: their pages were skipped or
    failed, or the later run keeps only rows that no earlier run of the task has.
    """

    new: int = 0
    changed: int = 0
    gone: int = 0
    unchanged: int = 0
    unseen: int = 0


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
async def difference(
    store: Store, before: Run, after: Run, plan: Plan, fields: Sequence[str] = ()
) -> AsyncIterator[Difference]:
    """Compare two runs of a task; `plan` is that of the later one.

    Rows are recognised by `fields`, else by the fields that the task tells items apart by, else by the page
    where no page has two rows, else by all of their content, so that none counts as changed. All rows go
    through a temporary file: memory stays the same however many there are.
    """
    if before.task_name != after.task_name:
        raise TaskInvalid(
            f"run {before.id} is of the task {before.task_name!r}, run {after.id} of {after.task_name!r}",
            hint="compare two runs of one task",
        )
    with Matching() as matching:
        key = await _load(matching, store, [before], after, key_fields(plan, fields))
        pages = UnseenPages(store, before, after, plan.canonical)
        leaves_out = bool(plan.items.keys) and plan.items.scope == "task" and plan.items.keep == "first"
        if leaves_out or pages.are_possible:
            for url in matching.left_urls():
                if leaves_out or await pages.is_unseen(url):
                    matching.set_aside(url)
        yield Difference(before, after, key.told, ChangeCounts(*matching.counts()), matching)


async def rows_of(
    store: Store, run: Run, plan: Plan, *, only_changes: bool
) -> AsyncIterator[Sequence[StoredItem]]:
    """The rows of a run, or only those that earlier runs of the task did not have like that."""
    earlier = await earlier_runs(store, run, plan) if only_changes else []
    async for batch in changed_rows(store, run, earlier, plan):
        yield batch


async def changed_rows(
    store: Store, run: Run, earlier: Sequence[Run], plan: Plan, fields: Sequence[str] = ()
) -> AsyncIterator[Sequence[StoredItem]]:
    """The rows of a run that are new or changed against earlier runs, in batches and in their order.

    `earlier` comes newest first: of rows that several runs have, the newest counts. None at all: all rows.
    """
    if not earlier:
        async for batch in store.items(run.id):
            yield batch
        return
    with Matching() as matching:
        await _load(matching, store, earlier, run, key_fields(plan, fields))
        wanted = matching.arrived_ids()
        following = next(wanted, None)
        async for batch in store.items(run.id):
            kept = []
            for item in batch:
                if item.id == following:
                    kept.append(item)
                    following = next(wanted, None)
            if kept:
                yield kept


async def previous_run(store: Store, run: Run) -> Run:
    """The newest completed run of the same task before this one."""
    for one in await store.find_runs(run.task_name):
        if one.id < run.id and one.state == "completed":
            return one
    raise NotFound(
        f"there is no completed run of {run.task_name!r} before run {run.id}",
        hint="`smartspider run list` shows the runs there are",
    )


async def earlier_runs(store: Store, run: Run, plan: Plan) -> list[Run]:
    """The completed runs that tell what is new in this one, newest first.

    That is the run before; and where pages are left alone for a while, all that may have looked at them.
    """
    runs = [
        one for one in await store.find_runs(run.task_name) if one.id < run.id and one.state == "completed"
    ]
    if not runs:
        return []
    reach_s = max(plan.recrawl.window_s or 0.0, plan.recrawl.max_s or 0.0)
    since = runs[0].created_at - reach_s
    further = [one for one in runs[1:] if (one.finished_at or 0.0) >= since] if reach_s else []
    return [runs[0], *further]


def key_fields(plan: Plan, fields: Sequence[str] = ()) -> tuple[str, ...]:
    """The fields rows are recognised by: those asked for, else the task's own; may be none."""
    known = {name for page in plan.pages.values() for name in page.fields}
    if fields and known and not plan.pipeline:
        wrong = [field for field in fields if field not in known]
        if wrong:
            raise TaskInvalid(
                f"the task {plan.name!r} has no field {wrong[0]!r}", hint=f"it has {', '.join(sorted(known))}"
            )
    return tuple(fields) or next((key for key in plan.items.keys if key), ())


async def _load(
    matching: Matching, store: Store, earlier: Sequence[Run], run: Run, fields: tuple[str, ...]
) -> Key:
    """Put the rows of both sides beside each other, and find out which belong together."""
    for number, one in enumerate(earlier):
        async for batch in store.items(one.id):
            matching.add_before(batch, fields, is_first=number == 0)
        if number + 1 < len(earlier):
            matching.end_run()
    async for batch in store.items(run.id):
        matching.add_after(batch, fields)
    return matching.match(fields)


def _edits(before: dict[str, Any], after: dict[str, Any]) -> list[Edit]:
    """Fields that differ, in the order of the later row."""
    return [
        Edit(field, before.get(field), after.get(field))
        for field in dict.fromkeys((*after, *before))
        if msgspec.json.encode(before.get(field), order="sorted")
        != msgspec.json.encode(after.get(field), order="sorted")
    ]
