"""Compare two runs of a task: new, changed and gone rows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any, cast

import msgspec

from smartspider.core.errors import NotFound, RequestInvalid
from smartspider.core.requests.request import fingerprint
from smartspider.core.requests.urls import CanonicalRules, canonical_url
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run, run_of
from smartspider.services.results.background import BackgroundThread
from smartspider.services.results.matching import Matching, MatchKey
from smartspider.store.results.rows import StoredItem
from smartspider.store.runs.records import UrlRecord
from smartspider.store.runs.store import RunStore
from smartspider.views.results import ChangeCounts, ChangeKind, RowChange, RowEdit


class Difference(msgspec.Struct, frozen=True):
    """The difference of two runs. `key` names what rows are matched by."""

    before: Run
    after: Run
    key: str
    counts: ChangeCounts
    _matching: Matching

    def changes(
        self, limit: int | None = None, *, kind: ChangeKind | None = None, after: int | None = None
    ) -> Iterator[RowChange]:
        """Yield new and changed rows in the order of the later run, then gone rows, at most `limit`.

        `kind` selects those of one kind, `after` is the id of the last change of the previous page.
        """
        left = self.counts.new + self.counts.changed + self.counts.gone if limit is None else limit
        is_of_gone = after is not None and run_of(after) == self.before.id
        if kind != "gone" and not is_of_gone:
            for item_id, url, data, old in self._matching.arrived(left, kind, after or 0):
                left -= 1
                row = msgspec.json.decode(data)
                if old is None:
                    yield RowChange("new", str(item_id), url, row)
                else:
                    edits = _edits(msgspec.json.decode(old), row)
                    yield RowChange("changed", str(item_id), url, row, edits)
        if kind in (None, "gone"):
            for item_id, url, data in self._matching.left(left, after or 0 if is_of_gone else 0):
                yield RowChange("gone", str(item_id), url, msgspec.json.decode(data))


@asynccontextmanager
async def diff_runs(
    store: RunStore, before: Run, after: Run, plan: Plan, fields: Sequence[str] = ()
) -> AsyncIterator[Difference]:
    """Compare two runs of a task; `plan` is that of the later one.

    Rows are matched by `fields`, else by the item key of the task, else by page URL if no page has two rows,
    else by their whole content, so that no row counts as changed. All rows pass through a temporary file, so
    memory use does not depend on their number.
    """
    if before.task_name != after.task_name:
        raise RequestInvalid(
            f"run {before.id} is of the task {before.task_name!r}, run {after.id} of {after.task_name!r}",
            hint="compare two runs of one task",
        )
    async with BackgroundThread() as thread:
        with Matching() as matching:
            key = await _load(thread, matching, store, ([before], after), key_fields(plan, fields))
            await _exclude_unseen(thread, matching, UnseenPages(store, before, after, plan.canonical), plan)
            counts = ChangeCounts(*await thread.run(matching.counts))
            yield Difference(before, after, key.text, counts, matching)


async def rows_of(
    store: RunStore, run: Run, plan: Plan, *, only_changes: bool
) -> AsyncIterator[Sequence[StoredItem]]:
    """Yield the rows of a run, or only those that are new or changed since earlier runs of the task."""
    earlier = await earlier_runs(store, run, plan) if only_changes else []
    async with aclosing(cast("Any", changed_rows(store, run, earlier, plan))) as batches:
        async for batch in batches:
            yield batch


async def changed_rows(
    store: RunStore, run: Run, earlier: Sequence[Run], plan: Plan
) -> AsyncIterator[Sequence[StoredItem]]:
    """Yield the rows of a run that are new or changed since earlier runs, in batches and in order.

    `earlier` is newest first: of a row in several runs, the newest counts. Without earlier runs, yield all
    rows.
    """
    if not earlier:
        async for batch in store.items(run.id):
            yield batch
        return
    async with BackgroundThread() as thread:
        with Matching() as matching:
            await _load(thread, matching, store, (earlier, run), key_fields(plan))
            async for batch in store.items(run.id):
                arrived = await thread.run(matching.arrived_ids, batch[0].id, batch[-1].id)
                if kept := [item for item in batch if item.id in arrived]:
                    yield kept


async def previous_run(store: RunStore, run: Run) -> Run:
    """Return the newest completed run of the same task before this one."""
    async for one in _completed_before(store, run, at_a_time=1):
        return one
    raise NotFound(
        f"there is no completed run of {run.task_name!r} before run {run.id}",
        hint="`smartspider run list` shows the runs there are",
    )


async def earlier_runs(store: RunStore, run: Run, plan: Plan) -> list[Run]:
    """Return the completed runs that decide which rows are new, newest first.

    That is the previous run; with a recrawl window, all runs that may have fetched the skipped pages.
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
    """Yield completed runs of the same task before this one, newest first."""
    before = run.id
    while page := await store.list_runs(
        task_id=run.task_id, states=("completed",), before=before, limit=at_a_time
    ):
        for one in page:
            yield one
        before = page[-1].id


