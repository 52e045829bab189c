"""The promises of `interfaces/frontier.py`, tested by their numbers: queues and leases."""

from __future__ import annotations

import json
import random

import pytest

from smartspider.core.request import Extras, make_request
from smartspider.core.runs import RunState
from smartspider.core.workers import WorkerCard
from smartspider_testing.contracts.acts import (
    HOST,
    begin,
    closed,
    crawl,
    done,
    failed,
    items,
    reclaim,
    record,
    settle,
    states,
    take,
    take_one,
    url,
    urls,
)
from smartspider_testing.contracts.gates import GateContract
from smartspider_testing.contracts.ground import Ground
from smartspider_testing.contracts.shares import SharesContract
from smartspider_testing.contracts.sharing import SharingContract
from smartspider_testing.contracts.suspects import SuspectContract

LONG_S = 3600.0
"""Longer than any lease."""


class FrontierContract(GateContract, SharingContract, SharesContract, SuspectContract):
    """A frontier hands out every open request, one at a time, politely."""

    async def test_offering_what_is_live_or_closed_does_nothing(self, ground: Ground) -> None:
        """Frontier 1, rule 5: queued, waiting, leased and closed, again and again, by anyone."""
        run = await begin(ground, "queued", "leased", "waiting", "closed")
        worker = await ground.frontier.join(WorkerCard("w"))
        leases = {lease.request.url.rpartition("/")[2]: lease for lease in await take(ground, worker, run)}
        await ground.frontier.release([leases["queued"]])
        await settle(ground, failed(leases["waiting"], delay_s=60.0), done(leases["closed"]))
        ids = [lease.url_id for lease in leases.values()]
        other = await ground.another()
        for view in (ground, other, ground):
            assert await view.frontier.offer(run.id, ids + ids) == 0
        await ground.clock.advance(60.0)
        await settle(ground, done(leases["leased"]))
        assert await crawl(ground, worker, run) == {f"http://{HOST}/queued": 1, f"http://{HOST}/waiting": 1}

    async def test_offering_under_another_run_does_nothing(self, ground: Ground) -> None:
        """Frontier 1: a row belongs to one run."""
        run, other = await begin(ground, "one"), await begin(ground, "two")
        row = await record(ground, run, "one")
        assert await ground.frontier.offer(other.id, [row.id, row.id + 999]) == 0
        worker = await ground.frontier.join(WorkerCard("w"))
        assert [lease.request.url for lease in await take(ground, worker, other)] == [f"http://{HOST}/two"]

    async def test_leases_come_by_priority_then_first_found_first(self, ground: Ground) -> None:
        """Frontier 2."""
        run = await begin(ground, "seed")
        worker = await ground.frontier.join(WorkerCard("w"))
        children = [
            url(f"{priority}-{number}", priority=priority) for number in range(3) for priority in (0, 5, -5)
        ]
        await settle(ground, done(await take_one(ground, worker, run), *children))
        order = [(await take_one(ground, worker, run)).request.url.rpartition("/")[2] for _ in children]
        assert order == ["5-0", "5-1", "5-2", "0-0", "0-1", "0-2", "-5-0", "-5-1", "-5-2"]

    async def test_priority_holds_between_hosts(self, ground: Ground) -> None:
        """Frontier 2: the best of all open hosts comes first."""
        run = await begin(ground, *(url("p", host=f"h{n}.example", priority=n) for n in (3, 9, 1, 7)))
        worker = await ground.frontier.join(WorkerCard("w"))
        got = [(await take_one(ground, worker, run)).request.priority for _ in range(4)]
        assert got == [9, 7, 3, 1]

    async def test_a_request_comes_back_as_it_went_in(self, ground: Ground) -> None:
        """Frontier 2: method, headers, body, meta, page type and depth survive the queue."""
        extras = Extras("POST", (("x", "y"),), b"\x00\xff", {"k": [1, "ü"]})
        entry = make_request(
            "http://a.example/x", page="detail", priority=3, depth=7, is_entry=True, extras=extras
        )
        run = await begin(ground, entry)
        assert (await take_one(ground, await ground.frontier.join(WorkerCard("w")), run)).request == entry

    async def test_tokens_only_grow(self, ground: Ground) -> None:
        """Frontier 3, rule 6: also for another process and after everything was opened again."""
        run = await begin(ground, *urls(40))
        tokens = []
        for _ in range(4):
            other = await ground.another()
            for view in (ground, other):
                worker = await view.frontier.join(WorkerCard("w"))
                tokens += [lease.token for lease in await take(view, worker, run, want=5)]
            await other.close()
            await ground.reopen()
        assert tokens == sorted(set(tokens))
        assert len(tokens) == 40

    async def test_no_more_is_handed_out_than_asked_for(self, ground: Ground) -> None:
        """Frontier 4: nor more than there is."""
        run = await begin(ground, *urls(5))
        worker = await ground.frontier.join(WorkerCard("w"))
        assert [len(await take(ground, worker, run, want=want)) for want in (0, 2, 9, 9)] == [0, 2, 3, 0]

    async def test_a_run_has_no_more_in_flight_than_its_concurrency(self, ground: Ground) -> None:
        """Frontier 4: over all workers."""
        run = await begin(ground, *urls(9), concurrency=3)
        workers = [await ground.frontier.join(WorkerCard(name)) for name in "ab"]
        first = await take(ground, workers[0], run, want=2)
        second = await take(ground, workers[1], run, want=9)
        assert (len(first), len(second), await take(ground, workers[0], run)) == (2, 1, [])
        assert (await ground.store.get_run(run.id)).in_flight == 3
        await settle(ground, done(first[0]))
        assert len(await take(ground, workers[1], run)) == 1

    @pytest.mark.parametrize("state", ["paused", "stopping", "stopped", "cancelled", "queued"])
    async def test_a_run_that_does_not_lease_hands_out_nothing(self, ground: Ground, state: RunState) -> None:
        """Frontier 5, rule 9."""
        run = await begin(ground, "one")
        worker = await ground.frontier.join(WorkerCard("w"))
        if state == "queued":
            await ground.store.set_state(run.id, "paused")
        await ground.store.set_state(run.id, state)
        assert await take(ground, worker, run) == []
        if state in ("paused", "stopped", "queued"):
            await ground.store.set_state(run.id, "running")
            assert len(await take(ground, worker, run)) == 1

    async def test_renewing_keeps_a_lease_and_names_the_lost_ones(self, ground: Ground) -> None:
        """Frontier 6, rule 6."""
        run = await begin(ground, "kept", "lost")
        worker = await ground.frontier.join(WorkerCard("w"))
        kept, lost = await take(ground, worker, run)
        for _ in range(10):
            await ground.clock.advance((kept.deadline_at - ground.clock.now()) / 2 if _ == 0 else 25.0)
            assert await ground.frontier.renew([kept]) == []
        assert await reclaim(ground) == {"w": 1}
        assert await ground.frontier.renew([kept, lost]) == [lost]
        again = await take_one(ground, worker, run)
        assert again.url_id == lost.url_id
        assert await ground.frontier.renew([lost]) == [lost]

    async def test_released_leases_are_queued_at_once_and_nothing_is_counted(self, ground: Ground) -> None:
        """Frontier 7."""
        run = await begin(ground, "one", "two")
        worker = await ground.frontier.join(WorkerCard("w"))
        leases = await take(ground, worker, run)
        await ground.frontier.release(leases)
        await ground.frontier.release(leases)
        again = await take(ground, worker, run)
        assert [(lease.url_id, lease.attempts, lease.returns) for lease in again] == [
            (lease.url_id, 0, 0) for lease in leases
        ]

    async def test_releasing_a_lost_lease_does_not_touch_the_new_holder(self, ground: Ground) -> None:
        """Frontier 7, rule 6: stale tokens do nothing."""
        run = await begin(ground, "one")
        slow, fast = [await ground.frontier.join(WorkerCard(name)) for name in ("slow", "fast")]
        old = await take_one(ground, slow, run)
        await ground.clock.advance(LONG_S)
        await ground.frontier.reclaim()
        new = await take_one(ground, fast, run)
        await ground.frontier.release([old])
        assert await take(ground, slow, run) == []
        assert await ground.frontier.renew([new]) == []

    async def test_leaving_gives_back_what_the_worker_held(self, ground: Ground) -> None:
        """Frontier 7."""
        run = await begin(ground, *urls(3))
        leaver, stayer = [await ground.frontier.join(WorkerCard(name)) for name in ("leaver", "stayer")]
        await take(ground, leaver, run)
        await ground.frontier.leave(leaver)
        assert [(lease.attempts, lease.returns) for lease in await take(ground, stayer, run)] == [(0, 0)] * 3
        assert await reclaim(ground) == {}

    async def test_leases_of_a_dead_worker_return_at_once(self, ground: Ground) -> None:
        """Frontier 8, rule 7: another process sees it without waiting; it counts nothing against the URL."""
        run = await begin(ground, *urls(3))
        other = await ground.another()
        dead, alive = (
            await ground.frontier.join(WorkerCard("dead")),
            await other.frontier.join(WorkerCard("alive")),
        )
        assert len(await take(ground, dead, run, want=2)) == 2
        assert len(await take(other, alive, run)) == 1
        assert await reclaim(other) == {}
        await ground.lose(dead)
        assert await reclaim(other) == {"dead": 2}
        assert await reclaim(other) == {}
        again = await take(other, alive, run)
        assert [(lease.attempts, lease.returns) for lease in again] == [(0, 1)] * 2
        assert (await ground.store.get_run(run.id)).counters.returns == 2
        told = [event for event in await ground.events.of_run(run.id) if event.name == "leases.returned"]
        assert [json.loads(event.data) for event in told] == [{"count": 2, "worker": "dead"}]

    async def test_a_process_that_was_killed_leaves_nothing_behind(self, ground: Ground) -> None:
        """Frontier 8: the next process takes its leases back without waiting for a deadline."""
        run = await begin(ground, "one")
        await take_one(ground, await ground.frontier.join(WorkerCard("killed")), run)
        await ground.reopen()
        assert await reclaim(ground) == {"killed": 1}
        assert len(await take(ground, await ground.frontier.join(WorkerCard("next")), run)) == 1

    async def test_leases_past_their_deadline_return(self, ground: Ground) -> None:
        """Frontier 8, rule 6: of a worker that lives and is silent."""
        run = await begin(ground, "one")
        worker = await ground.frontier.join(WorkerCard("silent"))
        lease = await take_one(ground, worker, run)
        await ground.clock.advance(lease.deadline_at - ground.clock.now() - 0.01)
        assert await reclaim(ground) == {}
        await ground.clock.advance(0.02)
        assert await reclaim(ground) == {"silent": 1}
        again = await take_one(ground, worker, run)
        assert (again.url_id, again.returns, again.attempts) == (lease.url_id, 1, 0)
        assert again.token > lease.token

    async def test_what_returns_while_the_run_is_paused_waits_for_it(self, ground: Ground) -> None:
        """Frontier 5 and 8."""
        run = await begin(ground, "one")
        worker = await ground.frontier.join(WorkerCard("w"))
        await take_one(ground, worker, run)
        await ground.store.set_state(run.id, "paused")
        await ground.clock.advance(LONG_S)
        assert await reclaim(ground) == {"w": 1}
        assert await take(ground, worker, run) == []
        await ground.store.set_state(run.id, "running")
        assert len(await take(ground, worker, run)) == 1

    async def test_next_at_says_when_asking_makes_sense(self, ground: Ground) -> None:
        """A batch names the moment of the next slot, the next retry, or nothing."""
        run = await begin(ground, *urls(2), delay_s=2.0)
        worker = await ground.frontier.join(WorkerCard("w"))
        batch = await ground.frontier.lease(worker, 9, [run.id])
        assert len(batch.leases) == 1
        assert batch.next_at is not None
        await ground.clock.advance(batch.next_at - batch.now)
        batch = await ground.frontier.lease(worker, 9, [run.id])
        assert (len(batch.leases), batch.next_at) == (1, None)
        await settle(ground, failed(batch.leases[0], delay_s=30.0))
        batch = await ground.frontier.lease(worker, 9, [run.id])
        assert batch.next_at == pytest.approx(ground.clock.now() + 30.0)

    async def test_every_request_is_handed_out_once_whoever_asks(self, ground: Ground) -> None:
        """Frontier 1 and 8: two processes, leases kept, released, lost and settled in any order."""
        draw = random.Random(7)  # noqa: S311 - repeatable, no secret
        run = await begin(ground, *urls(60))
        views = [ground, await ground.another()]
        workers = [await view.frontier.join(WorkerCard(f"w{number}")) for number, view in enumerate(views)]
        finished: set[int] = set()
        while len(finished) < 60:
            which = draw.randrange(2)
            view, worker = views[which], workers[which]
            leases = await take(view, worker, run, want=draw.randint(1, 8))
            assert not finished & {lease.url_id for lease in leases}
            match draw.randrange(4):
                case 0:
                    await view.frontier.release(leases)
                case 1:
                    await view.lose(worker)
                    await views[1 - which].frontier.reclaim()
                    workers[which] = await view.frontier.join(WorkerCard("next"))
                case _:
                    await settle(view, *(done(lease) for lease in leases))
                    finished |= {lease.url_id for lease in leases}
        assert (await ground.store.finish(run.id)).state == "completed"
        assert (await ground.store.get_run(run.id)).counters.done == 60
        assert await items(ground, run) == []
        assert set(await states(ground, run, *(f"p{number}" for number in range(60)))) == {"done"}

    async def test_a_closed_request_is_never_handed_out(self, ground: Ground) -> None:
        """Frontier 1: whatever state it was closed with."""
        run = await begin(ground, *urls(5))
        worker = await ground.frontier.join(WorkerCard("w"))
        ends = ("done", "missing", "skipped", "dead", "broken")
        leases = await take(ground, worker, run)
        await settle(ground, *(closed(lease, end) for lease, end in zip(leases, ends, strict=True)))
        assert await ground.frontier.offer(run.id, [lease.url_id for lease in leases]) == 0
        assert await take(ground, worker, run) == []
