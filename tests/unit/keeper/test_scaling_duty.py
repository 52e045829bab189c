"""The duty of saying how many workers are wanted."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence

import pytest
from tests.unit.keeper.conftest import Desk

from smartspider.core.errors import FrontierUnavailable, TermOver
from smartspider.core.scaling import Aims, Figure, LaneDemand
from smartspider.core.workers import Form, WorkerCard
from smartspider.interfaces.leadership import Term
from smartspider.interfaces.worker_registry import Beat
from smartspider.keeper.scaling import AGAIN_S, DecideWorkers, Scalable
from smartspider_testing.clock import ManualClock
from smartspider_testing.cluster import ClusterGround
from smartspider_testing.contracts.acts import begin, urls
from smartspider_testing.contracts.ground import Ground
from smartspider_testing.servers import PristineDatabase, RedisServer


class Away:
    """A frontier that does not answer."""

    async def lanes(self, runs: Sequence[int], limit: int) -> dict[int, tuple[int, list[LaneDemand]]]:
        raise FrontierUnavailable(f"nothing of {len(runs)} runs, {limit} hosts each")


def duty_of(ground: Ground, **more: object) -> DecideWorkers:
    usual = {"store": ground.scaling, "demand": ground.demand, "workers": ground.workers}
    return DecideWorkers(Scalable(**{**usual, "store_now": ground.clock.now, **more}))  # type: ignore[arg-type]  # named as they are


async def lead(ground: Ground) -> Term:
    term = await ground.leadership.take("tests", 1e9)
    assert term is not None
    return term


async def decided(ground: Ground) -> Figure:
    figure = await ground.scaling.figure()
    assert figure is not None
    return figure


@pytest.fixture
async def cluster(store_database: PristineDatabase, empty_redis: RedisServer) -> AsyncIterator[ClusterGround]:
    ground = ClusterGround(store_database.reset(), ManualClock(), empty_redis.url)
    yield ground
    await ground.close()


async def grows_and_shrinks(ground: Ground) -> None:
    term, duty = await lead(ground), duty_of(ground)
    await duty.do(term)
    assert await decided(ground) == Figure(0, "nothing is to be fetched", ground.clock.now())
    pages = [page for host in "abc" for page in urls(50, host=f"{host}.example")]
    run = await begin(ground, *pages, per_host=4)
    worker = await ground.frontier.join(WorkerCard("w", slots=2))
    await ground.workers.beat(worker, Beat(2, 0.5, 0, form=Form(request_s=10.0, pages=50)))
    await duty.do(term)
    told = await decided(ground)
    assert (told.desired, told.pace.slots, told.pace.request_s) == (6, 2, 10.0)
    assert told.reason == "politeness allows 12 requests at a time at 3 hosts; one worker makes up to 2"
    assert [(line.run_id, line.open, line.hosts) for line in told.runs] == [(run.id, 150, 3)]
    await ground.store.set_state(run.id, "paused")
    await ground.clock.advance(30.0)
    await duty.do(term)
    assert (await decided(ground)).desired == 6
    await ground.clock.advance(31.0)
    await duty.do(term)
    assert (await decided(ground)).desired == 0


async def test_a_folder_grows_and_shrinks(desk: Desk) -> None:
    await grows_and_shrinks(desk.ground)


async def test_a_cluster_grows_and_shrinks(cluster: ClusterGround) -> None:
    await grows_and_shrinks(cluster)


async def test_a_figure_that_changes_is_told_in_the_log(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    term, duty = await lead(desk.ground), duty_of(desk.ground)
    await duty.do(term)
    await begin(desk.ground, *urls(5))
    await duty.do(term)
    await duty.do(term)
    lines = [record.getMessage() for record in caplog.records if "scaling" in record.getMessage()]
    assert len(lines) == 2
    assert lines[0] == "scaling: 0 workers are wanted: nothing is to be fetched"
    assert lines[1].startswith("scaling: 1 worker is wanted, 0 were: 5 pages to fetch")


async def test_nothing_is_written_while_there_is_nothing_to_say(desk: Desk) -> None:
    term, duty = await lead(desk.ground), duty_of(desk.ground)
    await duty.do(term)
    first = await decided(desk.ground)
    await desk.clock.advance(AGAIN_S / 2)
    await duty.do(term)
    assert await decided(desk.ground) == first
    await desk.clock.advance(AGAIN_S / 2)
    await duty.do(term)
    assert (await decided(desk.ground)).at == first.at + AGAIN_S


async def test_while_the_frontier_is_away_the_figure_stays(desk: Desk) -> None:
    term = await lead(desk.ground)
    await begin(desk.ground, *urls(500), per_host=64)
    await duty_of(desk.ground, aims=Aims(horizon_s=1.0)).do(term)
    before = await decided(desk.ground)
    assert before.desired > 1
    await desk.clock.advance(600.0)
    await duty_of(desk.ground, demand=Away()).do(term)
    assert await decided(desk.ground) == before


async def test_a_new_leader_goes_on_with_what_the_last_one_said(desk: Desk) -> None:
    await desk.ground.scaling.keep((await lead(desk.ground)).epoch, Figure(5, "much", desk.clock.now()))
    await desk.clock.advance(20.0)
    term, duty = await lead(desk.ground), duty_of(desk.ground)
    await duty.do(term)
    assert (await decided(desk.ground)).desired == 5
    await desk.clock.advance(41.0)
    await duty.do(term)
    assert (await decided(desk.ground)).desired == 0


async def test_a_leader_whose_term_is_over_decides_nothing(desk: Desk) -> None:
    old, duty = await lead(desk.ground), duty_of(desk.ground)
    await desk.ground.leadership.resign("tests")
    await desk.ground.leadership.take("other", 10.0)
    with pytest.raises(TermOver):
        await duty.do(old)
    assert await desk.ground.scaling.figure() is None
