"""What changed between runs, over a real store."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from smartspider.core.errors import NotFound, RequestInvalid
from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.items.dedup import ItemDedup
from smartspider.core.pages.extraction import Item
from smartspider.core.pages.rules import FieldRule, PagePlan, ValueRule
from smartspider.core.requests.recrawl import RecrawlPolicy
from smartspider.core.requests.request import make_request
from smartspider.core.requests.scope import UrlScope
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.services.results.diff import (
    Difference,
    changed_rows,
    diff_runs,
    earlier_runs,
    previous_run,
    rows_of,
)
from smartspider.views.results import ChangeCounts, RowChange
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock

FIELDS: dict[str, FieldRule] = {name: ValueRule("css", "p") for name in ("sku", "price", "note")}
Pages = dict[str, Sequence[Item] | str]
"""Paths with their rows, or the state they end in."""


class Shop:
    """Runs of one task, each told by what its pages gave."""

    def __init__(self, backend: SqliteBackend) -> None:
        self.backend = backend
        self.store = backend.store
        self._next = 0.0

    def plan(self, *paths: str, name: str = "shop", **more: Any) -> Plan:
        entries = tuple(make_request(url(path), is_entry=True) for path in paths)
        pages = {"default": PagePlan("default", fields=FIELDS)}
        return Plan(name, b"{}", "hash", entries, pages, UrlScope(), **more)

    async def run(self, pages: Pages, *, name: str = "shop", ends: bool = True, **more: Any) -> Run:
        """A run whose entries are these pages."""
        run = await self.store.create_run(
            msgspec.structs.replace(self.plan(*pages, name=name, **more), concurrency=64)
        )
        await self.store.set_state(run.id, "running")
        worker = await self.backend.frontier.join(WorkerRegistration("w"))
        for _ in pages:
            await self.backend.clock.advance(1.0)
            (lease,) = (await self.backend.frontier.lease(worker, 1, [run.id])).leases
            given = pages[lease.request.url.removeprefix(url(""))]
            verdict = Close(given) if isinstance(given, str) else Close("done", items=list(given))  # type: ignore[arg-type] # a state
            await self.backend.ledger.settle([Settlement(lease, verdict)])
        return await self.store.finish(run.id) if ends else await self.store.get_run(run.id)

    async def compare(self, before: Run, after: Run, *key: str, **more: Any) -> Seen:
        async with diff_runs(self.store, before, after, self.plan(**more), key) as found:
            return Seen(found, list(found.changes()))

    async def changed(self, run: Run, *earlier: Run, **more: Any) -> list[Item]:
        batches = changed_rows(self.store, run, earlier, self.plan(**more))
        return [json.loads(item.data) async for batch in batches for item in batch]


class Seen:
    """A difference, read to its end."""

    def __init__(self, found: Difference, changes: list[RowChange]) -> None:
        self.key, self.counts, self.changes = found.key, found.counts, changes

    @property
    def short(self) -> list[str]:
        """`+ row`, `~ field before after`, `- row`."""
        lines = []
        for change in self.changes:
            if change.kind == "changed":
                lines += [f"~ {edit.field} {edit.before} {edit.after}" for edit in change.edits]
            else:
                lines.append(f"{'+' if change.kind == 'new' else '-'} {change.row['sku']}")
        return lines


def url(path: str) -> str:
    return f"http://shop.example/{path}"


def row(sku: str | None, price: object = 1, note: object = None) -> Item:
    return {"sku": sku, "price": price, "note": note}


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    backend = SqliteBackend(tmp_path, ManualClock())
    yield Shop(backend)
    await backend.close()


async def test_rows_are_new_changed_gone_or_as_they_were(shop: Shop) -> None:
    before = await shop.run({"l": [row("a"), row("b"), row("c", 3)]})
    after = await shop.run({"l": [row("d"), row("b"), row("c", 4, ["x"])]})
    seen = await shop.compare(before, after, "sku")
    assert seen.counts == ChangeCounts(new=1, changed=1, gone=1, unchanged=1)
    assert seen.short == ["+ d", "~ price 3 4", "~ note None ['x']", "- a"]
    assert seen.changes[1].row == row("c", 4, ["x"])
    assert {change.url for change in seen.changes} == {url("l")}
    assert seen.key == "sku"


async def test_the_fields_that_tell_items_apart_are_the_key_of_a_task(shop: Shop) -> None:
    before = await shop.run({"l": [row("a", 1), row("b")]})
    after = await shop.run({"l": [row("a", 2), row("b")]})
    dedup = ItemDedup(keys=((), ("sku",)))
    assert (await shop.compare(before, after, items=dedup)).short == ["~ price 1 2"]


async def test_a_page_with_one_row_is_its_key(shop: Shop) -> None:
    before = await shop.run({"a": [row("a", 1)], "b": [row("b")]})
    after = await shop.run({"a": [row("renamed", 2)], "c": [row("c")]})
    seen = await shop.compare(before, after)
    assert (seen.key, seen.short) == ("page URL", ["~ sku a renamed", "~ price 1 2", "+ c", "- b"])


@pytest.mark.parametrize("is_later", [True, False])
async def test_where_a_page_has_several_rows_only_their_content_counts(shop: Shop, is_later: bool) -> None:
    many = await shop.run({"l": [row("a", 1), row("b")]})
    one = await shop.run({"l": [row("a", 2)]})
    before, after = (one, many) if is_later else (many, one)
    seen = await shop.compare(before, after)
    assert (seen.key, seen.counts.changed) == ("content", 0)
    assert seen.short == (["+ a", "+ b", "- a"] if is_later else ["+ a", "- a", "- b"])


async def test_rows_with_one_key_are_paired_equal_ones_first(shop: Shop) -> None:
    before = await shop.run({"l": [row("a", 1), row("a", 2), row("a", 3)]})
    after = await shop.run({"l": [row("a", 9), row("a", 3), row("a", 1), row("a", 8), row("a", 7)]})
    seen = await shop.compare(before, after, "sku")
    assert seen.counts == ChangeCounts(new=2, changed=1, gone=0, unchanged=2)
    assert seen.short == ["~ price 2 9", "+ a", "+ a"]


async def test_rows_without_a_key_are_recognised_by_their_content(shop: Shop) -> None:
    before = await shop.run({"l": [row(None, 1), row(None, 2)]})
    after = await shop.run({"l": [row(None, 2), row(None, 3)]})
    seen = await shop.compare(before, after, "sku")
    assert seen.counts == ChangeCounts(new=1, gone=1, unchanged=1)


async def test_the_order_of_fields_and_null_or_missing_are_no_change(shop: Shop) -> None:
    before = await shop.run({"l": [{"sku": "a", "price": {"x": 1, "y": 2}}]})
    after = await shop.run({"l": [{"note": None, "price": {"y": 2, "x": 1}, "sku": "a"}]})
    assert (await shop.compare(before, after, "sku")).counts == ChangeCounts(unchanged=1)


async def test_numbers_and_booleans_are_told_apart(shop: Shop) -> None:
    before = await shop.run({"l": [row("a", 1), row("b", 0), row("c", 1)]})
    after = await shop.run({"l": [row("a", 1.5), row("b", False), row("c", "1")]})
    seen = await shop.compare(before, after, "sku")
    assert seen.short == ["~ price 1 1.5", "~ price 0 False", "~ price 1 1"]


async def test_several_fields_make_a_key_together(shop: Shop) -> None:
    before = await shop.run({"l": [row("a", 1, "x"), row("a", 2)]})
    after = await shop.run({"l": [row("a", 1, "y"), row("a", 3)]})
    assert (await shop.compare(before, after, "sku", "price")).short == ["~ note x y", "+ a", "- a"]


async def test_only_so_many_are_listed(shop: Shop) -> None:
    before = await shop.run({"l": [row("a"), row("b")]})
    after = await shop.run({"l": [row("c"), row("d")]})
    for limit, kinds in ((0, []), (1, ["new"]), (3, ["new", "new", "gone"])):
        async with diff_runs(shop.store, before, after, shop.plan(), ["sku"]) as found:
            assert [change.kind for change in found.changes(limit)] == kinds
            assert (found.counts.new, found.counts.gone) == (2, 2)


async def test_nothing_against_nothing_is_no_difference(shop: Shop) -> None:
    before, after = await shop.run({"l": []}), await shop.run({"l": []})
    assert (await shop.compare(before, after)).counts == ChangeCounts()


@pytest.mark.parametrize(("state", "kind"), [("missing", "gone"), ("dead", "unseen"), ("skipped", "unseen")])
async def test_rows_of_pages_that_were_not_looked_at_are_not_gone(shop: Shop, state: str, kind: str) -> None:
    before = await shop.run({"a": [row("a")], "b": [row("b")]})
    after = await shop.run({"a": state, "b": [row("b")]})
    seen = await shop.compare(before, after)
    assert seen.counts == ChangeCounts(unchanged=1, **{kind: 1})
    assert seen.short == (["- a"] if kind == "gone" else [])


async def test_what_is_gone_is_listed_without_what_is_unknown(shop: Shop) -> None:
    before = await shop.run({"a": [row("a")], "b": [row("b")]})
    after = await shop.run({"a": "dead", "x": []})
    seen = await shop.compare(before, after)
    assert (seen.counts, seen.short) == (ChangeCounts(gone=1, unseen=1), ["- b"])


async def test_rows_that_a_run_leaves_out_as_known_are_not_gone(shop: Shop) -> None:
    before = await shop.run({"l": [row("a"), row("b")]})
    after = await shop.run({"l": [row("c")]})
    first, last = (ItemDedup(keys=(("sku",),), scope="task", keep=keep) for keep in ("first", "last"))
    assert (await shop.compare(before, after, items=first)).counts == ChangeCounts(new=1, unseen=2)
    assert (await shop.compare(before, after, items=last)).counts == ChangeCounts(new=1, gone=2)


async def test_rows_behind_a_page_that_was_not_looked_at_are_not_gone(shop: Shop) -> None:
    run = await chain(shop, "list", "detail", "deep")
    assert run.counters.items == 1
    later = await shop.run({"list": "dead", "x": []})
    seen = await shop.compare(run, later)
    assert (seen.counts.gone, seen.counts.unseen) == (0, 1)
    later = await shop.run({"list": [], "x": "dead"})
    assert (await shop.compare(run, later)).counts.gone == 1


async def chain(shop: Shop, *paths: str) -> Run:
    """A run in which each page leads to the next, and the last has a row."""
    run = await shop.store.create_run(shop.plan(paths[0]))
    await shop.store.set_state(run.id, "running")
    worker = await shop.backend.frontier.join(WorkerRegistration("w"))
    for path, following in zip(paths, (*paths[1:], None), strict=True):
        await shop.backend.clock.advance(1.0)
        (lease,) = (await shop.backend.frontier.lease(worker, 1, [run.id])).leases
        assert lease.request.url == url(path)
        children = [make_request(url(following))] if following else []
        verdict = Close("done", items=[] if following else [row(path)], children=children)
        await shop.backend.ledger.settle([Settlement(lease, verdict)])
    return await shop.store.finish(run.id)


async def test_runs_of_two_tasks_are_not_compared(shop: Shop) -> None:
    one, other = await shop.run({"l": []}), await shop.run({"l": []}, name="other")
    with pytest.raises(RequestInvalid, match="run 1 is of the task 'shop', run 2 of 'other'"):
        await shop.compare(one, other)


async def test_a_key_must_be_a_field(shop: Shop) -> None:
    before, after = await shop.run({"l": []}), await shop.run({"l": []})
    with pytest.raises(RequestInvalid, match="has no field 'skuu'"):
        await shop.compare(before, after, "skuu")


async def test_only_new_and_changed_rows_are_given(shop: Shop) -> None:
    before = await shop.run({"l": [row("a"), row("b"), row("c", 3)]})
    after = await shop.run({"l": [row("d"), row("b"), row("c", 4)]})
    dedup = ItemDedup(keys=(("sku",),))
    assert await shop.changed(after, before, items=dedup) == [row("d"), row("c", 4)]
    assert await shop.changed(after, after, items=dedup) == []


async def test_all_rows_are_changes_when_nothing_came_before(shop: Shop) -> None:
    run = await shop.run({"l": [row("a"), row("a")]})
    assert await shop.changed(run) == [row("a"), row("a")]


async def test_of_several_runs_before_the_newest_counts(shop: Shop) -> None:
    """Where pages are left alone for a while, the last run does not have all that is known."""
    oldest = await shop.run({"a": [row("a", 1)], "b": [row("b", 1)], "c": [row("c", 1)]})
    newer = await shop.run({"a": [row("a", 2)], "c": "skipped"})
    run = await shop.run({"a": [row("a", 1)], "b": [row("b", 1)], "c": [row("c", 5)]})
    assert await shop.changed(run, newer, oldest) == [row("a", 1), row("c", 5)]


async def test_the_run_before_is_the_last_that_was_completed(shop: Shop) -> None:
    first = await shop.run({"l": [row("a")]})
    with pytest.raises(NotFound, match="no completed run of 'shop' before run 1"):
        await previous_run(shop.store, first)
    await shop.run({"l": [row("a")]}, name="other")
    unfinished = await shop.run({"l": [row("b")]}, ends=False)
    await shop.store.set_state(unfinished.id, "cancelled")
    failed = await shop.run({"l": "dead"})
    assert failed.state == "failed"
    last = await shop.run({"l": [row("c")]})
    assert (await previous_run(shop.store, last)).id == first.id


async def test_runs_that_a_window_reaches_back_to_count_as_before(shop: Shop) -> None:
    plain, window = shop.plan(), shop.plan(recrawl=RecrawlPolicy(window_s=100.0))
    far = await shop.run({"l": []})
    await shop.backend.clock.advance(200.0)
    near = await shop.run({"l": []})
    await shop.backend.clock.advance(50.0)
    before = await shop.run({"l": []})
    run = await shop.run({"l": []})
    assert await ids(shop, run, window) == [before.id, near.id]
    assert await ids(shop, run, plain) == [before.id]
    assert await ids(shop, far, window) == []


async def ids(shop: Shop, run: Run, plan: Plan) -> list[int]:
    return [one.id for one in await earlier_runs(shop.store, run, plan)]


async def test_the_rows_of_a_run_are_all_of_them_unless_only_changes_are_wanted(shop: Shop) -> None:
    await shop.run({"a": [row("a")], "b": [row("b")]})
    run = await shop.run({"a": [row("a")], "b": [row("b", 2)]})

    async def given(*, only_changes: bool) -> list[Item]:
        batches = rows_of(shop.store, run, shop.plan(), only_changes=only_changes)
        return [json.loads(item.data) async for batch in batches for item in batch]

    assert await given(only_changes=False) == [row("a"), row("b", 2)]
    assert await given(only_changes=True) == [row("b", 2)]
