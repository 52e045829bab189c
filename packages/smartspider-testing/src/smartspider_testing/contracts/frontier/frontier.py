"""The contract of `interfaces/frontier.py`: queues and leases. Tests name the promise they check."""

from __future__ import annotations

import json
import random

import pytest

from smartspider.core.requests.request import Extras, make_request
from smartspider.core.runs.run import RunState
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import (
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
from smartspider_testing.contracts.backend import Backend
from smartspider_testing.contracts.frontier.gates import GateContract
from smartspider_testing.contracts.frontier.own_pace import OwnPaceContract
from smartspider_testing.contracts.frontier.run_choice import RunChoiceContract
from smartspider_testing.contracts.frontier.run_weights import RunWeightContract
from smartspider_testing.contracts.frontier.suspects import SuspectContract
from smartspider_testing.contracts.frontier.windows_ahead import WindowsAheadContract

LONG_S = 3600.0
"""Longer than any lease."""


class FrontierContract(
    GateContract,
    OwnPaceContract,
    RunChoiceContract,
    RunWeightContract,
    SuspectContract,
    WindowsAheadContract,
):
    """A frontier leases every open request to one worker at a time, politely."""

    async def test_offering_what_is_live_or_closed_does_nothing(self, backend: Backend) -> None:
        """Frontier 1, rule 5: queued, waiting, leased and closed, again and again, by anyone."""
        run = await begin(backend, "queued", "leased", "waiting", "closed")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = {lease.request.url.rpartition("/")[2]: lease for lease in await take(backend, worker, run)}
        await backend.frontier.release([leases["queued"]])
        await settle(backend, failed(leases["waiting"], delay_s=60.0), done(leases["closed"]))
        ids = [lease.url_id for lease in leases.values()]
        other = await backend.another()
        for view in (backend, other, backend):
            assert await view.frontier.offer(run.id, ids + ids) == 0
        await backend.clock.advance(60.0)
        await settle(backend, done(leases["leased"]))
        assert await crawl(backend, worker, run) == {f"http://{HOST}/queued": 1, f"http://{HOST}/waiting": 1}

    async def test_offering_under_another_run_does_nothing(self, backend: Backend) -> None:
        """Frontier 1: a row belongs to one run."""
        run, other = await begin(backend, "one"), await begin(backend, "two")
        row = await record(backend, run, "one")
        assert await backend.frontier.offer(other.id, [row.id, row.id + 999]) == 0
        worker = await backend.frontier.join(WorkerRegistration("w"))
        assert [lease.request.url for lease in await take(backend, worker, other)] == [f"http://{HOST}/two"]

    async def test_leases_come_by_priority_then_first_found_first(self, backend: Backend) -> None:
        """Frontier 2."""
        run = await begin(backend, "seed")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        children = [
            url(f"{priority}-{number}", priority=priority) for number in range(3) for priority in (0, 5, -5)
        ]
        await settle(backend, done(await take_one(backend, worker, run), *children))
        order = [(await take_one(backend, worker, run)).request.url.rpartition("/")[2] for _ in children]
        assert order == ["5-0", "5-1", "5-2", "0-0", "0-1", "0-2", "-5-0", "-5-1", "-5-2"]

    async def test_priority_holds_between_hosts(self, backend: Backend) -> None:
        """Frontier 2: the best of all open hosts comes first."""
        run = await begin(backend, *(url("p", host=f"h{n}.example", priority=n) for n in (3, 9, 1, 7)))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        got = [(await take_one(backend, worker, run)).request.priority for _ in range(4)]
        assert got == [9, 7, 3, 1]

    async def test_a_request_comes_back_as_it_went_in(self, backend: Backend) -> None:
        """Frontier 2: method, headers, body, meta, page type and depth survive the queue."""
        extras = Extras("POST", (("x", "y"),), b"\x00\xff", {"k": [1, "ü"]})
        entry = make_request(
            "http://a.example/x", page="detail", priority=3, depth=7, is_entry=True, extras=extras
        )
        run = await begin(backend, entry)
        assert (
            await take_one(backend, await backend.frontier.join(WorkerRegistration("w")), run)
        ).request == entry

    async def test_tokens_only_grow(self, backend: Backend) -> None:
        """Frontier 3, rule 6: also for another process and after everything was opened again."""
        run = await begin(backend, *urls(40))
        tokens = []
        for _ in range(4):
            other = await backend.another()
            for view in (backend, other):
                worker = await view.frontier.join(WorkerRegistration("w"))
                tokens += [lease.token for lease in await take(view, worker, run, want=5)]
            await other.close()
            await backend.reopen()
        assert tokens == sorted(set(tokens))
        assert len(tokens) == 40

    async def test_a_worker_gets_nothing_of_a_run_that_needs_more_than_it_has(self, backend: Backend) -> None:
        """Frontier 12: runs of both kinds at the same host, asked for together."""
        plain = await begin(backend, *urls(4), name="plain")
        rendered = await begin(backend, *urls(4), name="rendered", mode="browser")
        runs = [plain.id, rendered.id]
        worker = await backend.frontier.join(WorkerRegistration("http"))
        able = await backend.frontier.join(
            WorkerRegistration("all", capabilities=frozenset({"http", "browser"}))
        )
        refused = await backend.frontier.lease(worker, 8, [rendered.id])
        assert (refused.leases, refused.next_at) == ([], None)
        leases = (await backend.frontier.lease(worker, 8, runs)).leases
        assert {lease.run_id for lease in leases} == {plain.id}
        assert len(leases) == 4
        capabilities = frozenset({"http", "browser"})
        others = (await backend.frontier.lease(able, 8, runs, capabilities=capabilities)).leases
        assert {lease.run_id for lease in others} == {rendered.id}
        assert len(others) == 4
        assert (await backend.store.get_run(rendered.id)).needs == {"browser"}
        found = {each.name: each.capabilities for each in await backend.workers.find()}
        assert found == {"http": {"http"}, "all": capabilities}

    async def test_no_more_is_handed_out_than_asked_for(self, backend: Backend) -> None:
        """Frontier 4: nor more than there is."""
        run = await begin(backend, *urls(5))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        assert [len(await take(backend, worker, run, want=want)) for want in (0, 2, 9, 9)] == [0, 2, 3, 0]

    async def test_a_run_has_no_more_in_flight_than_its_concurrency(self, backend: Backend) -> None:
        """Frontier 4: over all workers."""
        run = await begin(backend, *urls(9), concurrency=3)
        workers = [await backend.frontier.join(WorkerRegistration(name)) for name in "ab"]
        first = await take(backend, workers[0], run, want=2)
        second = await take(backend, workers[1], run, want=9)
        assert (len(first), len(second), await take(backend, workers[0], run)) == (2, 1, [])
        assert (await backend.store.get_run(run.id)).in_flight == 3
        await settle(backend, done(first[0]))
        assert len(await take(backend, workers[1], run)) == 1

    @pytest.mark.parametrize("state", ["paused", "stopping", "stopped", "cancelled", "queued"])
    async def test_a_run_that_does_not_lease_hands_out_nothing(
        self, backend: Backend, state: RunState
    ) -> None:
        """Frontier 5, rule 9."""
        run = await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        if state == "queued":
            await backend.store.set_state(run.id, "paused")
        await backend.store.set_state(run.id, state)
        assert await take(backend, worker, run) == []
        if state in ("paused", "stopped", "queued"):
            await backend.store.set_state(run.id, "running")
            assert len(await take(backend, worker, run)) == 1

    async def test_renewing_keeps_a_lease_and_names_the_lost_ones(self, backend: Backend) -> None:
        """Frontier 6, rule 6."""
        run = await begin(backend, "kept", "lost")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        kept, lost = await take(backend, worker, run)
        for _ in range(10):
            await backend.clock.advance((kept.deadline_at - backend.clock.now()) / 2 if _ == 0 else 25.0)
            assert await backend.frontier.renew([kept]) == []
        assert await reclaim(backend) == {"w": 1}
        assert await backend.frontier.renew([kept, lost]) == [lost]
        again = await take_one(backend, worker, run)
        assert again.url_id == lost.url_id
        assert await backend.frontier.renew([lost]) == [lost]

    async def test_released_leases_are_queued_at_once_and_nothing_is_counted(self, backend: Backend) -> None:
        """Frontier 7."""
        run = await begin(backend, "one", "two")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run)
        await backend.frontier.release(leases)
        await backend.frontier.release(leases)
        again = await take(backend, worker, run)
        assert [(lease.url_id, lease.attempts, lease.returns) for lease in again] == [
            (lease.url_id, 0, 0) for lease in leases
        ]

    async def test_releasing_a_lost_lease_does_not_touch_the_new_holder(self, backend: Backend) -> None:
        """Frontier 7, rule 6: stale tokens do nothing."""
        run = await begin(backend, "one")
        slow, fast = [await backend.frontier.join(WorkerRegistration(name)) for name in ("slow", "fast")]
        old = await take_one(backend, slow, run)
        await backend.clock.advance(LONG_S)
        await backend.frontier.reclaim()
        new = await take_one(backend, fast, run)
        await backend.frontier.release([old])
        assert await take(backend, slow, run) == []
        assert await backend.frontier.renew([new]) == []

    async def test_leaving_gives_back_what_the_worker_held(self, backend: Backend) -> None:
        """Frontier 7."""
        run = await begin(backend, *urls(3))
        leaver, stayer = [
            await backend.frontier.join(WorkerRegistration(name)) for name in ("leaver", "stayer")
        ]
        await take(backend, leaver, run)
        await backend.frontier.leave(leaver)
        assert [(lease.attempts, lease.returns) for lease in await take(backend, stayer, run)] == [(0, 0)] * 3
        assert await reclaim(backend) == {}

    async def test_leases_of_a_dead_worker_return_at_once(self, backend: Backend) -> None:
        """Frontier 8, rule 7: another process sees it without waiting; it counts nothing against the URL."""
        run = await begin(backend, *urls(3))
        other = await backend.another()
        dead, alive = (
            await backend.frontier.join(WorkerRegistration("dead")),
            await other.frontier.join(WorkerRegistration("alive")),
        )
        assert len(await take(backend, dead, run, want=2)) == 2
        assert len(await take(other, alive, run)) == 1
        assert await reclaim(other) == {}
        await backend.lose(dead)
        assert await reclaim(other) == {"dead": 2}
        assert await reclaim(other) == {}
        again = await take(other, alive, run)
        assert [(lease.attempts, lease.returns) for lease in again] == [(0, 1)] * 2
        assert (await backend.store.get_run(run.id)).counters.returns == 2
        told = [event for event in await backend.events.of_run(run.id) if event.name == "leases.returned"]
        assert [json.loads(event.data) for event in told] == [{"count": 2, "worker": "dead"}]

    async def test_a_process_that_was_killed_leaves_nothing_behind(self, backend: Backend) -> None:
        """Frontier 8: the next process takes its leases back without waiting for a deadline."""
        run = await begin(backend, "one")
        await take_one(backend, await backend.frontier.join(WorkerRegistration("killed")), run)
        await backend.reopen()
        assert await reclaim(backend) == {"killed": 1}
        assert len(await take(backend, await backend.frontier.join(WorkerRegistration("next")), run)) == 1

    async def test_leases_past_their_deadline_return(self, backend: Backend) -> None:
        """Frontier 8, rule 6: of a worker that lives and is silent."""
        run = await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("silent"))
        lease = await take_one(backend, worker, run)
        await backend.clock.advance(lease.deadline_at - backend.clock.now() - 0.01)
        assert await reclaim(backend) == {}
        await backend.clock.advance(0.02)
        assert await reclaim(backend) == {"silent": 1}
        again = await take_one(backend, worker, run)
        assert (again.url_id, again.returns, again.attempts) == (lease.url_id, 1, 0)
        assert again.token > lease.token

    async def test_what_returns_while_the_run_is_paused_waits_for_it(self, backend: Backend) -> None:
        """Frontier 5 and 8."""
        run = await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await take_one(backend, worker, run)
        await backend.store.set_state(run.id, "paused")
        await backend.clock.advance(LONG_S)
        assert await reclaim(backend) == {"w": 1}
        assert await take(backend, worker, run) == []
        await backend.store.set_state(run.id, "running")
        assert len(await take(backend, worker, run)) == 1

    async def test_next_at_says_when_asking_makes_sense(self, backend: Backend) -> None:
        """A batch names the moment of the next slot, the next retry, or nothing."""
        run = await begin(backend, *urls(2), delay_s=2.0)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        batch = await backend.frontier.lease(worker, 9, [run.id])
        assert len(batch.leases) == 1
        assert batch.next_at is not None
        await backend.clock.advance(batch.next_at - batch.now)
        batch = await backend.frontier.lease(worker, 9, [run.id])
        assert (len(batch.leases), batch.next_at) == (1, None)
        await settle(backend, failed(batch.leases[0], delay_s=30.0))
        batch = await backend.frontier.lease(worker, 9, [run.id])
        assert batch.next_at == pytest.approx(backend.clock.now() + 30.0)

    async def test_every_request_is_handed_out_once_whoever_asks(self, backend: Backend) -> None:
        """Frontier 1 and 8: two processes, leases kept, released, lost and settled in any order."""
        draw = random.Random(7)  # noqa: S311 - repeatable, no secret
        run = await begin(backend, *urls(60))
        views = [backend, await backend.another()]
        workers = [
            await view.frontier.join(WorkerRegistration(f"w{number}")) for number, view in enumerate(views)
        ]
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
                    workers[which] = await view.frontier.join(WorkerRegistration("next"))
                case _:
                    await settle(view, *(done(lease) for lease in leases))
                    finished |= {lease.url_id for lease in leases}
        assert (await backend.store.finish(run.id)).state == "completed"
        assert (await backend.store.get_run(run.id)).counters.done == 60
        assert await items(backend, run) == []
        assert set(await states(backend, run, *(f"p{number}" for number in range(60)))) == {"done"}

    async def test_a_closed_request_is_never_handed_out(self, backend: Backend) -> None:
        """Frontier 1: whatever state it was closed with."""
        run = await begin(backend, *urls(5))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        ends = ("done", "missing", "skipped", "dead", "broken")
        leases = await take(backend, worker, run)
        await settle(backend, *(closed(lease, end) for lease, end in zip(leases, ends, strict=True)))
        assert await backend.frontier.offer(run.id, [lease.url_id for lease in leases]) == 0
        assert await take(backend, worker, run) == []
