"""The contract of `interfaces/frontier.py`; tests name the promise they check."""

from __future__ import annotations

import pytest

from smartspider.core.errors import LeadershipLost
from smartspider.core.frontier.lease import Lease
from smartspider.core.workers.scaling import (
    LaneDemand,
    RunDemand,
    RunEstimate,
    ScalingDecision,
    WorkerThroughput,
)
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import begin, plan_of, refused, settle, take, url, urls
from smartspider_testing.contracts.backend import Backend, BackendContract

LINE = RunEstimate(7, 120, 3, 6.0, 2.5, "gates of 3 hosts let 6 requests be in flight")
FIGURE = ScalingDecision(3, "much to do", 12.5, (LINE,), WorkerThroughput(0.25, 0.02, 16))


async def looked(backend: Backend, run_id: int, limit: int = 200) -> tuple[int, dict[str, LaneDemand]]:
    """Return the demand of a run."""
    count, lanes = (await backend.demand.lanes([run_id], limit))[run_id]
    return count, {lane.host: lane for lane in lanes}


class ScalingContract(BackendContract):
    """The number of wanted workers, and the figures it is computed from."""

    async def test_a_figure_is_kept_for_the_leader_and_told_to_all(self, backend: Backend) -> None:
        """Scaling store 1, 2."""
        assert await backend.scaling.decision() is None
        term = await backend.leadership.take("one", 10.0)
        assert term is not None
        await backend.scaling.save(term.epoch, FIGURE)
        other = await backend.another()
        assert await other.scaling.decision() == FIGURE

    async def test_a_leader_of_the_past_says_nothing(self, backend: Backend) -> None:
        """Scaling store 1."""
        old = await backend.leadership.take("one", 10.0)
        await backend.leadership.resign("one")
        new = await backend.leadership.take("two", 10.0)
        assert old is not None
        assert new is not None
        await backend.scaling.save(new.epoch, FIGURE)
        with pytest.raises(LeadershipLost):
            await backend.scaling.save(old.epoch, ScalingDecision(9, "late"))
        assert await backend.scaling.decision() == FIGURE

    async def test_the_figure_is_among_the_metrics(self, backend: Backend) -> None:
        """Scaling store 2: the number of live workers until the first decision."""
        await backend.frontier.join(WorkerRegistration("worker 1"))
        assert (await backend.metrics.gauges())["smartspider_workers_desired", ()] == 1.0
        term = await backend.leadership.take("one", 10.0)
        assert term is not None
        await backend.scaling.save(term.epoch, FIGURE)
        assert (await backend.metrics.gauges())["smartspider_workers_desired", ()] == 3.0

    async def test_runs_that_wait_or_work_are_told_with_what_is_open(self, backend: Backend) -> None:
        """Scaling store 3."""
        working = await begin(backend, *urls(3), concurrency=5)
        waiting = await backend.store.create_run(plan_of(*urls(2), name="other"))
        paused = await begin(backend, *urls(4), name="third")
        await backend.store.set_state(paused.id, "paused")
        assert await backend.scaling.runs() == [
            RunDemand(working.id, "running", 3, 5),
            RunDemand(waiting.id, "queued", 2, 64),
        ]

    async def test_the_hosts_of_a_run_are_told_with_their_gates(self, backend: Backend) -> None:
        """Demand 1."""
        pages = [*urls(5, host="a.example"), *urls(2, host="b.a.example")]
        run = await begin(backend, *pages, per_host=3, per_domain=4)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        first = await take(backend, worker, run, want=1)
        count, hosts = await looked(backend, run.id)
        assert count == 2
        taken = first[0].request.host
        for host, queued in (("a.example", 5), ("b.a.example", 2)):
            flying = int(host == taken)
            lane = LaneDemand(host, "a.example", queued - flying, flying, 0.0, 3, 4)
            assert hosts[host] == lane

    async def test_a_host_that_was_asked_to_wait_is_told_with_its_delay(self, backend: Backend) -> None:
        """Demand 1, 3: closed gates count as well, and the strictest run says how long."""
        run = await begin(backend, *urls(5), delay_s=0.5, per_host=4)
        strict = await begin(backend, *urls(5), name="strict", delay_s=2.0, per_host=2)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await backend.clock.advance(10.0)
        await take(backend, worker, run, strict, want=1)
        for one in (run, strict):
            count, hosts = await looked(backend, one.id)
            assert (count, hosts["a.example"].delay_s, hosts["a.example"].per_host) == (1, 2.0, 2)

    async def test_a_held_host_is_told_as_held(self, backend: Backend) -> None:
        """Demand 1: unless it opens soon."""
        run = await begin(backend, *urls(5), url("1", host="b.example"), adaptive=False)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases: list[Lease] = await take(backend, worker, run, want=64)
        held = next(lease for lease in leases if lease.request.host == "a.example")
        await settle(backend, refused(held, hold_s=60.0))
        rest = [lease for lease in leases if lease.url_id != held.url_id]
        await backend.frontier.release(rest)
        _, hosts = await looked(backend, run.id)
        assert {host: lane.is_held for host, lane in hosts.items()} == {"a.example": True, "b.example": False}
        await backend.clock.advance(55.0)
        _, hosts = await looked(backend, run.id)
        assert not hosts["a.example"].is_held

    async def test_no_more_hosts_are_looked_at_than_asked_for(self, backend: Backend) -> None:
        """Demand 2."""
        pages = [url("1", host=f"h{number}.example") for number in range(30)]
        run = await begin(backend, *pages)
        count, hosts = await looked(backend, run.id, limit=10)
        assert (count, len(hosts)) == (30, 10)

    async def test_a_waiting_run_reports_its_own_politeness(self, backend: Backend) -> None:
        """Demand 1: no worker works on it yet, so its own politeness applies."""
        run = await backend.store.create_run(plan_of(*urls(3), per_host=8, delay_s=0.0))
        count, hosts = await looked(backend, run.id)
        assert count == 1
        assert (hosts["a.example"].per_host, hosts["a.example"].delay_s) == (8, 0.0)

    async def test_a_run_without_anything_queued_has_no_hosts(self, backend: Backend) -> None:
        """Demand 1."""
        run = await begin(backend, *urls(2))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await take(backend, worker, run)
        assert await looked(backend, run.id) == (0, {})
