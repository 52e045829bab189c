"""Ledger 16 and 17: pages that are unchanged since an earlier run."""

from __future__ import annotations

import msgspec
import pytest

from smartspider.core.items.dedup import ItemDedup
from smartspider.core.pages.extraction import Item
from smartspider.core.requests.recrawl import RecrawlPolicy
from smartspider.core.requests.request import Extras
from smartspider.core.runs.plan import RunLimits
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import (
    items,
    record,
    settle,
    states,
    take,
    take_one,
    url,
)
from smartspider_testing.contracts.backend import Backend, BackendContract
from smartspider_testing.contracts.ledger.revisit_actions import (
    DAY,
    ROWS,
    V1,
    V2,
    at_depth,
    finish,
    first_run,
    read,
    start,
    unchanged,
    versions,
)

CONDITIONAL = RecrawlPolicy(conditional=True)


class UnchangedContract(BackendContract):
    """An unchanged page yields its earlier rows and links, or is fetched in full if they are gone."""

    async def test_an_unchanged_page_gives_its_rows_and_links_again(self, backend: Backend) -> None:
        """Ledger 16: children that only it leads to are found."""
        run, worker = await start(backend, CONDITIONAL, "e")
        deep = msgspec.structs.replace(url("c", priority=3), depth=1, extras=Extras(meta={"k": [1]}))
        await settle(backend, read(await take_one(backend, worker, run), deep, rows=ROWS, version=V2))
        await settle(backend, read(await take_one(backend, worker, run), version=V1))
        await finish(backend, run)
        for _ in range(2):  # reused rows are remembered again
            run, worker = await start(backend, CONDITIONAL, "e")
            lease = await take_one(backend, worker, run)
            assert lease.request.extras.version == V2
            report = await settle(backend, unchanged(lease))
            assert (report.items, report.new_urls, report.stored) == (2, 1, [lease.url_id])
            assert await items(backend, run) == ROWS
            assert [list(item) for item in await items(backend, run)] == [["b", "a"], ["b", "a"]]
            entry = await record(backend, run, "e")
            assert (entry.state, entry.status, entry.items, entry.reason) == ("done", 304, 2, "not modified")
            lease = await take_one(backend, worker, run)
            child = msgspec.structs.replace(lease.request, parent=None)
            assert child == msgspec.structs.replace(
                deep, extras=msgspec.structs.replace(deep.extras, version=V1)
            )
            await settle(backend, unchanged(lease))
            await finish(backend, run)

    async def test_an_unchanged_page_at_another_depth_leads_further_from_there(
        self, backend: Backend
    ) -> None:
        """Ledger 16."""
        run, worker = await start(backend, CONDITIONAL, "e")
        await settle(backend, read(await take_one(backend, worker, run), at_depth(url("p"), 1)))
        await settle(backend, read(await take_one(backend, worker, run), at_depth(url("c"), 2), version=V1))
        await settle(backend, read(await take_one(backend, worker, run)))
        await finish(backend, run)
        run, worker = await start(backend, CONDITIONAL, "p")
        await settle(backend, unchanged(await take_one(backend, worker, run)))
        assert (await record(backend, run, "c")).depth == 1

    async def test_next_pages_of_an_unchanged_page_stay_next_pages(self, backend: Backend) -> None:
        """Ledger 16 and 13: its rows are compared like any others."""
        dedup = ItemDedup(keys=(("name",),), scope="task")
        more = [msgspec.structs.replace(url("p2"), is_next_page=True)]
        run, worker = await start(backend, CONDITIONAL, "e", items=dedup)
        row: Item = {"name": "x"}
        lease = await take_one(backend, worker, run)
        keys = [dedup.keys_of(row)]
        await settle(backend, read(lease, rows=[row], version=V1, next_pages=more, keys=keys))
        assert await states(backend, run, "p2") == ["open"]
        await settle(backend, read(await take_one(backend, worker, run)))
        await finish(backend, run)
        run, worker = await start(backend, CONDITIONAL, "e", items=dedup)
        await settle(backend, unchanged(await take_one(backend, worker, run)))
        counters = (await finish(backend, run)).counters
        assert (counters.total, counters.items, counters.duplicates) == (1, 0, 1)

    async def test_an_unchanged_page_gives_what_was_a_duplicate_then(self, backend: Backend) -> None:
        """Ledger 16 and 11: what else had the row may have lost it since."""
        dedup = ItemDedup(keys=(("name",),))
        row: Item = {"name": "x"}
        keys = [dedup.keys_of(row)]
        run, worker = await start(backend, CONDITIONAL, "a", "b", items=dedup)
        a, b = await take(backend, worker, run)
        await settle(backend, read(a, rows=[row], keys=keys), read(b, rows=[row], keys=keys, version=V1))
        await finish(backend, run)
        run, worker = await start(backend, CONDITIONAL, "a", "b", items=dedup)
        a, b = await take(backend, worker, run)
        await settle(backend, read(a, rows=[]), unchanged(b))
        assert await items(backend, run) == [row]

    async def test_rows_beyond_a_limit_come_with_an_unchanged_page(self, backend: Backend) -> None:
        """Ledger 16 and 6."""
        run, worker = await start(backend, CONDITIONAL, "e", limits=RunLimits(max_items=1))
        await settle(backend, read(await take_one(backend, worker, run), rows=ROWS, version=V1))
        assert await items(backend, run) == ROWS[:1]
        await finish(backend, run)
        run, worker = await start(backend, CONDITIONAL, "e")
        await settle(backend, unchanged(await take_one(backend, worker, run)))
        assert await items(backend, run) == ROWS

    @pytest.mark.parametrize("other", ["task", "meta", "page type", "depth"])
    async def test_a_page_is_only_asked_about_when_it_would_be_read_alike(
        self, backend: Backend, other: str
    ) -> None:
        """Ledger 16: rows made by other rules, or with other values carried along, are not taken again."""
        recrawl = RecrawlPolicy(conditional=True, is_by_depth=other == "depth")
        await first_run(backend, recrawl, at_depth(url("p"), 1), at_depth(url("q"), 1))
        spec_hash = "edited" if other == "task" else "hash"
        p = {
            "task": at_depth(url("p"), 1),
            "meta": msgspec.structs.replace(at_depth(url("p"), 1), extras=Extras(meta={"price": 2})),
            "page type": msgspec.structs.replace(at_depth(url("p"), 1), page="other"),
            "depth": at_depth(url("p"), 2),
        }[other]
        run, worker = await start(backend, recrawl, "e", spec_hash=spec_hash)
        await settle(backend, read(await take_one(backend, worker, run), p, at_depth(url("q"), 1)))
        known = None if other == "task" else V1
        assert await versions(backend, worker, run) == {"p": None, "q": known}

    async def test_a_page_whose_memory_is_gone_is_asked_for_in_full(self, backend: Backend) -> None:
        """Ledger 16: at once, without using up an attempt, and without the version."""
        before = await first_run(backend, CONDITIONAL, url("p"))
        run, worker = await start(backend, CONDITIONAL, "e")
        assert [await backend.store.is_compared_with(one.id) for one in (before, run)] == [True, False]
        await settle(backend, read(await take_one(backend, worker, run), url("p")))
        lease = await take_one(backend, worker, run)
        assert lease.request.extras.version == V1
        await backend.store.delete_run(before.id)
        report = await settle(backend, unchanged(lease))
        assert (report.closed, report.late, report.stored) == (0, 0, [])
        again = await take_one(backend, worker, run)
        assert (again.url_id, again.attempts, again.request.extras) == (lease.url_id, 0, Extras())
        await settle(backend, read(again, rows=[{"name": "p"}]))
        assert await items(backend, run) == [{"name": "p"}]
        assert (await finish(backend, run)).counters.dead == 0

    async def test_a_page_that_was_read_anew_meanwhile_is_asked_for_in_full(self, backend: Backend) -> None:
        """Ledger 16: the version that did not change must be the one that is remembered."""
        await first_run(backend, CONDITIONAL, url("p"))
        run, worker = await start(backend, CONDITIONAL, "e")
        await settle(backend, read(await take_one(backend, worker, run), url("p")))
        lease = await take_one(backend, worker, run)
        await backend.store.set_state(run.id, "paused")
        other, helper = await start(backend, CONDITIONAL, "p")
        await settle(backend, read(await take_one(backend, helper, other), rows=ROWS, version=V2))
        await settle(backend, unchanged(lease))
        await backend.store.set_state(run.id, "running")
        assert await versions(backend, worker, run) == {"p": None}

    async def test_a_late_word_that_nothing_changed_adds_nothing(self, backend: Backend) -> None:
        """Ledger 16 and 2."""
        await first_run(backend, CONDITIONAL, url("p"))
        run, worker = await start(backend, CONDITIONAL, "e")
        await settle(backend, read(await take_one(backend, worker, run), url("p")))
        lease = await take_one(backend, worker, run)
        await settle(backend, unchanged(lease))
        report = await settle(backend, unchanged(lease))
        assert (report.closed, report.late, report.items) == (0, 1, 0)
        assert await items(backend, run) == [{"name": "p"}]

    async def test_a_page_without_a_version_is_fetched_in_full(self, backend: Backend) -> None:
        """Ledger 16: and one whose server gave a version up is, too."""
        await first_run(backend, CONDITIONAL, url("p"))
        run, worker = await start(backend, CONDITIONAL, "p")
        await settle(backend, read(await take_one(backend, worker, run)))
        await finish(backend, run)
        run, worker = await start(backend, CONDITIONAL, "p")
        assert await versions(backend, worker, run) == {"p": None}

    async def test_what_a_worker_took_with_it_is_asked_for_again_with_its_version(
        self, backend: Backend
    ) -> None:
        """Ledger 16: a kill between the answer and the settle loses nothing."""
        await first_run(backend, CONDITIONAL, url("p"))
        run, worker = await start(backend, CONDITIONAL, "e")
        await settle(backend, read(await take_one(backend, worker, run), url("p")))
        lost = await take_one(backend, worker, run)
        await backend.lose(worker)
        await backend.frontier.reclaim()
        worker = await backend.frontier.join(WorkerRegistration("w2"))
        lease = await take_one(backend, worker, run)
        assert (lease.url_id, lease.request.extras.version) == (lost.url_id, V1)
        await settle(backend, unchanged(lease))
        await settle(backend, unchanged(lost))
        assert await items(backend, run) == [{"name": "p"}]

    async def test_a_deleted_run_is_forgotten(self, backend: Backend) -> None:
        """Ledger 17, Store 5."""
        both = RecrawlPolicy(window_s=7 * DAY, conditional=True)
        before = await first_run(backend, both, url("p"))
        await backend.store.delete_run(before.id)
        run, worker = await start(backend, both, "e")
        await settle(backend, read(await take_one(backend, worker, run), url("p")))
        assert await versions(backend, worker, run) == {"p": None}
