"""List, count and compare the rows of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import msgspec

from smartspider.core.datetimes import format_time
from smartspider.core.errors import NotFound, RequestInvalid
from smartspider.core.pages.extraction import Item
from smartspider.core.redaction.redactor import without_userinfo
from smartspider.core.requests.request import content_fingerprint
from smartspider.core.runs.run import Run, run_of
from smartspider.installation.installation import Installation
from smartspider.outputs.cells import decode_row, encode_row
from smartspider.services.inputs import parse_cursor, parse_id, to_page
from smartspider.services.plans import load_plan, run_columns, untuned_plan
from smartspider.services.results.background import BackgroundThread
from smartspider.services.results.diff import diff_runs, previous_run
from smartspider.services.results.filters import parse_fields, parse_sort, parse_where
from smartspider.services.runs.lookup import newest_run
from smartspider.services.tasks.tasks import find_task
from smartspider.store.results.rows import RowQuery, StoredItem
from smartspider.store.runs.records import StoredChange
from smartspider.store.runs.store import RunStore
from smartspider.views.arguments import RunArguments
from smartspider.views.listed import Listed
from smartspider.views.results import (
    ChangeKind,
    CleaningView,
    CoverageView,
    DifferenceView,
    FieldCoverage,
    RejectView,
    ResultCountView,
    ResultView,
)

MAX_LINES_READ = 20_000
"""Maximum number of lines of the cleaning log that one filtered page reads."""


class RowSource(msgspec.Struct, frozen=True):
    """A run, or the newest run of a task, by ids as given."""

    run_id: str | None = None
    task_id: str | None = None


class RowSelection(msgspec.Struct, frozen=True):
    """Conditions, fields and sort order as given."""

    where: Sequence[str] = ()
    fields: str | None = None
    sort: str | None = None


def row_source(arguments: RunArguments) -> RowSource:
    """Return the source that arguments name; an empty id counts as omitted."""
    return RowSource(arguments.get("run_id") or None, arguments.get("task_id") or None)


async def find_run(installation: Installation, source: RowSource) -> Run | None:
    """Return the run of a source; None if the task has no run yet. Its plan is at hand afterwards."""
    run = await _find_run(installation, source)
    if run is not None:
        await load_plan(installation.offload, run)
    return run


async def _find_run(installation: Installation, source: RowSource) -> Run | None:
    if source.run_id is None and source.task_id is None:
        raise RequestInvalid("neither a run nor a task is specified", hint="specify task_id or run_id")
    task = None if source.task_id is None else await find_task(installation, source.task_id, or_deleted=True)
    if source.run_id is not None:
        run = await get_run(installation.store, source.run_id)
        if task is not None and run.task_id != task.id:
            raise NotFound(
                f"run {run.id} does not belong to the task {task.name!r}",
                hint=f"it belongs to {run.task_name!r}",
            )
        return run
    assert task is not None  # noqa: S101 - one of the two was given
    return await newest_run(installation.store, task.id)


async def find_existing_run(installation: Installation, source: RowSource) -> Run:
    """Return the run of a source; raise `NotFound` if the task has no run yet."""
    run = await find_run(installation, source)
    if run is None:
        raise NotFound(f"the task {source.task_id!r} has no run yet", hint="start it first")
    return run


async def get_run(store: RunStore, text: str) -> Run:
    """Return the run with an id as given."""
    return await store.get_run(parse_id(text, "run"))


async def list_rows(
    installation: Installation, source: RowSource, choice: RowSelection, *, cursor: str | None, limit: int
) -> Listed[ResultView]:
    """List rows."""
    run = await find_run(installation, source)
    if run is None:
        return Listed([], None)
    known = known_fields(run) if choice.where or choice.sort or choice.fields is not None else []
    sort, is_descending = parse_sort(choice.sort, known) if choice.sort else (None, False)
    fields = None if choice.fields is None else parse_fields(choice.fields, known)
    query = RowQuery(run.id, parse_where(choice.where, known), sort, is_descending)
    page = await installation.results.rows(query, cursor=cursor, limit=limit)
    return Listed([row_view(item, fields) for item in page.rows], page.next)


async def get_row(installation: Installation, row_id: str) -> ResultView:
    """Return a row by its id; raise `NotFound`."""
    found = await installation.results.row(parse_id(row_id, "row"))
    if found is None:
        raise NotFound(f"there is no row {row_id}", hint="list the rows of a run to find the id")
    return row_view(found)


async def count_rows(
    installation: Installation, source: RowSource, where: Sequence[str], *, at_most: int
) -> ResultCountView:
    """Count rows, up to `at_most`."""
    run = await find_run(installation, source)
    if run is None:
        return ResultCountView(None, 0, complete=True)
    conditions = parse_where(where, known_fields(run)) if where else ()
    found, is_all = await installation.results.count(RowQuery(run.id, conditions), at_most=at_most)
    return ResultCountView(str(run.id), found, is_all)


async def get_coverage(
    installation: Installation, source: RowSource, fields: str | None, *, sample: int
) -> CoverageView:
    """Return the fill rate of the given fields, or of all fields of the task."""
    run = await find_run(installation, source)
    if run is None:
        return CoverageView(None, 0, 0, [])
    known = known_fields(run)
    wanted = known if fields is None else parse_fields(fields, known)
    found = await installation.results.field_fill(run.id, wanted, sample=sample)
    kinds = {column.name: column.kind for column in run_columns(run)}
    views = [
        FieldCoverage(
            *(one.field, one.filled, one.filled / one.rows if one.rows else 0.0, one.examples),
            kinds[one.field],
        )
        for one in found
    ]
    sampled = found[0].rows if found else 0
    return CoverageView(str(run.id), run.counters.items, sampled, views)


async def list_rejects(
    installation: Installation, source: RowSource, *, cursor: str | None, limit: int
) -> Listed[RejectView]:
    """List rejected items, oldest first."""
    run, after = await find_run(installation, source), parse_cursor(cursor) or 0
    found = [] if run is None else await installation.store.rejects(run.id, limit=limit + 1, after=after)
    return to_page(
        found, limit, lambda one: one.id, lambda one: RejectView(**step_log_view(one, "value", "data"))
    )


async def list_cleaning(
    installation: Installation,
    source: RowSource,
    only: tuple[str | None, str | None],
    *,
    page_id: str | None,
    cursor: str | None,
    limit: int,
) -> Listed[CleaningView]:
    """List the cleaning log of a run, or of one of its requests, oldest first; `only` is a field and a step
    to filter by.
    """
    run, after = await find_run(installation, source), parse_cursor(cursor) or 0
    shown: list[CleaningView] = []
    if run is None:
        return Listed(shown, None)
    read = partial(installation.store.cleaning, run.id, limit=BATCH)
    if page_id is not None:
        page = parse_id(page_id, "request")
        if run_of(page) != run.id:
            raise NotFound(f"run {run.id} has no request {page}", hint="list its requests to find the id")
        read = partial(installation.diagnostics.changes, page, limit=BATCH)
    for _ in range(0, MAX_LINES_READ, BATCH):
        batch = await read(after=after)
        for one in batch:
            if _is_of(one, *only):
                if len(shown) == limit:
                    return Listed(shown, shown[-1].id)
                shown.append(CleaningView(**step_log_view(one, "before", "after")))
        if len(batch) < BATCH:
            return Listed(shown, None)
        after = batch[-1].id
        await asyncio.sleep(0)
    return Listed(shown, str(after))


def _is_of(change: StoredChange, field: str | None, step: str | None) -> bool:
    """Apply the filter of the store to a bounded number of lines."""
    is_step = step is None or change.step == step or change.step.endswith(f" {step}")
    return is_step and field in (None, change.field)


async def diff_rows(
    installation: Installation,
    slot: AbstractContextManager[None],
    source: RowSource,
    other: str | None,
    key: str,
    *,
    kind: ChangeKind | None,
    cursor: str | None,
    limit: int,
) -> DifferenceView:
    """Return the changes since another run of the task, by default the previous completed one.

    `slot` is held while rows are compared.
    """
    position = parse_cursor(cursor)
    after = await find_existing_run(installation, source)
    before = (
        await previous_run(installation.store, after)
        if other is None
        else await get_run(installation.store, other)
    )
    if position is not None and run_of(position) not in {before.id, after.id}:
        raise RequestInvalid(f"{position} is no change of these runs", hint="use `next` of the previous page")
    fields = [name.strip() for name in key.split(",") if name.strip()]
    with slot:
        async with (
            BackgroundThread() as thread,
            diff_runs(installation.store, before, after, untuned_plan(after), fields) as found,
        ):
            changes = await thread.run(lambda: list(found.changes(limit + 1, kind=kind, after=position)))
            page = to_page(changes, limit, lambda change: change.id, lambda change: change)
            ids = str(before.id), str(after.id)
            return DifferenceView(*ids, found.key, found.counts, page.items, page.next is not None, page.next)


def known_fields(run: Run) -> list[str]:
    """Return the fields of the rows of a run."""
    return [column.name for column in run_columns(run)]


def row_view(item: StoredItem, fields: Sequence[str] | None = None) -> ResultView:
    """Return the view of a row, or of some of its fields."""
    data = item.data if fields is None else encode_row(select_fields(decode_row(item.data), fields))
    return ResultView(
        str(item.id),
        str(item.run_id),
        str(item.page_id),
        without_userinfo(item.url),
        msgspec.Raw(data),
        content_fingerprint(item.data).hex(),
        format_time(item.created_at),
    )


def select_fields(row: Item, fields: Sequence[str]) -> Item:
    """Return some fields of a row in the given order; a missing field is null."""
    return {name: row.get(name) for name in fields}


BATCH = 1000


def step_log_view(stored: msgspec.Struct, *values: str) -> dict[str, Any]:
    """Return the view of a row: ids as text, values decoded."""
    view = msgspec.structs.asdict(stored)
    view["id"], view["run_id"] = str(view["id"]), str(view["run_id"])
    return {**view, **{name: msgspec.json.decode(view[name]) for name in values}}
