"""The duty of deciding the desired number of workers."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence

import pytest
from tests.unit.keeper.conftest import Harness

from smartspider.core.errors import FrontierUnavailable, LeadershipLost
from smartspider.core.workers.scaling import LaneDemand, ScalingDecision, ScalingOptions
from smartspider.core.workers.worker import WorkerHealth, WorkerRegistration
from smartspider.interfaces.leadership import Term
from smartspider.interfaces.worker_registry import HeartbeatReport
from smartspider.keeper.scaling import REPEAT_S, DecideWorkers
from smartspider_testing.backends.cluster import ClusterBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts.actions import begin, urls
from smartspider_testing.contracts.backend import Backend
from smartspider_testing.servers import PristineDatabase, RedisServer


class Away:
    """A frontier that does not answer."""

    async def lanes(self, runs: Sequence[int], limit: int) -> dict[int, tuple[int, list[LaneDemand]]]:
        raise FrontierUnavailable(f"nothing of {len(runs)} runs, {limit} hosts each")


def duty_of(backend: Backend, **more: object) -> DecideWorkers:
    usual = {"store": backend.scaling, "demand": backend.demand, "workers": backend.workers}
    return DecideWorkers(**{**usual, "now": backend.clock.now, **more})  # type: ignore[arg-type]  # named as they are


async def lead(backend: Backend) -> Term:
    term = await backend.leadership.take("tests", 1e9)
    assert term is not None
    return term


async def decided(backend: Backend) -> ScalingDecision:
    figure = await backend.scaling.decision()
    assert figure is not None
    return figure


@pytest.fixture
async def cluster(
    store_database: PristineDatabase, empty_redis: RedisServer
) -> AsyncIterator[ClusterBackend]:
    backend = ClusterBackend(store_database.reset(), ManualClock(), empty_redis.url)
    yield backend
    await backend.close()


async def grows_and_shrinks(backend: Backend) -> None:
    term, duty = await lead(backend), duty_of(backend)
    await duty.do(term)
    assert await decided(backend) == ScalingDecision(0, "there is nothing to fetch", backend.clock.now())
    pages = [page for host in "abc" for page in urls(50, host=f"{host}.example")]
    run = await begin(backend, *pages, per_host=4)
    worker = await backend.frontier.join(WorkerRegistration("w", slots=2))
    await backend.workers.beat(
        worker, HeartbeatReport(2, 0.5, 0, health=WorkerHealth(request_s=10.0, pages=50))
    )
    await duty.do(term)
    told = await decided(backend)
    assert (told.desired, told.throughput.slots, told.throughput.request_s) == (6, 2, 10.0)
    assert told.reason == "politeness allows 12 requests at a time at 3 hosts; one worker makes up to 2"
    assert [(line.run_id, line.open, line.hosts) for line in told.runs] == [(run.id, 150, 3)]
    await backend.store.set_state(run.id, "paused")
    await backend.clock.advance(30.0)
    await duty.do(term)
    assert (await decided(backend)).desired == 6
    await backend.clock.advance(31.0)
    await duty.do(term)
    assert (await decided(backend)).desired == 0


async def test_a_folder_grows_and_shrinks(harness: Harness) -> None:
    await grows_and_shrinks(harness.backend)


async def test_a_cluster_grows_and_shrinks(cluster: ClusterBackend) -> None:
    await grows_and_shrinks(cluster)


async def test_a_decision_that_changes_is_logged(harness: Harness, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    term, duty = await lead(harness.backend), duty_of(harness.backend)
    await duty.do(term)
    await begin(harness.backend, *urls(5))
    await duty.do(term)
    await duty.do(term)
    lines = [record.getMessage() for record in caplog.records if "scaling" in record.getMessage()]
    assert len(lines) == 2
    assert lines[0] == "scaling: 0 workers are desired: there is nothing to fetch"
    assert lines[1].startswith("scaling: 1 worker is desired, 0 were: 5 pages to fetch")


async def test_nothing_is_written_while_there_is_nothing_to_say(harness: Harness) -> None:
    term, duty = await lead(harness.backend), duty_of(harness.backend)
    await duty.do(term)
    first = await decided(harness.backend)
    await harness.clock.advance(REPEAT_S / 2)
    await duty.do(term)
    assert await decided(harness.backend) == first
    await harness.clock.advance(REPEAT_S / 2)
    await duty.do(term)
    assert (await decided(harness.backend)).at == first.at + REPEAT_S


async def test_while_the_frontier_is_away_the_decision_stays(harness: Harness) -> None:
    term = await lead(harness.backend)
    await begin(harness.backend, *urls(500), per_host=64)
    await duty_of(harness.backend, options=ScalingOptions(horizon_s=1.0)).do(term)
    before = await decided(harness.backend)
    assert before.desired > 1
    await harness.clock.advance(600.0)
    await duty_of(harness.backend, demand=Away()).do(term)
    assert await decided(harness.backend) == before


async def test_a_new_leader_goes_on_with_what_the_last_one_said(harness: Harness) -> None:
    await harness.backend.scaling.save(
        (await lead(harness.backend)).epoch, ScalingDecision(5, "much", harness.clock.now())
    )
    await harness.clock.advance(20.0)
    term, duty = await lead(harness.backend), duty_of(harness.backend)
    await duty.do(term)
    assert (await decided(harness.backend)).desired == 5
    await harness.clock.advance(41.0)
    await duty.do(term)
    assert (await decided(harness.backend)).desired == 0


async def test_a_leader_whose_term_is_over_decides_nothing(harness: Harness) -> None:
    old, duty = await lead(harness.backend), duty_of(harness.backend)
    await harness.backend.leadership.resign("tests")
    await harness.backend.leadership.take("other", 10.0)
    with pytest.raises(LeadershipLost):
        await duty.do(old)
    assert await harness.backend.scaling.decision() is None
