"""Ledger 7, rule 11: redirects that landed."""

from __future__ import annotations

import pytest

from smartspider.core.workers import WorkerCard
from smartspider_testing.contracts.acts import (
    HOST,
    begin,
    closed,
    crawl,
    done,
    failed,
    items,
    landed,
    record,
    settle,
    states,
    take,
    take_one,
    url,
    urls,
)
from smartspider_testing.contracts.ground import Ground, OnGround

ONE, TWO = [{"n": 1}], [{"n": 2}]


class LandingContract(OnGround):
    """A redirect closes both rows at once, and the landing page is stored once."""

    async def test_a_landing_nobody_knew_is_stored_with_its_source(self, ground: Ground) -> None:
        """Ledger 7: items and children belong to the landing page."""
        run = await begin(ground, "a")
        worker = await ground.frontier.join(WorkerCard("w"))
        report = await settle(
            ground, landed(await take_one(ground, worker, run), url("b"), url("c"), items=ONE)
        )
        assert (report.items, report.late) == (1, 0)
        source, target = await record(ground, run, "a"), await record(ground, run, "b")
        assert (source.state, source.target, source.items) == ("redirect", target.url, 0)
        assert (target.state, target.items, target.parent) == ("done", 1, source.url)
        assert (await record(ground, run, "c")).parent == target.url
        assert await crawl(ground, worker, run) == {f"http://{HOST}/c": 1}
        counters = (await ground.store.finish(run.id)).counters
        assert (counters.total, counters.done, counters.redirect, counters.open) == (3, 2, 1, 0)

    @pytest.mark.parametrize("place", ["queued", "waiting", "leased"])
    async def test_a_landing_that_is_live_is_closed_where_it_is(self, ground: Ground, place: str) -> None:
        """Ledger 7: it is handed out no more, and its holder adds nothing."""
        run = await begin(ground, "a", "b", per_host=2)
        worker = await ground.frontier.join(WorkerCard("w"))
        a, b = await take(ground, worker, run)
        if place == "waiting":
            await settle(ground, failed(b, delay_s=5.0))
        elif place == "queued":
            await ground.frontier.release([b])
        await settle(ground, landed(a, url("b"), items=ONE))
        assert await states(ground, run, "a", "b") == ["redirect", "done"]
        await ground.clock.advance(10.0)
        assert await take(ground, worker, run) == []
        assert (await ground.store.finish(run.id)).state == "completed"
        await settle(ground, done(b, url("late"), items=TWO))
        assert await items(ground, run) == ONE
        assert (await ground.store.get_run(run.id)).in_flight == 0

    async def test_a_landing_that_was_settled_already_gets_nothing_more(self, ground: Ground) -> None:
        """Ledger 7: if B was settled, nothing is added."""
        run = await begin(ground, "a", "b")
        worker = await ground.frontier.join(WorkerCard("w"))
        a, b = await take(ground, worker, run)
        await settle(ground, done(b, items=ONE))
        report = await settle(ground, landed(a, url("b"), url("child"), items=TWO))
        assert (report.items, report.new_urls) == (0, 0)
        assert await states(ground, run, "a", "b") == ["redirect", "done"]
        assert await items(ground, run) == ONE

    @pytest.mark.parametrize("target_first", [True, False])
    async def test_source_and_target_in_one_batch_are_stored_once(
        self, ground: Ground, target_first: bool
    ) -> None:
        """Ledger 7: whichever comes first in it wins."""
        run = await begin(ground, "a", "b")
        worker = await ground.frontier.join(WorkerCard("w"))
        a, b = await take(ground, worker, run)
        batch = [done(b, items=ONE), landed(a, url("b"), items=TWO)]
        await settle(ground, *(batch if target_first else batch[::-1]))
        assert await states(ground, run, "a", "b") == ["redirect", "done"]
        assert await items(ground, run) == (ONE if target_first else TWO)
        assert (await ground.store.finish(run.id)).state == "completed"

    async def test_many_sources_of_one_landing_store_it_once(self, ground: Ground) -> None:
        """Ledger 7: in one batch and over batches, also when a page of the batch has just found it."""
        run = await begin(ground, *urls(4), "finder")
        worker = await ground.frontier.join(WorkerCard("w"))
        *sources, finder = await take(ground, worker, run)
        await settle(
            ground, done(finder, url("x")), *(landed(lease, url("x"), items=ONE) for lease in sources[:2])
        )
        await settle(ground, *(landed(lease, url("x"), items=TWO) for lease in sources[2:]))
        assert await items(ground, run) == ONE
        assert await take(ground, worker, run) == []
        assert (await ground.store.finish(run.id)).counters.redirect == 4

    async def test_a_landing_on_itself_is_the_page(self, ground: Ground) -> None:
        """Ledger 7: a redirect that only adds a tracking parameter, or sets a cookie and comes back."""
        run = await begin(ground, "a?id=1")
        worker = await ground.frontier.join(WorkerCard("w"))
        await settle(
            ground,
            landed(await take_one(ground, worker, run), url("a?id=1&utm_source=x"), url("b"), items=ONE),
        )
        assert (await record(ground, run, "a?id=1")).state == "done"
        assert await items(ground, run) == ONE
        assert len(await take(ground, worker, run)) == 1

    async def test_a_landing_replaces_a_dead_target_but_not_a_done_one(self, ground: Ground) -> None:
        """Ledger 4 and 7."""
        run = await begin(ground, "a", "b")
        worker = await ground.frontier.join(WorkerCard("w"))
        a, b = await take(ground, worker, run)
        await settle(ground, closed(b, "dead", "timeout"))
        await settle(ground, landed(a, url("b"), items=ONE))
        assert await states(ground, run, "a", "b") == ["redirect", "done"]
        counters = (await ground.store.finish(run.id)).counters
        assert (counters.dead, counters.done, counters.redirect) == (0, 1, 1)

    async def test_a_late_landing_adds_nothing(self, ground: Ground) -> None:
        """Ledger 2 and 7: the source was closed by someone else."""
        run = await begin(ground, "a")
        slow, fast = [await ground.frontier.join(WorkerCard(name)) for name in ("slow", "fast")]
        old = await take_one(ground, slow, run)
        await ground.clock.advance(3600.0)
        await ground.frontier.reclaim()
        await settle(ground, done(await take_one(ground, fast, run), items=ONE))
        report = await settle(ground, landed(old, url("b"), url("c"), items=TWO))
        assert (report.late, report.items, report.new_urls) == (1, 0, 0)
        assert await ground.store.find_urls(url("b").fingerprint) == []

    async def test_an_entry_that_landed_was_fetched(self, ground: Ground) -> None:
        """Store 3: although the landing page is no entry itself."""
        run = await begin(ground, "a")
        worker = await ground.frontier.join(WorkerCard("w"))
        await settle(ground, landed(await take_one(ground, worker, run), url("b")))
        assert (await ground.store.finish(run.id)).state == "completed"

    async def test_an_entry_that_landed_on_a_dead_end_was_not(self, ground: Ground) -> None:
        """Store 3."""
        run = await begin(ground, "a")
        worker = await ground.frontier.join(WorkerCard("w"))
        moved = closed(await take_one(ground, worker, run), "redirect")
        await settle(ground, moved)
        assert (await ground.store.finish(run.id)).state == "failed"
