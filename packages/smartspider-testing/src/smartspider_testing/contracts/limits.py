"""Ledger 6, rule 10: limits are exact on what is stored; guards pause what goes wrong."""

from __future__ import annotations

import pytest

from smartspider.core.events import FetchRetried, GuardTripped
from smartspider.core.limits import Guards, Limits
from smartspider.core.traps import TrapGuards
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


class LimitContract(OnGround):
    """A run ends where its limits say."""

    @pytest.mark.parametrize("batch", [1, 3, 10])
    async def test_max_pages_is_exact_whatever_the_batches(self, ground: Ground, batch: int) -> None:
        """Ledger 6: what is beyond, in the same batch or later, closes as skipped."""
        run = await begin(ground, *urls(10), limits=Limits(max_pages=4))
        worker = await ground.frontier.join(WorkerCard("w"))
        leases = await take(ground, worker, run)
        for start in range(0, 10, batch):
            await settle(ground, *(done(lease, items=[{"n": 1}]) for lease in leases[start : start + batch]))
        run = await ground.store.finish(run.id)
        counters = run.counters
        assert (run.state, counters.done, counters.skipped, counters.items) == ("completed", 4, 6, 4)
        assert run.reason == "limit: max_pages 4 reached"
        assert (await record(ground, run, "p9")).reason.startswith("limit: max_pages")

    @pytest.mark.parametrize("batch", [1, 2, 5])
    async def test_max_items_is_exact_whatever_the_batches(self, ground: Ground, batch: int) -> None:
        """Ledger 6: the page that crosses it keeps the items up to it."""
        run = await begin(ground, *urls(5), limits=Limits(max_items=7))
        worker = await ground.frontier.join(WorkerCard("w"))
        leases = await take(ground, worker, run)
        for start in range(0, 5, batch):
            await settle(
                ground,
                *(done(lease, items=[{"n": n} for n in range(3)]) for lease in leases[start : start + batch]),
            )
        run = await ground.store.finish(run.id)
        assert (run.counters.items, run.counters.done, run.counters.skipped) == (7, 3, 2)
        assert [item["n"] for item in await items(ground, run)] == [0, 1, 2, 0, 1, 2, 0]
        assert (run.state, run.reason) == ("completed", "limit: max_items 7 reached")

    async def test_two_workers_do_not_go_beyond_a_limit_together(self, ground: Ground) -> None:
        """Ledger 6: over processes."""
        run = await begin(ground, *urls(10), limits=Limits(max_pages=5))
        views = [ground, await ground.another()]
        held = [await take(view, await view.frontier.join(WorkerCard("w")), run, want=5) for view in views]
        for pair in zip(*held, strict=True):
            for view, lease in zip(views, pair, strict=True):
                await settle(view, done(lease))
        assert (await ground.store.finish(run.id)).counters.done == 5

    async def test_nothing_is_handed_out_after_a_limit(self, ground: Ground) -> None:
        """Ledger 6: what is left closes as skipped, with the limit as its reason, and what waits as well."""
        run = await begin(ground, "one", "two", "waits", limits=Limits(max_pages=1))
        worker = await ground.frontier.join(WorkerCard("w"))
        one, two, waits = await take(ground, worker, run)
        await settle(ground, failed(waits, delay_s=60.0), done(one, *urls(3)))
        assert await take(ground, worker, run) == []
        assert (await ground.store.finish(run.id)).state == "stopping"
        await ground.frontier.release([two])
        run = await ground.store.finish(run.id)
        assert (run.state, run.counters.skipped) == ("completed", 5)
        assert {(await record(ground, run, path)).reason for path in ("two", "waits", "p0")} == {run.reason}

    async def test_a_landing_page_counts_towards_the_limit(self, ground: Ground) -> None:
        """Ledger 6 and 7."""
        run = await begin(ground, "a", "b", limits=Limits(max_pages=1))
        worker = await ground.frontier.join(WorkerCard("w"))
        a, b = await take(ground, worker, run)
        await settle(ground, landed(a, url("x"), items=[{"n": 1}]), landed(b, url("y"), items=[{"n": 2}]))
        run = await ground.store.finish(run.id)
        assert (run.counters.done, run.counters.items) == (1, 1)
        assert await states(ground, run, "x", "y") == ["done", "skipped"]

    async def test_max_errors_ends_a_run(self, ground: Ground) -> None:
        """Ledger 6: dead and broken count, missing and skipped do not."""
        run = await begin(ground, *urls(9), limits=Limits(max_errors=2))
        worker = await ground.frontier.join(WorkerCard("w"))
        leases = await take(ground, worker, run, want=6)
        ends = ("missing", "skipped", "dead", "missing")
        await settle(ground, *(closed(lease, end) for lease, end in zip(leases, ends, strict=False)))
        assert (await ground.store.finish(run.id)).state == "running"
        await settle(ground, closed(leases[4], "broken"), done(leases[5]))
        run = await ground.store.finish(run.id)
        assert (run.state, run.reason) == ("completed", "limit: max_errors 2 reached")

    async def test_max_duration_counts_only_the_time_a_run_ran(self, ground: Ground) -> None:
        """Ledger 6: a pause is not counted."""
        run = await begin(ground, *urls(2), limits=Limits(max_duration_s=100.0))
        worker = await ground.frontier.join(WorkerCard("w"))
        await settle(ground, done(await take_one(ground, worker, run)))
        await ground.clock.advance(60.0)
        await ground.store.set_state(run.id, "paused")
        await ground.clock.advance(500.0)
        await ground.store.set_state(run.id, "running")
        await ground.clock.advance(39.0)
        assert (await ground.store.finish(run.id)).state == "running"
        await ground.clock.advance(1.0)
        run = await ground.store.finish(run.id)
        assert (run.state, run.reason) == ("completed", "limit: max_duration_s 100 reached")
        assert (await record(ground, run, "p1")).state == "skipped"

    async def test_a_failure_guard_pauses_a_run(self, ground: Ground) -> None:
        """Alerts: consecutive failures; one good page between them starts the count anew."""
        run = await begin(ground, *urls(9), guards=Guards(consecutive_failures=3))
        worker = await ground.frontier.join(WorkerCard("w"))
        leases = await take(ground, worker, run)
        for lease in leases[:2]:
            await settle(ground, closed(lease, "dead"))
        await settle(ground, done(leases[2]))
        for lease in leases[3:5]:
            await settle(ground, closed(lease, "dead"))
        assert (await ground.store.get_run(run.id)).state == "running"
        report = await settle(ground, failed(leases[5]))
        assert [type(event) for event in report.events] == [FetchRetried, GuardTripped]
        run = await ground.store.get_run(run.id)
        assert (run.state, run.reason) == ("paused", "guard: 3 failures in a row")
        await settle(ground, *(done(lease) for lease in leases[6:]))
        await ground.store.set_state(run.id, "running")
        assert (await ground.store.get_run(run.id)).state == "running"

    async def test_a_rate_guard_waits_until_it_means_something(self, ground: Ground) -> None:
        """Alerts: the share of failures, after enough requests; it may only tell."""
        guards = Guards(failure_rate=0.5, failure_rate_after=4, pauses=False)
        run = await begin(ground, *urls(9), guards=guards)
        worker = await ground.frontier.join(WorkerCard("w"))
        leases = await take(ground, worker, run)
        quiet = await settle(ground, *(closed(lease, "dead") for lease in leases[:3]))
        assert not any(isinstance(event, GuardTripped) for event in quiet.events)
        loud = await settle(ground, done(leases[3]))
        assert any(isinstance(event, GuardTripped) for event in loud.events)
        again = await settle(ground, closed(leases[4], "dead"))
        assert not any(isinstance(event, GuardTripped) for event in again.events), "told once"
        assert (await ground.store.get_run(run.id)).state == "running"

    async def test_a_host_budget_bounds_what_is_queued(self, ground: Ground) -> None:
        """Traps: a site that never ends gives no more rows than the budget, page by page and within one."""
        run = await begin(ground, "seed", traps=TrapGuards(max_urls_per_host=10))
        worker = await ground.frontier.join(WorkerCard("w"))
        await settle(ground, done(await take_one(ground, worker, run), *urls(4, "a")))
        leases = await take(ground, worker, run)
        await settle(ground, *(done(lease, *urls(8, f"{lease.url_id}-")) for lease in leases))
        assert (await crawl(ground, worker, run)).total() == 5
        counters = (await ground.store.get_run(run.id)).counters
        assert (counters.total, counters.done) == (10, 10)
        assert (await record(ground, run, "seed")).url == f"http://{HOST}/seed"
