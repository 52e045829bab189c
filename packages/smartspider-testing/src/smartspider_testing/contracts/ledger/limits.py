"""Ledger 6, rule 10: limits are exact on stored pages; guards pause failing runs."""

from __future__ import annotations

import pytest

from smartspider.core.events import FetchRetried, GuardTripped
from smartspider.core.requests.scope import TrapGuards
from smartspider.core.runs.plan import Guards, RunLimits
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import (
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
from smartspider_testing.contracts.backend import Backend, BackendContract


class LimitContract(BackendContract):
    """A run ends at its limits."""

    @pytest.mark.parametrize("batch", [1, 3, 10])
    async def test_max_pages_is_exact_whatever_the_batches(self, backend: Backend, batch: int) -> None:
        """Ledger 6: what is beyond, in the same batch or later, closes as skipped."""
        run = await begin(backend, *urls(10), limits=RunLimits(max_pages=4))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run)
        for start in range(0, 10, batch):
            await settle(backend, *(done(lease, items=[{"n": 1}]) for lease in leases[start : start + batch]))
        run = await backend.store.finish(run.id)
        counters = run.counters
        assert (run.state, counters.done, counters.skipped, counters.items) == ("completed", 4, 6, 4)
        assert run.reason == "limit: max_pages 4 reached"
        assert (await record(backend, run, "p9")).reason.startswith("limit: max_pages")

    @pytest.mark.parametrize("batch", [1, 2, 5])
    async def test_max_items_is_exact_whatever_the_batches(self, backend: Backend, batch: int) -> None:
        """Ledger 6: the page that crosses it keeps the items up to it."""
        run = await begin(backend, *urls(5), limits=RunLimits(max_items=7))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run)
        for start in range(0, 5, batch):
            await settle(
                backend,
                *(done(lease, items=[{"n": n} for n in range(3)]) for lease in leases[start : start + batch]),
            )
        run = await backend.store.finish(run.id)
        assert (run.counters.items, run.counters.done, run.counters.skipped) == (7, 3, 2)
        assert [item["n"] for item in await items(backend, run)] == [0, 1, 2, 0, 1, 2, 0]
        assert (run.state, run.reason) == ("completed", "limit: max_items 7 reached")

    async def test_two_workers_do_not_go_beyond_a_limit_together(self, backend: Backend) -> None:
        """Ledger 6: over processes."""
        run = await begin(backend, *urls(10), limits=RunLimits(max_pages=5))
        views = [backend, await backend.another()]
        held = [
            await take(view, await view.frontier.join(WorkerRegistration("w")), run, want=5) for view in views
        ]
        for pair in zip(*held, strict=True):
            for view, lease in zip(views, pair, strict=True):
                await settle(view, done(lease))
        assert (await backend.store.finish(run.id)).counters.done == 5

    async def test_nothing_is_handed_out_after_a_limit(self, backend: Backend) -> None:
        """Ledger 6: what is left closes as skipped, with the limit as its reason, and what waits as well."""
        run = await begin(backend, "one", "two", "waits", limits=RunLimits(max_pages=1))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        one, two, waits = await take(backend, worker, run)
        await settle(backend, failed(waits, delay_s=60.0), done(one, *urls(3)))
        assert await take(backend, worker, run) == []
        assert (await backend.store.finish(run.id)).state == "stopping"
        await backend.frontier.release([two])
        run = await backend.store.finish(run.id)
        assert (run.state, run.counters.skipped) == ("completed", 5)
        assert {(await record(backend, run, path)).reason for path in ("two", "waits", "p0")} == {run.reason}

    async def test_a_landing_page_counts_towards_the_limit(self, backend: Backend) -> None:
        """Ledger 6 and 7."""
        run = await begin(backend, "a", "b", limits=RunLimits(max_pages=1))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        a, b = await take(backend, worker, run)
        await settle(backend, landed(a, url("x"), items=[{"n": 1}]), landed(b, url("y"), items=[{"n": 2}]))
        run = await backend.store.finish(run.id)
        assert (run.counters.done, run.counters.items) == (1, 1)
        assert await states(backend, run, "x", "y") == ["done", "skipped"]

    async def test_max_errors_ends_a_run(self, backend: Backend) -> None:
        """Ledger 6: dead and broken count, missing and skipped do not."""
        run = await begin(backend, *urls(9), limits=RunLimits(max_errors=2))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run, want=6)
        ends = ("missing", "skipped", "dead", "missing")
        await settle(backend, *(closed(lease, end) for lease, end in zip(leases, ends, strict=False)))
        assert (await backend.store.finish(run.id)).state == "running"
        await settle(backend, closed(leases[4], "broken"), done(leases[5]))
        run = await backend.store.finish(run.id)
        assert (run.state, run.reason) == ("completed", "limit: max_errors 2 reached")

    async def test_max_duration_counts_only_the_time_a_run_ran(self, backend: Backend) -> None:
        """Ledger 6: a pause is not counted."""
        run = await begin(backend, *urls(2), limits=RunLimits(max_duration_s=100.0))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, done(await take_one(backend, worker, run)))
        await backend.clock.advance(60.0)
        await backend.store.set_state(run.id, "paused")
        await backend.clock.advance(500.0)
        await backend.store.set_state(run.id, "running")
        await backend.clock.advance(39.0)
        assert (await backend.store.finish(run.id)).state == "running"
        await backend.clock.advance(1.0)
        run = await backend.store.finish(run.id)
        assert (run.state, run.reason) == ("completed", "limit: max_duration_s 100 reached")
        assert (await record(backend, run, "p1")).state == "skipped"

    async def test_a_failure_guard_pauses_a_run(self, backend: Backend) -> None:
        """Alerts: consecutive failures; one good page between them starts the count anew."""
        run = await begin(backend, *urls(9), guards=Guards(consecutive_failures=3))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run)
        for lease in leases[:2]:
            await settle(backend, closed(lease, "dead"))
        await settle(backend, done(leases[2]))
        for lease in leases[3:5]:
            await settle(backend, closed(lease, "dead"))
        assert (await backend.store.get_run(run.id)).state == "running"
        report = await settle(backend, failed(leases[5]))
        assert [type(event) for event in report.events] == [FetchRetried, GuardTripped]
        run = await backend.store.get_run(run.id)
        assert (run.state, run.reason) == ("paused", "guard: 3 failures in a row")
        await settle(backend, *(done(lease) for lease in leases[6:]))
        await backend.store.set_state(run.id, "running")
        assert (await backend.store.get_run(run.id)).state == "running"

    async def test_a_rate_guard_waits_until_it_means_something(self, backend: Backend) -> None:
        """Alerts: the share of failures, after enough requests; it may only tell."""
        guards = Guards(failure_rate=0.5, failure_rate_after=4, pauses=False)
        run = await begin(backend, *urls(9), guards=guards)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run)
        quiet = await settle(backend, *(closed(lease, "dead") for lease in leases[:3]))
        assert not any(isinstance(event, GuardTripped) for event in quiet.events)
        loud = await settle(backend, done(leases[3]))
        assert any(isinstance(event, GuardTripped) for event in loud.events)
        again = await settle(backend, closed(leases[4], "dead"))
        assert not any(isinstance(event, GuardTripped) for event in again.events), "told once"
        assert (await backend.store.get_run(run.id)).state == "running"

    async def test_a_host_budget_bounds_what_is_queued(self, backend: Backend) -> None:
        """Traps: a site that never ends gives no more rows than the budget, page by page and within one."""
        run = await begin(backend, "seed", traps=TrapGuards(max_urls_per_host=10))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, done(await take_one(backend, worker, run), *urls(4, "a")))
        leases = await take(backend, worker, run)
        await settle(backend, *(done(lease, *urls(8, f"{lease.url_id}-")) for lease in leases))
        assert (await crawl(backend, worker, run)).total() == 5
        counters = (await backend.store.get_run(run.id)).counters
        assert (counters.total, counters.done) == (10, 10)
        assert (await record(backend, run, "seed")).url == f"http://{HOST}/seed"
