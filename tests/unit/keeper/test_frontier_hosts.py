"""Gates that changed are told to the frontier, also when who changed them died; older rows say nothing."""

from __future__ import annotations

import msgspec
from tests.unit.keeper.leading import ClusterHarness, Leader

from smartspider.core.frontier.updates import FrontierUpdate, HostRow
from smartspider.keeper.frontier.hosts import IDLE_S, EvictIdleHosts, SendChangedHosts
from smartspider_testing.contracts.actions import HOST, url, urls


async def robots_of(cluster: ClusterHarness, host: str = HOST) -> float:
    return float(await cluster.raw("HGET", f"{cluster.shards.tag(0)}:h:{host}", "robots") or 0)


async def test_a_delay_that_nobody_told_of_is_told_by_the_keeper(
    cluster: ClusterHarness, leader: Leader
) -> None:
    """Rule 18: whoever read robots.txt died between its commit and telling the frontier."""
    cluster.rows.add_run(urls(3))
    await leader.tend()
    changed = SendChangedHosts(leader.state)
    await changed.do(leader.term)
    cluster.rows.set_gate(HOST, robots_s=7.0)
    assert await robots_of(cluster) == 0.0
    await changed.do(leader.term)
    assert await robots_of(cluster) == 7.0


async def test_what_was_told_is_not_told_again(cluster: ClusterHarness, leader: Leader) -> None:
    cluster.rows.add_run(urls(1))
    await leader.tend()
    changed = SendChangedHosts(leader.state, page=2)
    for number in range(5):
        cluster.rows.set_gate(f"{number}.example", robots_s=1.0)
        cluster.rows.gates[f"{number}.example"] = _moved(cluster, f"{number}.example", 1.0 + number)
    await changed.do(leader.term)
    assert await robots_of(cluster, "4.example") == 1.0
    await cluster.raw("DEL", *(f"{cluster.shards.tag(0)}:h:{number}.example" for number in range(5)))
    cluster.rows.set_gate("3.example", robots_s=2.0)
    cluster.rows.gates["3.example"] = _moved(cluster, "3.example", 10.0)
    await changed.do(leader.term)
    assert await robots_of(cluster, "3.example") == 2.0
    assert await robots_of(cluster, "4.example") == 0.0


async def test_nothing_is_asked_while_there_is_no_run(cluster: ClusterHarness, leader: Leader) -> None:
    await leader.tend()
    cluster.rows.set_gate(HOST, robots_s=7.0)
    await SendChangedHosts(leader.state).do(leader.term)
    assert await robots_of(cluster) == 0.0


async def test_a_row_from_before_a_resume_brings_no_hold_back(
    cluster: ClusterHarness, leader: Leader
) -> None:
    """A sweep, or a worker, read the host before it was resumed and tells of it afterwards."""
    run_id = cluster.rows.add_run(urls(1))
    await leader.tend()
    await cluster.frontier.hold_host(HOST, 600.0, "Retry-After")
    old = await cluster.rows.hosts()
    await cluster.frontier.resume_host(HOST)
    await cluster.index.set_hosts(0, leader.term.epoch, old)
    assert len(await cluster.take(run_id)) == 1


async def test_a_row_from_before_a_delay_does_not_take_it_back(
    cluster: ClusterHarness, leader: Leader
) -> None:
    cluster.rows.add_run(urls(1))
    await leader.tend()
    await cluster.frontier.slow_host(HOST, 1.0)
    old = await cluster.rows.hosts()
    cluster.rows.set_gate(HOST, robots_s=5.0)
    await cluster.index.set_hosts(0, leader.term.epoch, await cluster.rows.hosts())
    await cluster.index.set_hosts(0, leader.term.epoch, old)
    assert await robots_of(cluster) == 5.0


def _moved(cluster: ClusterHarness, host: str, changed_at: float) -> HostRow:
    return msgspec.structs.replace(cluster.rows.gates[host], changed_at=changed_at)


async def test_hosts_that_nobody_asks_for_are_let_go_all_of_them(
    cluster: ClusterHarness, leader: Leader
) -> None:
    """Index 9: piece by piece; seldom where there is nothing to do."""
    run_id = cluster.rows.add_run([url("x", host=f"h{number}.example") for number in range(700)])
    await leader.tend()
    while leases := await cluster.take(run_id):
        for lease in leases:
            cluster.rows.rows[lease.url_id].state = "done"
        await cluster.frontier.apply(FrontierUpdate(ended=leases))
    await leader.pass_time(150.0, 150.0)
    resting = EvictIdleHosts(leader.state, cluster.clock)
    assert len(await cluster.raw("KEYS", "*:h:*")) == 700
    await resting.do(leader.term)
    assert await cluster.raw("KEYS", "*:h:*") == []
    assert resting.every_s < IDLE_S
    cluster.rows.change(run_id, state="completed")
    await leader.tend()
    await resting.do(leader.term)
    assert resting.every_s == IDLE_S
