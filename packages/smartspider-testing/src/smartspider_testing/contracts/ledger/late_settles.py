"""Ledger 2 and 4, rules 2 and 3: which settle wins if two workers fetched the same page."""

from __future__ import annotations

import pytest

from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import (
    HOST,
    begin,
    closed,
    crawl,
    done,
    failed,
    items,
    record,
    settle,
    states,
    take,
    take_one,
    url,
)
from smartspider_testing.contracts.backend import Backend, BackendContract

LONG_S = 3600.0
"""Longer than any lease."""


class LateSettleContract(BackendContract):
    """The first commit of a page wins."""

    async def test_the_first_commit_of_a_page_wins(self, backend: Backend) -> None:
        """Ledger 2, rule 2: a late worker adds neither its items nor its links, which differ."""
        run = await begin(backend, "one")
        slow, fast = [await backend.frontier.join(WorkerRegistration(name)) for name in ("slow", "fast")]
        old = await take_one(backend, slow, run)
        await backend.clock.advance(LONG_S)
        await backend.frontier.reclaim()
        new = await take_one(backend, fast, run)
        await settle(backend, done(new, url("a"), items=[{"by": "fast"}]))
        report = await settle(backend, done(old, url("a"), url("b"), items=[{"by": "slow"}, {"by": "slow"}]))
        assert (report.closed, report.late, report.new_urls, report.items) == (0, 1, 0, 0)
        assert await items(backend, run) == [{"by": "fast"}]
        assert await backend.store.find_urls(url("b").fingerprint) == []
        assert (await backend.store.get_run(run.id)).counters.late == 1
        assert await crawl(backend, fast, run) == {f"http://{HOST}/a": 1}

    @pytest.mark.parametrize("place", ["queued", "leased", "waiting"])
    async def test_a_late_worker_that_is_first_wins(self, backend: Backend, place: str) -> None:
        """Ledger 2: the current lease holder adds nothing, and the page is not leased again."""
        run = await begin(backend, "one")
        slow, fast = [await backend.frontier.join(WorkerRegistration(name)) for name in ("slow", "fast")]
        old = await take_one(backend, slow, run)
        await backend.clock.advance(LONG_S)
        await backend.frontier.reclaim()
        new = None
        if place != "queued":
            new = await take_one(backend, fast, run)
        if place == "waiting":
            await settle(backend, failed(new, delay_s=5.0))  # type: ignore[arg-type] # leased two lines above
        await settle(backend, done(old, url("a"), items=[{"by": "slow"}]))
        await backend.clock.advance(10.0)
        if new is not None:
            assert (await settle(backend, done(new, url("b"), items=[{"by": "fast"}]))).late == 1
        assert await items(backend, run) == [{"by": "slow"}]
        assert await crawl(backend, fast, run) == {f"http://{HOST}/a": 1}
        assert (await backend.store.finish(run.id)).state == "completed"

    async def test_the_same_page_twice_in_a_batch_is_stored_once(self, backend: Backend) -> None:
        """Ledger 2."""
        run = await begin(backend, "one")
        lease = await take_one(backend, await backend.frontier.join(WorkerRegistration("w")), run)
        report = await settle(backend, done(lease, items=[{"n": 1}]), done(lease, items=[{"n": 2}]))
        assert (report.closed, report.late, report.items) == (1, 1, 1)
        assert await items(backend, run) == [{"n": 1}]

    @pytest.mark.parametrize("first", ["dead", "skipped"])
    async def test_done_replaces_dead_and_skipped(self, backend: Backend, first: str) -> None:
        """Ledger 4, rule 3."""
        run = await begin(backend, "one")
        slow, fast = [await backend.frontier.join(WorkerRegistration(name)) for name in ("slow", "fast")]
        old = await take_one(backend, slow, run)
        await backend.clock.advance(LONG_S)
        await backend.frontier.reclaim()
        await settle(backend, closed(await take_one(backend, fast, run), first, "gave up"))
        await settle(backend, done(old, url("child"), items=[{"n": 1}]))
        assert (await record(backend, run, "one")).reason == ""
        counters = (await backend.store.get_run(run.id)).counters
        assert (counters.done, counters.dead + counters.skipped, counters.items) == (1, 0, 1)
        assert await crawl(backend, slow, run) == {f"http://{HOST}/child": 1}

    @pytest.mark.parametrize("second", ["dead", "broken", "missing", "skipped", "redirect"])
    @pytest.mark.parametrize("first", ["done", "missing", "broken"])
    async def test_nothing_else_replaces_what_is_closed(
        self, backend: Backend, first: str, second: str
    ) -> None:
        """Ledger 4, rule 3: dead never replaces done."""
        run = await begin(backend, "one")
        slow, fast = [await backend.frontier.join(WorkerRegistration(name)) for name in ("slow", "fast")]
        old = await take_one(backend, slow, run)
        await backend.clock.advance(LONG_S)
        await backend.frontier.reclaim()
        await settle(backend, closed(await take_one(backend, fast, run), first))
        assert (await settle(backend, closed(old, second))).late == 1
        assert await states(backend, run, "one") == [first]

    async def test_a_late_retry_changes_nothing(self, backend: Backend) -> None:
        """Ledger 2 and 5: neither for a request someone else holds, nor for a closed one."""
        run = await begin(backend, "one")
        slow, fast = [await backend.frontier.join(WorkerRegistration(name)) for name in ("slow", "fast")]
        old = await take_one(backend, slow, run)
        await backend.clock.advance(LONG_S)
        await backend.frontier.reclaim()
        new = await take_one(backend, fast, run)
        assert (await settle(backend, failed(old))).late == 1
        assert await backend.frontier.renew([new]) == []
        assert (await record(backend, run, "one")).attempts == 0
        await settle(backend, done(new))
        assert (await settle(backend, failed(old), failed(new))).late == 2
        assert await states(backend, run, "one") == ["done"]
        assert await take(backend, slow, run) == []
