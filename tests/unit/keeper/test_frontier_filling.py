"""What the leader tells the frontier: runs, open rows, and what it counts there."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.backends.redis.scenes import url, urls
from tests.unit.keeper.conftest import leading
from tests.unit.keeper.leading import ClusterHarness, Leader

from smartspider.core.frontier.updates import FrontierUpdate, RunControl, RunLoad
from smartspider.interfaces.frontier_index import IndexCounts
from smartspider.keeper.frontier.controls import share_of
from smartspider.keeper.frontier.filling import FillSizes
from smartspider.keeper.frontier.loads import REPAIR_S


async def test_a_new_run_is_handed_out_as_soon_as_it_was_told(
    cluster: ClusterHarness, leader: Leader
) -> None:
    run_id = cluster.rows.add_run(urls(3))
    assert await cluster.take(run_id) == []
    await leader.telling.do(leader.term)
    await leader.filling.do(leader.term)
    assert len(await cluster.take(run_id)) == 3


async def test_a_run_that_is_opened_again_is_offered_again(cluster: ClusterHarness, leader: Leader) -> None:
    """As by a retry: it had no control while it was over."""
    run_id = cluster.rows.add_run(urls(2))
    await leader.tend()
    leases = await cluster.take(run_id)
    for lease in leases:
        cluster.rows.rows[lease.url_id].state = "dead"
    await cluster.frontier.release(leases)
    cluster.rows.change(run_id, state="failed")
    await leader.tend()
    assert await cluster.queued(run_id) == 0
    for lease in leases:
        cluster.rows.rows[lease.url_id].state = "open"
    cluster.rows.change(run_id, state="running")
    await leader.tend()
    assert len(await cluster.take(run_id)) == 2


async def test_knobs_and_states_are_told_when_they_change(cluster: ClusterHarness, leader: Leader) -> None:
    run_id = cluster.rows.add_run(urls(9))
    await leader.tend()
    cluster.rows.change(run_id, concurrency=2)
    await leader.telling.do(leader.term)
    assert len(await cluster.take(run_id)) == 2
    cluster.rows.change(run_id, concurrency=9, state="paused")
    await leader.telling.do(leader.term)
    assert await cluster.take(run_id) == []
    cluster.rows.change(run_id, state="running")
    await leader.telling.do(leader.term)
    assert len(await cluster.take(run_id)) == 7


async def test_what_was_read_first_never_follows_what_was_read_later(
    cluster: ClusterHarness, leader: Leader
) -> None:
    """A list of runs that was long on its way does not drop the run that came meanwhile."""
    cluster.rows.frozen_at = "controls"
    slow = asyncio.create_task(leader.telling.do(leader.term))
    await cluster.rows.reached.wait()
    run_id = cluster.rows.add_run(urls(3))
    await leader.tend()
    cluster.rows.thawed.set()
    await slow
    assert len(await cluster.take(run_id)) == 3


@pytest.mark.parametrize(
    ("concurrency", "working", "shares"),
    [
        (8, [], [1, 1, 1, 1]),
        (8, [2], [1, 1, 8, 1]),
        (8, [0, 1, 3], [3, 3, 1, 2]),
        (2, [0, 1, 2, 3], [1, 1, 1, 1]),
    ],
)
def test_concurrency_is_divided_among_shards_with_work(
    concurrency: int, working: list[int], shares: list[int]
) -> None:
    control = RunControl(7, "running", 1, concurrency, 0.0, 1, None)
    counts = {shard: {7: IndexCounts(queued=int(shard in working))} for shard in range(4)}
    assert [share_of(control, shard, counts, 4).concurrency for shard in range(4)] == shares
    assert share_of(control, 0, {}, 1) == control


async def test_the_head_of_a_lane_is_filled_until_all_of_it_was_handed_out(
    cluster: ClusterHarness, leader: Leader
) -> None:
    """Rule 5: only the head is there; what is beyond it stays in the store, best first."""
    size = 5 * cluster.cap
    run_id = cluster.rows.add_run([url(f"p{number}", priority=number % 3) for number in range(size)])
    await leader.tend()
    assert await cluster.queued(run_id) == cluster.cap
    order = []
    while leases := await cluster.take(run_id, want=cluster.cap):
        order += [lease.request.priority for lease in leases]
        for lease in leases:
            cluster.rows.rows[lease.url_id].state = "done"
        await cluster.frontier.apply(FrontierUpdate(ended=leases))
        await leader.pass_time(1.0)
        assert await cluster.queued(run_id) <= cluster.cap
    assert order == sorted(order, reverse=True)
    assert len(order) == size


async def test_a_lane_whose_best_rows_are_all_held_is_looked_at_further(cluster: ClusterHarness) -> None:
    """Those are leased or wait for a retry; what comes after them must not."""
    leader = await leading(cluster, FillSizes(head=cluster.cap))
    run_id = cluster.rows.add_run(urls(3 * cluster.cap))
    await leader.tend()
    held = await cluster.take(run_id, want=cluster.cap)
    assert len(held) == cluster.cap
    more: list[object] = []
    for _ in range(4):
        await leader.pass_time(1.0)
        more += await cluster.take(run_id, want=cluster.cap)
    assert len(more) == cluster.cap * 2


async def test_a_large_run_is_offered_lane_by_lane(cluster: ClusterHarness) -> None:
    """Its rows are not all gone through before it starts."""
    assert FillSizes().whole_run >= 10 * FillSizes().head
    leader = await leading(cluster, FillSizes(whole_run=30, piece=10))
    rows = [url(f"p{number}", host=f"h{host}.example") for number in range(30) for host in range(4)]
    run_id = cluster.rows.add_run(rows)
    await leader.tend()
    assert cluster.rows.asked["places_after"] == 3
    assert cluster.rows.asked["heads"] == 1
    assert await cluster.queued(run_id) == 4 * cluster.cap


async def test_short_lanes_are_offered_many_at_a_time(cluster: ClusterHarness) -> None:
    """A host with one request costs no statement and no call of its own."""
    sizes = FillSizes(whole_run=10, piece=10, lanes=2, most_lanes=16, rows=40)
    leader = await leading(cluster, sizes)
    hosts = [f"h{number:02}.example" for number in range(50)]
    rows = [url("x", host=host) for host in hosts]
    rows += [url(f"p{number}", host=host) for number in range(30) for host in ("x.example", "y.example")]
    run_id = cluster.rows.add_run(rows)
    cluster.shards.called.clear()
    await leader.tend()
    assert await cluster.queued(run_id) == 50 + 2 * cluster.cap
    assert cluster.rows.asked["heads"] == 6  # of 2, 4, 8, 16, 16 and 6 lanes
    assert cluster.shards.called.count("replay") <= 7


async def test_rows_that_were_never_offered_are_found_missing(
    cluster: ClusterHarness, leader: Leader
) -> None:
    """As when a worker dies between commit and offer: twice in a row, and they are offered."""
    run_id = cluster.rows.add_run(urls(2))
    await leader.tend()
    cluster.rows.add(run_id, url("forgotten"))
    await leader.pass_time(3.0)
    assert len(await cluster.take(run_id)) == 3


async def test_a_run_is_not_offered_at_every_look(cluster: ClusterHarness, leader: Leader) -> None:
    """Something is always missing for a moment."""
    run_id = cluster.rows.add_run(urls(2))
    await leader.tend()
    before = cluster.rows.asked["places_after"]
    for number in range(20):
        cluster.rows.add(run_id, url(f"new{number}"))
        await leader.pass_time(0.5)
    assert cluster.rows.asked["places_after"] - before <= 10.0 / REPAIR_S + 1


async def test_what_hides_behind_right_numbers_is_found_by_the_sweep(
    cluster: ClusterHarness, leader: Leader
) -> None:
    """One row too many in the frontier, one too few: the sweep offers all that is open."""
    run_id = cluster.rows.add_run(urls(2))
    await leader.tend()
    closed = min(cluster.rows.rows)
    cluster.rows.rows[closed].state = "done"
    cluster.rows.add(run_id, url("forgotten"))
    await leader.sweeping.do(leader.term)
    assert {lease.request.url for lease in await cluster.take(run_id)} == {
        "http://a.example/p1",
        "http://a.example/forgotten",
    }


async def test_what_is_held_of_runs_is_kept_when_it_changes(cluster: ClusterHarness, leader: Leader) -> None:
    run_id = cluster.rows.add_run(urls(5))
    await leader.tend()
    assert cluster.rows.loads[run_id] == RunLoad(run_id, "running", 0, 5, 0)
    writes = cluster.rows.writes
    await leader.pass_time(5.0)
    assert cluster.rows.writes == writes
    await cluster.take(run_id, want=2)
    await leader.pass_time(1.0)
    assert cluster.rows.loads[run_id] == RunLoad(run_id, "running", 2, 3, 0)


async def test_a_run_that_is_to_stop_is_counted_after_all_have_heard_it(
    cluster: ClusterHarness, leader: Leader
) -> None:
    """What was counted while it still ran says nothing about it."""
    run_id = cluster.rows.add_run(urls(5))
    await leader.tend()
    cluster.rows.loads.clear()
    cluster.rows.change(run_id, state="stopping")
    await leader.counting.do(leader.term)
    assert cluster.rows.loads == {}
    await leader.tend()
    assert cluster.rows.loads[run_id] == RunLoad(run_id, "stopping", 0, 5, 0)
    cluster.rows.loads.clear()
    await leader.pass_time(1.0)
    assert cluster.rows.loads[run_id].leased == 0  # told again and again
