"""Rule 20: when a gate opens, the host chooses the run."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import begin, done, settle, take, take_one, url, urls
from smartspider_testing.contracts.backend import Backend, BackendContract

TICK_S = 0.05


async def share(backend: Backend, runs: list[Run], *, slots: int, want: int = 1) -> Counter[int]:
    """Let a worker per run lease in random order until `slots` are used. Return the number by run."""
    draw = random.Random(3)  # noqa: S311 - repeatable, no secret
    workers = {run.id: await backend.frontier.join(WorkerRegistration(run.task_name)) for run in runs}
    got: Counter[int] = Counter()
    while got.total() < slots:
        for run in draw.sample(runs, len(runs)):
            leases = await take(backend, workers[run.id], run, want=want)
            got[run.id] += len(leases)
            await settle(backend, *(done(lease) for lease in leases))
        await backend.clock.advance(TICK_S)
    return got


class RunChoiceContract(BackendContract):
    """Runs share a host by weight."""

    @pytest.mark.parametrize("delay_s", [0.0, 0.2])
    async def test_equal_runs_stay_within_ten_percent(self, backend: Backend, delay_s: float) -> None:
        """Rule 20."""
        runs = [await begin(backend, *urls(300), delay_s=delay_s, per_host=1) for _ in range(2)]
        got = await share(backend, runs, slots=200)
        assert abs(got[runs[0].id] - got[runs[1].id]) <= 20

    async def test_equal_runs_stay_equal_when_one_takes_more_at_a_time(self, backend: Backend) -> None:
        """Rule 20: a worker with a large hand does not get more."""
        greedy, modest = [await begin(backend, *urls(600)) for _ in range(2)]
        workers = [await backend.frontier.join(WorkerRegistration(name)) for name in ("greedy", "modest")]
        got = [0, 0]
        for _ in range(60):
            for number, (run, want) in enumerate([(greedy, 20), (modest, 5)]):
                leases = await take(backend, workers[number], run, want=want)
                got[number] += len(leases)
                await settle(backend, *(done(lease) for lease in leases))
            await backend.clock.advance(TICK_S)
        assert abs(got[0] - got[1]) <= 0.1 * sum(got)

    async def test_weights_divide_a_host(self, backend: Backend) -> None:
        """Rule 20."""
        light = await begin(backend, *urls(400), weight=1, per_host=1)
        heavy = await begin(backend, *urls(400), weight=3, per_host=1)
        got = await share(backend, [light, heavy], slots=200)
        assert got[heavy.id] / got[light.id] == pytest.approx(3.0, rel=0.15)

    async def test_a_run_that_comes_late_neither_starves_nor_takes_all(self, backend: Backend) -> None:
        """Rule 20: not even when it comes while the other has nothing queued for a moment."""
        old = await begin(backend, *urls(400), per_host=1)
        await share(backend, [old], slots=200)
        late = await begin(backend, *urls(400), per_host=1)
        got = await share(backend, [old, late], slots=100)
        assert 40 <= got[late.id] <= 60

    async def test_a_run_that_comes_between_two_pages_of_another_takes_not_all(
        self, backend: Backend
    ) -> None:
        """Rule 20: a chain of pages has an empty queue while its one page is fetched."""
        chain = await begin(backend, "start", per_host=1)
        worker = await backend.frontier.join(WorkerRegistration("chain"))
        for number in range(100):
            await settle(backend, done(await take_one(backend, worker, chain), url(f"c{number}")))
        last = await take_one(backend, worker, chain)
        late = await begin(backend, *urls(400, "late"), per_host=1)
        await settle(backend, done(last, *urls(400, "rest")))
        got = await share(backend, [chain, late], slots=100)
        assert 40 <= got[late.id] <= 60

    async def test_a_run_gathers_no_claim_while_it_does_not_ask(self, backend: Backend) -> None:
        """Rule 20: a pause does not make the others starve afterwards."""
        sleeper = await begin(backend, *urls(400), per_host=1)
        other = await begin(backend, *urls(400), per_host=1)
        await backend.store.set_state(sleeper.id, "paused")
        await share(backend, [other], slots=200)
        await backend.store.set_state(sleeper.id, "running")
        got = await share(backend, [sleeper, other], slots=100)
        assert 40 <= got[other.id] <= 60

    async def test_a_run_nobody_asks_for_keeps_no_one_waiting(self, backend: Backend) -> None:
        """Rule 20: its workers died, or it has none."""
        asked, abandoned = [await begin(backend, *urls(100), per_host=1) for _ in range(2)]
        await share(backend, [asked, abandoned], slots=20)
        await backend.clock.advance(1.0)
        got = await share(backend, [asked], slots=50)
        assert got[asked.id] == 50

    async def test_a_run_that_may_take_no_more_keeps_no_one_waiting(self, backend: Backend) -> None:
        """Rule 20: its share of other hosts is out, and it goes on asking."""
        capped = await begin(backend, url("slow", host="b.example"), *urls(50), concurrency=1)
        other = await begin(backend, *urls(50), per_host=1)
        workers = [await backend.frontier.join(WorkerRegistration(name)) for name in ("capped", "other")]
        assert len(await take(backend, workers[0], capped)) == 1
        served = 0
        for _ in range(20):
            assert await take(backend, workers[0], capped) == []
            for lease in await take(backend, workers[1], other):
                await settle(backend, done(lease))
                served += 1
            await backend.clock.advance(TICK_S)
        assert served >= 20

    async def test_many_runs_all_get_their_share(self, backend: Backend) -> None:
        """Rule 20: none starves."""
        runs = [await begin(backend, *urls(100), per_host=1) for _ in range(6)]
        got = await share(backend, runs, slots=180)
        assert min(got[run.id] for run in runs) >= 27
        assert max(got[run.id] for run in runs) <= 33
