"""Frontier 10, rule 7: a request that keeps losing workers is leased alone before it is buried."""

from __future__ import annotations

from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.verdict import RetryLater, Settlement
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import (
    HOST,
    begin,
    closed,
    done,
    failed,
    record,
    settle,
    states,
    take,
    take_one,
    url,
    urls,
)
from smartspider_testing.contracts.backend import Backend, BackendContract

OFTEN = 10
"""More than the returns that any request is allowed."""


async def lose_until_alone(backend: Backend, run: Run) -> Lease:
    """Lose workers with all their leases until a request is leased alone. Return that lease; its worker is
    alive.
    """
    for number in range(OFTEN):
        worker = await backend.frontier.join(WorkerRegistration(f"victim {number}"))
        leases = await take(backend, worker, run)
        if leases[0].is_alone:
            assert len(leases) == 1
            return leases[0]
        await backend.lose(worker)
        await backend.frontier.reclaim()
    raise AssertionError("nothing was ever handed out alone")


class SuspectContract(BackendContract):
    """A crash does not count as a failure of the URL unless it repeats."""

    async def test_a_suspect_is_handed_out_alone(self, backend: Backend) -> None:
        """Frontier 10: to a worker with empty hands, who gets nothing beside it."""
        run = await begin(backend, "killer", "other")
        lease = await lose_until_alone(backend, run)
        assert lease.attempts == 0
        assert lease.returns >= 2
        holder = (await record(backend, run, lease.request)).place
        assert holder.startswith("leased by victim")

    async def test_a_worker_with_a_suspect_gets_nothing_else(self, backend: Backend) -> None:
        """Frontier 10: although it asks."""
        run = await begin(backend, "killer")
        for number in range(OFTEN):
            worker = await backend.frontier.join(WorkerRegistration(f"w{number}"))
            if (await take_one(backend, worker, run)).is_alone:
                break
            await backend.lose(worker)
            await backend.frontier.reclaim()
        other = await begin(backend, *urls(5))
        assert await take(backend, worker, run, other) == []
        assert (
            len(await take(backend, await backend.frontier.join(WorkerRegistration("free")), run, other)) == 5
        )

    async def test_a_busy_worker_does_not_get_a_suspect(self, backend: Backend) -> None:
        """Frontier 10: and gets nothing else of that run until its hands are empty."""
        run = await begin(backend, "killer")
        other = await begin(backend, url("long", host="b.example"))
        busy = await backend.frontier.join(WorkerRegistration("busy"))
        long = await take_one(backend, busy, other)
        lease = await lose_until_alone(backend, run)
        await backend.frontier.release([lease])
        assert await take(backend, busy, run) == []
        await settle(backend, done(long))
        assert (await take_one(backend, busy, run)).is_alone

    async def test_a_suspect_that_was_released_is_still_one(self, backend: Backend) -> None:
        """Frontier 7 and 10."""
        run = await begin(backend, "killer")
        lease = await lose_until_alone(backend, run)
        await backend.frontier.release([lease])
        worker = await backend.frontier.join(WorkerRegistration("next"))
        assert (await take_one(backend, worker, run)).is_alone

    async def test_a_suspect_that_loses_every_worker_is_buried(self, backend: Backend) -> None:
        """Rule 7: with its reason, and without using up its attempts; the rest of the run is done."""
        run = await begin(backend, "killer", "good")
        alone = 0
        for number in range(5 * OFTEN):
            worker = await backend.frontier.join(WorkerRegistration(f"w{number}"))
            leases = await take(backend, worker, run)
            if not leases:
                break
            alone += leases[0].is_alone
            if any(lease.request.url.endswith("killer") for lease in leases):
                await backend.lose(worker)
                await backend.frontier.reclaim()
            else:
                await settle(backend, *(done(lease) for lease in leases))
        found = await record(backend, run, "killer")
        assert (found.state, found.attempts) == ("dead", 0)
        assert "crash" in found.reason
        assert alone >= 2
        assert await states(backend, run, "good") == ["done"]
        assert (await backend.store.finish(run.id)).counters.dead == 1

    async def test_a_suspect_that_comes_through_is_done(self, backend: Backend) -> None:
        """Rule 7: the innocent that was in the wrong hands."""
        run = await begin(backend, "innocent")
        lease = await lose_until_alone(backend, run)
        await settle(backend, done(lease))
        assert (await backend.store.finish(run.id)).state == "completed"

    async def test_a_suspect_that_fails_is_retried_like_any_other(self, backend: Backend) -> None:
        """Rule 7: it did not take its worker with it."""
        run = await begin(backend, "innocent", *urls(3))
        lease = await lose_until_alone(backend, run)
        await settle(backend, failed(lease, delay_s=1.0))
        await backend.clock.advance(1.0)
        assert (await record(backend, run, lease.request)).attempts == 1
        worker = await backend.frontier.join(WorkerRegistration("next"))
        for _ in range(OFTEN):
            leases = await take(backend, worker, run)
            await settle(backend, *(done(lease) for lease in leases))
        assert (await backend.store.finish(run.id)).state == "completed"

    async def test_the_other_requests_of_a_frozen_worker_go_elsewhere(self, backend: Backend) -> None:
        """Frontier 14: they count nothing, and what the worker brings later is stored once."""
        run = await begin(backend, "costly", *urls(3))
        frozen = await backend.frontier.join(WorkerRegistration("frozen"))
        leases = await take(backend, frozen, run)
        costly = next(lease for lease in leases if lease.request.url.endswith("costly"))
        others = [lease for lease in leases if lease is not costly]
        await backend.frontier.release_others(frozen, costly.url_id)
        assert await backend.frontier.renew([costly]) == []
        assert len(await backend.frontier.renew(others)) == 3
        free = await backend.frontier.join(WorkerRegistration("free"))
        again = await take(backend, free, run)
        assert {lease.url_id for lease in again} == {lease.url_id for lease in others}
        assert {lease.returns for lease in again} == {0}
        await settle(backend, *(done(lease) for lease in again))
        report = await settle(backend, *(done(lease) for lease in leases))
        assert (report.closed, report.late) == (1, 3)
        assert (await backend.store.finish(run.id)).counters.done == 4

    async def test_a_request_that_cost_its_worker_is_leased_alone_next(self, backend: Backend) -> None:
        """Frontier 10, rule 7: at once, without an attempt; the requests beside it are leased as before."""
        run = await begin(backend, "costly", "beside")
        victim = await backend.frontier.join(WorkerRegistration("victim"))
        leases = {lease.request.url.rpartition("/")[2]: lease for lease in await take(backend, victim, run)}
        verdict = RetryLater(0.0, "unreadable: took too long", counts=False, is_alone=True)
        await settle(backend, Settlement(leases["costly"], verdict))
        await backend.frontier.leave(victim)
        costly = await record(backend, run, "costly")
        assert (costly.state, costly.attempts) == ("open", 0)
        assert (await record(backend, run, "beside")).returns == 0
        first, second = [
            await backend.frontier.join(WorkerRegistration(name)) for name in ("first", "second")
        ]
        alone = await take_one(backend, first, run)
        assert (alone.is_alone, alone.request.url) == (True, leases["costly"].request.url)
        (beside,) = await take(backend, second, run)
        assert not beside.is_alone
        await settle(backend, done(beside), closed(alone, "broken", "unreadable: took too long"))
        assert await states(backend, run, "costly", "beside") == ["broken", "done"]
        assert (await backend.store.finish(run.id)).state == "completed"

    async def test_a_suspect_behind_a_closed_gate_keeps_no_one_waiting(self, backend: Backend) -> None:
        """Frontier 10, rule 20: other hosts and other runs go on; it comes when its gate opens."""
        run = await begin(backend, "killer")
        lease = await lose_until_alone(backend, run)
        await backend.frontier.release([lease])
        await backend.frontier.hold_host(HOST, 600.0, "Retry-After")
        other = await begin(backend, url("x", host="b.example"))
        worker = await backend.frontier.join(WorkerRegistration("next"))
        batch = await backend.frontier.lease(worker, 5, [run.id, other.id])
        assert [lease.request.host for lease in batch.leases] == ["b.example"]
        assert batch.next_at is not None
        assert batch.next_at > backend.clock.now() + 590.0
        await settle(backend, done(batch.leases[0]))
        await backend.clock.advance(601.0)
        assert (await take_one(backend, worker, run)).is_alone

    async def test_a_suspect_counts_towards_the_concurrency_of_its_run(self, backend: Backend) -> None:
        """Frontier 4 and 10."""
        run = await begin(backend, "killer", concurrency=1)
        lease = await lose_until_alone(backend, run)
        await backend.frontier.release([lease])
        worker, other = (
            await backend.frontier.join(WorkerRegistration("one")),
            await backend.frontier.join(WorkerRegistration("other")),
        )
        alone = await take_one(backend, worker, run)
        await settle(backend, done(alone, *urls(2)))
        assert len(await take(backend, worker, run)) == 1
        assert await take(backend, other, run) == []
