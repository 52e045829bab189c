"""RunStore 10: retry the failed requests of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from smartspider.core.errors import NotAllowed
from smartspider.core.frontier.verdict import HostNews, RetryLater, Settlement
from smartspider.core.requests.politeness import MAX_HOLD_S
from smartspider.core.runs.run import Run, RunState
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
    urls,
)
from smartspider_testing.contracts.backend import Backend, BackendContract
from smartspider_testing.contracts.runs.settings import audit_entries

ENDS = ("done", "dead", "broken", "missing", "skipped", "dead")
LONG_S = 3600.0


async def ended(backend: Backend, worker: int, ends: Sequence[str] = ENDS, **options: Any) -> Run:
    """Complete a run whose pages ended in these states."""
    run = await begin(backend, *urls(len(ends)), **options)
    leases = sorted(await take(backend, worker, run), key=lambda lease: lease.url_id)
    for lease, end in zip(leases, ends, strict=True):
        await settle(backend, closed(lease, end, f"was {end}"))
    return await backend.store.finish(run.id)


class RetryContract(BackendContract):
    """A retry reopens failed requests and nothing else."""

    async def test_what_failed_is_open_again_and_nothing_else(self, backend: Backend) -> None:
        """RunStore 10: as if it had never been tried, and counted so."""
        worker = await backend.frontier.join(WorkerRegistration("w"))
        run = await ended(backend, worker)
        assert (run.state, run.counters.dead, run.counters.broken) == ("completed", 2, 1)
        assert await backend.store.retry(run.id) == 3
        run = await backend.store.get_run(run.id)
        counters = run.counters
        assert (run.state, run.finished_at, counters.dead, counters.broken) == ("queued", None, 0, 0)
        assert (counters.total, counters.open, counters.done, counters.missing, counters.skipped) == (
            6,
            3,
            1,
            1,
            1,
        )
        found = await record(backend, run, "p1")
        assert (found.state, found.place, found.reason, found.attempts) == ("open", "queued", "", 0)
        assert (found.closed_at, found.status) == (None, None)
        assert await backend.store.failures(run.id) == []
        assert await backend.store.fsck() == []

    async def test_what_is_retried_is_fetched_once_more(self, backend: Backend) -> None:
        """RunStore 10: the run comes to its end again, and what came is stored once."""
        worker = await backend.frontier.join(WorkerRegistration("w"))
        run = await ended(backend, worker)
        await backend.store.retry(run.id)
        assert await take(backend, worker, run) == []
        await backend.store.set_state(run.id, "running")
        leases = await take(backend, worker, run)
        assert [lease.attempts for lease in leases] == [0, 0, 0]
        await settle(backend, *(done(lease, url("child"), items=[{"n": 1}]) for lease in leases[:2]))
        await settle(backend, closed(leases[2], "dead", "no luck"))
        assert await crawl(backend, worker, run) == {f"http://{HOST}/child": 1}
        run = await backend.store.finish(run.id)
        assert (run.state, run.counters.done, run.counters.dead, len(await items(backend, run))) == (
            *("completed", 4, 1),
            2,
        )
        assert await backend.store.retry(run.id) == 1

    async def test_a_link_to_a_retried_page_is_no_new_page(self, backend: Backend) -> None:
        """RunStore 10, rule 1: a request has one row, however often it is opened."""
        worker = await backend.frontier.join(WorkerRegistration("w"))
        run = await ended(backend, worker, ("done", "dead", "dead"))
        await backend.store.retry(run.id)
        await backend.store.set_state(run.id, "running")
        leases = sorted(await take(backend, worker, run), key=lambda lease: lease.url_id)
        report = await settle(backend, done(leases[0], url("p1"), url("p2"), url("new")))
        assert report.new_urls == 1
        assert (await backend.store.get_run(run.id)).counters.total == 4
        assert len(await backend.store.find_urls(url("p2").fingerprint, run.id)) == 1

    @pytest.mark.parametrize("state", ["running", "queued", "paused", "stopped", "failed", "completed"])
    async def test_a_run_goes_to_work_again(self, backend: Backend, state: RunState) -> None:
        """RunStore 10: one that is working or waits to does not change."""
        worker = await backend.frontier.join(WorkerRegistration("w"))
        run = await begin(backend, "one", "two")
        one, _ = await take(backend, worker, run)
        await settle(backend, closed(one, "dead"))
        if state == "queued":
            await backend.store.set_state(run.id, "paused")
        if state != "running":
            await backend.store.set_state(run.id, state)
        assert await backend.store.retry(run.id, actor="ann") == 1
        assert (await backend.store.get_run(run.id)).state == ("running" if state == "running" else "queued")
        assert await audit_entries(backend, run, "run.retried") == [("ann", {"from": state, "failed": 1})]

    @pytest.mark.parametrize("state", ["cancelled", "stopping"])
    async def test_a_run_that_is_cancelled_or_stopping_is_not_retried(
        self, backend: Backend, state: RunState
    ) -> None:
        """RunStore 2, 10: nothing changes."""
        run = await begin(backend, "one", "two")
        one = await take_one(backend, await backend.frontier.join(WorkerRegistration("w")), run)
        await settle(backend, closed(one, "dead"))
        run = await backend.store.set_state(run.id, state)
        with pytest.raises(NotAllowed, match=state):
            await backend.store.retry(run.id)
        assert await backend.store.get_run(run.id) == run

    async def test_a_run_of_a_deleted_task_is_not_retried(self, backend: Backend) -> None:
        """RunStore 10: as it is not opened in any other way."""
        run = await ended(backend, await backend.frontier.join(WorkerRegistration("w")))
        await backend.tasks.delete(run.task_id, actor="ann")
        with pytest.raises(NotAllowed, match="deleted"):
            await backend.store.retry(run.id)
        assert await backend.store.get_run(run.id) == run

    async def test_where_nothing_failed_there_is_nothing_to_retry(self, backend: Backend) -> None:
        """RunStore 10: refused, and nothing changes; what a rule skipped has not failed."""
        run = await ended(
            backend, await backend.frontier.join(WorkerRegistration("w")), ("done", "missing", "skipped")
        )
        before, events = await backend.audit.entries(), await backend.events.of_run(run.id)
        with pytest.raises(NotAllowed, match="nothing to retry"):
            await backend.store.retry(run.id)
        assert await backend.store.get_run(run.id) == run
        assert (await backend.audit.entries(), await backend.events.of_run(run.id)) == (before, events)

    async def test_what_was_left_with_an_abandoned_host_is_retried(self, backend: Backend) -> None:
        """RunStore 10: also what was skipped because the host wants to be left alone; its hold is kept."""
        run = await begin(backend, *urls(3), url("x", host="b.example"))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run)
        news = (HostNews(slow_down=True, hold_s=MAX_HOLD_S + 1.0, reason="429"),)
        first = next(lease for lease in leases if lease.request.host == HOST)
        await settle(backend, Settlement(first, RetryLater(1.0, "429", 429), news))
        await backend.frontier.release(leases)
        await crawl(backend, worker, run)
        assert (await backend.store.finish(run.id)).counters.skipped == 3
        assert await backend.store.retry(run.id) == 3
        await backend.store.set_state(run.id, "running")
        assert await take(backend, worker, run) == []
        await backend.frontier.resume_host(HOST)
        assert len(await take(backend, worker, run)) == 3

    @pytest.mark.parametrize("late", ["dead", "broken", "missing", "skipped"])
    async def test_a_late_failure_of_an_earlier_visit_does_not_close_the_new_one(
        self, backend: Backend, late: str
    ) -> None:
        """RunStore 10, ledger 2: also if the row is queued, leased to another worker, or waiting."""
        run = await begin(backend, "one")
        slow, fast = [await backend.frontier.join(WorkerRegistration(name)) for name in ("slow", "fast")]
        old = await take_one(backend, slow, run)
        await backend.clock.advance(LONG_S)
        await backend.frontier.reclaim()
        await settle(backend, closed(await take_one(backend, fast, run), "dead"))
        await backend.store.retry(run.id)
        assert (await settle(backend, closed(old, late))).late == 1
        new = await take_one(backend, fast, run)
        assert (await settle(backend, closed(old, late), failed(old))).late == 2
        assert await backend.frontier.renew([new]) == []
        await settle(backend, failed(new, delay_s=5.0))
        await settle(backend, closed(old, late))
        assert (await record(backend, run, "one")).state == "open"
        await backend.clock.advance(6.0)
        await settle(backend, closed(await take_one(backend, fast, run), "broken"))
        assert await states(backend, run, "one") == ["broken"]
        assert await backend.store.fsck() == []

    async def test_a_late_page_of_an_earlier_visit_is_welcome(self, backend: Backend) -> None:
        """Ledger 2, 4: the first commit of a page wins, and the new visit adds nothing."""
        run = await begin(backend, "one")
        slow, fast = [await backend.frontier.join(WorkerRegistration(name)) for name in ("slow", "fast")]
        old = await take_one(backend, slow, run)
        await backend.clock.advance(LONG_S)
        await backend.frontier.reclaim()
        await settle(backend, closed(await take_one(backend, fast, run), "dead"))
        await backend.store.retry(run.id)
        new = await take_one(backend, fast, run)
        await settle(backend, done(old, items=[{"by": "slow"}]))
        assert (await settle(backend, done(new, items=[{"by": "fast"}]))).late == 1
        assert await items(backend, run) == [{"by": "slow"}]
        assert (await backend.store.finish(run.id)).state == "completed"

    async def test_who_still_holds_what_was_given_up_holds_it_no_more(self, backend: Backend) -> None:
        """RunStore 10, rule 17: the old lease counts at the host until it ends; its failure is ignored."""
        run = await begin(backend, *urls(2), per_host=2)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        first, held = await take(backend, worker, run)
        news = (HostNews(slow_down=True, hold_s=MAX_HOLD_S + 1.0, reason="429"),)
        await settle(backend, Settlement(first, RetryLater(1.0, "429", 429), news))
        assert await backend.store.retry(run.id) == 2
        await backend.frontier.resume_host(HOST)
        assert await backend.frontier.renew([held]) == [held]
        assert (await settle(backend, closed(held, "dead"))).late == 1
        taken = {lease.url_id for lease in await take(backend, worker, run)}
        assert first.url_id in taken  # and the other one once its lease is released or expires
        assert taken <= {first.url_id, held.url_id}
        await backend.clock.advance(LONG_S)
        await backend.frontier.reclaim()
        assert {lease.url_id for lease in await take(backend, worker, run)} == {first.url_id, held.url_id}

    async def test_more_than_one_transaction_holds_is_retried_whole(self, backend: Backend) -> None:
        """RunStore 10: and stays so when the process ends."""
        run = await begin(backend, *urls(4500), concurrency=10_000, per_host=10_000)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run, want=4500)
        await settle(backend, *(closed(lease, "dead") for lease in leases))
        assert (await backend.store.finish(run.id)).state == "failed"
        assert await backend.store.retry(run.id) == 4500
        await backend.reopen()
        assert (await backend.store.get_run(run.id)).counters.open == 4500
        await backend.store.set_state(run.id, "running")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        assert len(await take(backend, worker, run, want=5000)) == 4500
