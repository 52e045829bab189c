"""A leader with nothing to do sleeps, and wakes up for the first run."""

from __future__ import annotations

import asyncio

from tests.unit.backends.redis.scenes import urls
from tests.unit.keeper.leading import ClusterHarness, Leader

from smartspider.keeper.frontier.filling import FillWhenWanted, ShardLoader
from smartspider_testing.waiting import WAIT_S


async def test_filling_sleeps_until_there_is_a_run_and_fills_it_at_once(
    cluster: ClusterHarness, leader: Leader
) -> None:
    duty = FillWhenWanted(leader.state, ShardLoader(leader.state))
    filling = asyncio.create_task(duty.do(leader.term))
    await leader.telling.do(leader.term)
    assert not filling.done()
    run_id = cluster.rows.add_run(urls(3))
    await leader.telling.do(leader.term)
    async with asyncio.timeout(WAIT_S):
        await filling
    assert len(await cluster.take(run_id)) == 3
    async with asyncio.timeout(WAIT_S):
        await duty.do(leader.term)  # goes on as long as there is one


async def test_runs_are_looked_for_seldom_and_followed_closely_while_they_wait_to_begin(
    cluster: ClusterHarness, leader: Leader
) -> None:
    await leader.telling.do(leader.term)
    assert leader.telling.every_s == 1.0
    run_id = cluster.rows.add_run(urls(3))
    cluster.rows.change(run_id, state="queued")
    await leader.telling.do(leader.term)
    assert leader.telling.every_s == 0.25
    cluster.rows.change(run_id, state="running")
    await leader.telling.do(leader.term)
    assert leader.telling.every_s == 0.5