def key_fields(plan: Plan, fields: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the fields that rows are matched by: the given ones, else the item key of the task, if any."""
    known = {name for page in plan.pages.values() for name in page.fields}
    if fields and known and not plan.pipeline:
        wrong = [field for field in fields if field not in known]
        if wrong:
            raise RequestInvalid(
                f"the task {plan.name!r} has no field {wrong[0]!r}", hint=f"it has {', '.join(sorted(known))}"
            )
    return tuple(fields) or next((key for key in plan.items.keys if key), ())


async def _load(
    thread: BackgroundThread,
    matching: Matching,
    store: RunStore,
    sides: tuple[Sequence[Run], Run],
    fields: tuple[str, ...],
) -> MatchKey:
    """Load the rows of both sides and match them."""
    earlier, run = sides
    for number, one in enumerate(earlier):
        add = partial(matching.add_before, is_first=number == 0)
        async for batch in store.items(one.id):
            await thread.run(add, batch, fields)
        if number + 1 < len(earlier):
            await thread.run(matching.end_run)
    async for batch in store.items(run.id):
        await thread.run(matching.add_after, batch, fields)
    return await thread.run(matching.match, fields)


async def _exclude_unseen(
    thread: BackgroundThread, matching: Matching, pages: UnseenPages, plan: Plan
) -> None:
    """Exclude rows whose pages the later run did not fetch."""
    drops_repeated = bool(plan.items.keys) and plan.items.scope == "task" and plan.items.keep == "first"
    if not drops_repeated and not pages.are_possible:
        return
    last = ""
    while urls := await thread.run(matching.left_urls, last):
        for url in urls:
            if drops_repeated or await pages.is_unseen(url):
                matching.exclude(url)
        last = urls[-1]
        await asyncio.sleep(0)


def _edits(before: dict[str, Any], after: dict[str, Any]) -> list[RowEdit]:
    """Return the fields that differ, in the order of the later row."""
    return [
        RowEdit(field, before.get(field), after.get(field))
        for field in dict.fromkeys((*after, *before))
        if msgspec.json.encode(before.get(field), order="sorted")
        != msgspec.json.encode(after.get(field), order="sorted")
    ]


FETCHED = frozenset({"done", "redirect", "missing"})
MAX_STEPS = 100
MAX_CACHED = 10_000


class UnseenPages:
    """Finds pages of an earlier run that a later run did not fetch.

    Such a page was skipped or failed, or is only linked from such a page.
    """

    def __init__(self, store: RunStore, before: Run, after: Run, rules: CanonicalRules) -> None:
        self._find = store.find_urls
        self._before, self._after = before, after
        self._print = partial(_print, rules=rules)
        self._cache: dict[str, bool] = {}

    @property
    def are_possible(self) -> bool:
        """True if the later run did not fetch all pages it found."""
        counters = self._after.counters
        return counters.skipped + counters.failed + counters.open > 0

    async def is_unseen(self, url: str) -> bool:
        """Return whether a page, or its first ancestor known to the later run, was not fetched."""
        path: list[str] = []
        answer, page = False, url
        while page not in path and len(path) < MAX_STEPS:
            path.append(page)
            if page in self._cache:
                answer = self._cache[page]
                break
            record = await self._record(page, self._after)
            if record is not None:
                answer = record.state not in FETCHED
                break
            earlier = await self._record(page, self._before)
            if earlier is None or earlier.parent is None:
                break
            page = earlier.parent
        if len(self._cache) > MAX_CACHED:
            self._cache.clear()
        self._cache.update(dict.fromkeys(path, answer))
        return answer

    async def _record(self, url: str, run: Run) -> UrlRecord | None:
        found = await self._find(self._print(url), run.id)
        return found[0] if found else None


def _print(url: str, *, rules: CanonicalRules) -> bytes:
    return fingerprint(canonical_url(url, rules))
