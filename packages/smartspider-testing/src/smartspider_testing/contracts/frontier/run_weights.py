"""Frontier 11: runs in one lease call share its result by weight."""

from __future__ import annotations

from collections import Counter

import pytest

from smartspider.core.frontier.lease import Lease
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import begin, done, settle, take, url, urls
from smartspider_testing.contracts.backend import Backend, BackendContract


def per_run(leases: list[Lease]) -> Counter[int]:
    """Return the number of leases by run."""
    return Counter(lease.run_id for lease in leases)


async def serve(backend: Backend, worker: int, runs: list[Run], *, want: int, times: int) -> Counter[int]:
    """Lease and settle repeatedly. Return the number of leases by run."""
    got: Counter[int] = Counter()
    for _ in range(times):
        leases = await take(backend, worker, *runs, want=want)
        got += per_run(leases)
        await settle(backend, *(done(lease) for lease in leases))
    return got


class RunWeightContract(BackendContract):
    """The slots of a worker are divided by weight."""

    async def test_a_run_with_a_huge_queue_gets_no_more_than_its_share(self, backend: Backend) -> None:
        """Frontier 11: in any order of the runs."""
        huge = await begin(backend, *urls(3_000, host="huge.example"))
        small = await begin(backend, *urls(40, host="small.example"))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        assert per_run(await take(backend, worker, huge, small, want=16)) == {huge.id: 8, small.id: 8}

    @pytest.mark.parametrize("want", [1, 2, 3, 16])
    async def test_equal_runs_get_the_same_in_the_long_run(self, backend: Backend, want: int) -> None:
        """Frontier 11: however few places there are at a time."""
        runs = [await begin(backend, *urls(120, host=f"h{number}.example")) for number in range(3)]
        worker = await backend.frontier.join(WorkerRegistration("w"))
        got = await serve(backend, worker, runs, want=want, times=96 // want)
        assert min(got[run.id] for run in runs) >= 28
        assert got.total() == 96 // want * want

    @pytest.mark.parametrize("want", [1, 2, 4, 16])
    async def test_weights_divide_what_is_handed_out(self, backend: Backend, want: int) -> None:
        """Frontier 11."""
        heavy = await begin(backend, *urls(200, host="heavy.example"), weight=3)
        light = await begin(backend, *urls(200, host="light.example"), weight=1)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        got = await serve(backend, worker, [light, heavy], want=want, times=160 // want)
        assert got[heavy.id] == pytest.approx(120, abs=4)
        assert got[light.id] == pytest.approx(40, abs=4)

    async def test_what_a_run_cannot_use_the_others_get(self, backend: Backend) -> None:
        """Frontier 11: it has little to do, may have little in flight, or its hosts take no more."""
        short = await begin(backend, *urls(2, host="short.example"))
        capped = await begin(backend, *urls(50, host="capped.example"), concurrency=1)
        polite = await begin(backend, *urls(50, host="polite.example"), delay_s=1.0)
        able = [await begin(backend, *urls(50, host=f"able{number}.example")) for number in range(2)]
        worker = await backend.frontier.join(WorkerRegistration("w"))
        got = per_run(await take(backend, worker, short, capped, polite, *able, want=20))
        assert (got[short.id], got[capped.id], got[polite.id]) == (2, 1, 1)
        assert [got[run.id] for run in able] == [8, 8]

    async def test_what_the_worker_holds_counts_for_its_share(self, backend: Backend) -> None:
        """Frontier 11: a run with slow pages does not take one place after the other for good."""
        slow = await begin(backend, *urls(100, host="slow.example"))
        quick = await begin(backend, *urls(100, host="quick.example"))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        assert len(await take(backend, worker, slow, want=6)) == 6
        assert per_run(await take(backend, worker, slow, quick, want=2)) == {quick.id: 2}
        for _ in range(10):
            leases = await take(backend, worker, slow, quick, want=2)
            assert per_run(leases) == {quick.id: 2}
            await settle(backend, *(done(lease) for lease in leases))

    async def test_what_others_hold_does_not(self, backend: Backend) -> None:
        """Frontier 11: each worker divides its own places; the run's concurrency bounds all of them."""
        one, two = [await begin(backend, *urls(100, host=f"{name}.example")) for name in ("one", "two")]
        first, second = [
            await backend.frontier.join(WorkerRegistration(name)) for name in ("first", "second")
        ]
        assert len(await take(backend, first, one, want=8)) == 8
        assert per_run(await take(backend, second, one, two, want=8)) == {one.id: 4, two.id: 4}

    async def test_more_runs_than_places_all_get_their_turn(self, backend: Backend) -> None:
        """Frontier 11: none starves."""
        runs = [await begin(backend, *urls(9, host=f"h{number}.example")) for number in range(12)]
        worker = await backend.frontier.join(WorkerRegistration("w"))
        got = await serve(backend, worker, runs, want=4, times=6)
        assert got == {run.id: 2 for run in runs}

    async def test_a_run_gathers_no_claim_while_it_has_nothing_to_do(self, backend: Backend) -> None:
        """Frontier 11: when it has, it shares from then on."""
        idle = await begin(backend, url("first", host="idle.example"))
        busy = await begin(backend, *urls(300, host="busy.example"))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        (only,) = await take(backend, worker, idle, want=1)
        await serve(backend, worker, [idle, busy], want=1, times=100)
        await settle(backend, done(only, *urls(100, host="idle.example")))
        got = await serve(backend, worker, [idle, busy], want=1, times=40)
        assert got[busy.id] >= 18

    async def test_a_suspect_of_any_run_gets_the_worker_for_itself(self, backend: Backend) -> None:
        """Frontier 10 and 11: it does not wait for the work of the other runs to end."""
        busy = await begin(backend, *urls(300, host="busy.example"))
        run = await begin(backend, url("suspect", host="other.example"))
        for number in range(3):
            victim = await backend.frontier.join(WorkerRegistration(f"victim {number}"))
            await take(backend, victim, run)
            await backend.lose(victim)
            await backend.frontier.reclaim()
        worker = await backend.frontier.join(WorkerRegistration("w"))
        (alone,) = await take(backend, worker, busy, run)
        assert (alone.run_id, alone.is_alone) == (run.id, True)
        assert await take(backend, worker, busy, run) == []
        await settle(backend, done(alone))
        assert len(await take(backend, worker, busy, run, want=4)) == 4

    async def test_runs_that_do_not_lease_take_no_share(self, backend: Backend) -> None:
        """Frontier 5 and 11."""
        paused, running = [await begin(backend, *urls(50, host=f"{name}.example")) for name in "ab"]
        await backend.store.set_state(paused.id, "paused")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        batch = await backend.frontier.lease(worker, 10, [paused.id, running.id, 10**9])
        assert per_run(batch.leases) == {running.id: 10}
