"""Frontier 10, rule 7: a request that keeps losing workers is tried alone before it is buried."""

from __future__ import annotations

from smartspider.core.lease import Lease
from smartspider.core.runs import Run
from smartspider.core.workers import WorkerCard
from smartspider_testing.contracts.acts import (
    HOST,
    begin,
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
from smartspider_testing.contracts.ground import Ground, OnGround

OFTEN = 10
"""More often than any request may come back."""


async def lose_until_alone(ground: Ground, run: Run) -> Lease:
    """Lose workers with everything they hold until a lease is handed out alone; its worker lives."""
    for number in range(OFTEN):
        worker = await ground.frontier.join(WorkerCard(f"victim {number}"))
        leases = await take(ground, worker, run)
        if leases[0].is_alone:
            assert len(leases) == 1
            return leases[0]
        await ground.lose(worker)
        await ground.frontier.reclaim()
    raise AssertionError("nothing was ever handed out alone")


class SuspectContract(OnGround):
    """A crash is not a failure of the URL, unless it keeps crashing."""

    async def test_a_suspect_is_handed_out_alone(self, ground: Ground) -> None:
        """Frontier 10: to a worker with empty hands, who gets nothing beside it."""
        run = await begin(ground, "killer", "other")
        lease = await lose_until_alone(ground, run)
        assert lease.attempts == 0
        assert lease.returns >= 2
        holder = (await record(ground, run, lease.request)).place
        assert holder.startswith("leased by victim")

    async def test_a_worker_with_a_suspect_gets_nothing_else(self, ground: Ground) -> None:
        """Frontier 10: although it asks."""
        run = await begin(ground, "killer")
        for number in range(OFTEN):
            worker = await ground.frontier.join(WorkerCard(f"w{number}"))
            if (await take_one(ground, worker, run)).is_alone:
                break
            await ground.lose(worker)
            await ground.frontier.reclaim()
        other = await begin(ground, *urls(5))
        assert await take(ground, worker, run, other) == []
        assert len(await take(ground, await ground.frontier.join(WorkerCard("free")), run, other)) == 5

    async def test_a_busy_worker_does_not_get_a_suspect(self, ground: Ground) -> None:
        """Frontier 10: and gets nothing else of that run until its hands are empty."""
        run = await begin(ground, "killer")
        other = await begin(ground, url("long", host="b.example"))
        busy = await ground.frontier.join(WorkerCard("busy"))
        long = await take_one(ground, busy, other)
        lease = await lose_until_alone(ground, run)
        await ground.frontier.release([lease])
        assert await take(ground, busy, run) == []
        await settle(ground, done(long))
        assert (await take_one(ground, busy, run)).is_alone

    async def test_a_suspect_that_was_released_is_still_one(self, ground: Ground) -> None:
        """Frontier 7 and 10."""
        run = await begin(ground, "killer")
        lease = await lose_until_alone(ground, run)
        await ground.frontier.release([lease])
        worker = await ground.frontier.join(WorkerCard("next"))
        assert (await take_one(ground, worker, run)).is_alone

    async def test_a_suspect_that_loses_every_worker_is_buried(self, ground: Ground) -> None:
        """Rule 7: with its reason, and without using up its attempts; the rest of the run is done."""
        run = await begin(ground, "killer", "good")
        alone = 0
        for number in range(5 * OFTEN):
            worker = await ground.frontier.join(WorkerCard(f"w{number}"))
            leases = await take(ground, worker, run)
            if not leases:
                break
            alone += leases[0].is_alone
            if any(lease.request.url.endswith("killer") for lease in leases):
                await ground.lose(worker)
                await ground.frontier.reclaim()
            else:
                await settle(ground, *(done(lease) for lease in leases))
        found = await record(ground, run, "killer")
        assert (found.state, found.attempts) == ("dead", 0)
        assert "crash" in found.reason
        assert alone >= 2
        assert await states(ground, run, "good") == ["done"]
        assert (await ground.store.finish(run.id)).counters.dead == 1

    async def test_a_suspect_that_comes_through_is_done(self, ground: Ground) -> None:
        """Rule 7: the innocent that was in the wrong hands."""
        run = await begin(ground, "innocent")
        lease = await lose_until_alone(ground, run)
        await settle(ground, done(lease))
        assert (await ground.store.finish(run.id)).state == "completed"

    async def test_a_suspect_that_fails_is_retried_like_any_other(self, ground: Ground) -> None:
        """Rule 7: it did not take its worker with it."""
        run = await begin(ground, "innocent", *urls(3))
        lease = await lose_until_alone(ground, run)
        await settle(ground, failed(lease, delay_s=1.0))
        await ground.clock.advance(1.0)
        assert (await record(ground, run, lease.request)).attempts == 1
        worker = await ground.frontier.join(WorkerCard("next"))
        for _ in range(OFTEN):
            leases = await take(ground, worker, run)
            await settle(ground, *(done(lease) for lease in leases))
        assert (await ground.store.finish(run.id)).state == "completed"

    async def test_a_suspect_behind_a_closed_gate_keeps_no_one_waiting(self, ground: Ground) -> None:
        """Frontier 10, rule 20: other hosts and other runs go on; it comes when its gate opens."""
        run = await begin(ground, "killer")
        lease = await lose_until_alone(ground, run)
        await ground.frontier.release([lease])
        await ground.frontier.hold_host(HOST, 600.0, "Retry-After")
        other = await begin(ground, url("x", host="b.example"))
        worker = await ground.frontier.join(WorkerCard("next"))
        batch = await ground.frontier.lease(worker, 5, [run.id, other.id])
        assert [lease.request.host for lease in batch.leases] == ["b.example"]
        assert batch.next_at is not None
        assert batch.next_at > ground.clock.now() + 590.0
        await settle(ground, done(batch.leases[0]))
        await ground.clock.advance(601.0)
        assert (await take_one(ground, worker, run)).is_alone

    async def test_a_suspect_counts_towards_the_concurrency_of_its_run(self, ground: Ground) -> None:
        """Frontier 4 and 10."""
        run = await begin(ground, "killer", concurrency=1)
        lease = await lose_until_alone(ground, run)
        await ground.frontier.release([lease])
        worker, other = (
            await ground.frontier.join(WorkerCard("one")),
            await ground.frontier.join(WorkerCard("other")),
        )
        alone = await take_one(ground, worker, run)
        await settle(ground, done(alone, *urls(2)))
        assert len(await take(ground, worker, run)) == 1
        assert await take(ground, other, run) == []
