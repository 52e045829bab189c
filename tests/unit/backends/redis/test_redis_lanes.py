"""Index 5 and 6: heads of lanes, runs that are gone, and an index that agrees with itself."""

from __future__ import annotations

import pytest
from tests.unit.backends.redis.scenes import Scene, place_of, url, urls

from smartspider.backends.redis.frontier import RedisFrontier
from smartspider.backends.redis.frontier_index import RedisIndex
from smartspider.core.frontier.updates import FrontierUpdate
from smartspider.core.workers.worker import WorkerRegistration

HOST = "a.example"
CAP = 20


@pytest.fixture
def small(scene: Scene) -> tuple[RedisFrontier, RedisIndex]:
    """A frontier that keeps twenty requests of a lane."""
    return scene.another_frontier(cap=CAP), RedisIndex(scene.shards, cap=CAP)


async def test_only_the_head_of_a_lane_is_kept(scene: Scene, small: tuple[RedisFrontier, RedisIndex]) -> None:
    """Index 6: the best of it, whatever came first; the rest is refilled until nothing is left."""
    frontier, index = small
    run = await scene.begin([], per_host=5)
    for number in range(100):
        scene.rows.add(run, url(f"x{number}", priority=number))
    await frontier.offer(run, list(scene.rows.rows))
    assert (await index.counts(0, [run]))[run].queued == CAP
    assert await index.short_lanes(0, run) == []
    worker = await frontier.join(WorkerRegistration("w"))
    order = []
    while scene.rows.open_rows(run):
        leases = (await frontier.lease(worker, 64, [run])).leases
        order += [lease.request.priority for lease in leases]
        scene.close(*leases)
        await frontier.apply(FrontierUpdate(ended=leases))
        for host in await index.short_lanes(0, run):
            head = await scene.rows.heads(run, [host], CAP)
            await index.replay(0, 1, run, head, tails={host: len(head) == CAP})
    assert order == list(range(99, -1, -1))
    await scene.clock.advance(31.0)
    await index.replay(0, 1, run, [], tails={HOST: False})
    assert await index.short_lanes(0, run) == []
    assert (await index.counts(0, [run]))[run].queued == 0


async def test_a_mark_is_not_taken_back_right_after_a_cut(
    scene: Scene, small: tuple[RedisFrontier, RedisIndex]
) -> None:
    """Index 6: what the leader saw may be older than what was cut."""
    frontier, index = small
    run = await scene.begin([])
    for request in urls(30):
        scene.rows.add(run, request)
    await frontier.offer(run, list(scene.rows.rows))
    await index.replay(0, 1, run, [], tails={HOST: False})
    worker = await frontier.join(WorkerRegistration("w"))
    assert len((await frontier.lease(worker, 64, [run])).leases) == CAP
    assert await index.short_lanes(0, run) == [HOST]


async def test_a_run_that_is_gone_leaves_its_leases_at_the_gate(scene: Scene) -> None:
    """Index 5, rule 17: the host is not stuck, and nothing of the run is left when they end."""
    run = await scene.begin(urls(5), per_host=1)
    later = await scene.begin(urls(1, host="b.example"))
    worker = await scene.frontier.join(WorkerRegistration("w"))
    (lease,) = await scene.take(worker, run)
    (failed,) = await scene.take(worker, later)
    await scene.frontier.apply(
        FrontierUpdate(postponed=[(failed, place_of(failed, scene.clock.store_now() + 99.0))])
    )
    for one in (run, later):
        scene.rows.change(one, state="cancelled")
    other = await scene.begin(urls(2), per_host=1)
    assert await scene.take(worker, other) == []
    assert await scene.frontier.renew([lease]) == []
    await scene.frontier.apply(FrontierUpdate(ended=[lease]))
    assert len(await scene.take(worker, other)) == 1
    assert await scene.raw("ZSCORE", f"{scene.shards.tag(0)}:s:{HOST}", run) is None
    keys = await scene.raw("KEYS", "*")
    assert [key for key in keys if f":r:{run}:" in key.decode() or f":r:{later}:" in key.decode()] == []


async def test_a_request_comes_through_the_gate_of_its_own_host_or_not_at_all(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """A store that lost commits gives ids a second time, and to other hosts."""
    run = await scene.begin([url("first")])
    (row,) = scene.rows.rows.values()
    row.request = url("second", host="b.example")
    worker = await scene.frontier.join(WorkerRegistration("w"))
    await scene.frontier.hold_host("b.example", 60.0, "Retry-After")
    assert await scene.take(worker, run) == []
    assert "leases.strayed: 1" in caplog.text
    assert await scene.take(worker, run) == [], "its own host is held"
    await scene.frontier.resume_host("b.example")
    (lease,) = await scene.take(worker, run)
    assert lease.request.host == "b.example"
    await scene.frontier.apply(FrontierUpdate(ended=[lease]))
    assert await scene.take(worker, run) == []


async def test_a_run_that_comes_back_is_served_again(scene: Scene) -> None:
    """Rule 9: retry opens a run that was over; the keeper offers its open rows."""
    run = await scene.begin(urls(3))
    scene.rows.change(run, state="completed")
    await scene.keeper.keep()
    scene.rows.change(run, state="running")
    await scene.keeper.keep()
    assert len(await scene.take(await scene.frontier.join(WorkerRegistration("w")), run)) == 3


async def test_many_hosts_of_a_run_are_dropped_a_part_at_a_time(scene: Scene) -> None:
    """Index 5: and lanes of others there go on at once."""
    hosts = [f"h{number}.example" for number in range(1100)]
    strict = await scene.begin([url("x", host=host) for host in hosts], delay_s=500.0)
    easy = await scene.begin([url("x", host=host) for host in hosts], concurrency=2000)
    worker = await scene.frontier.join(WorkerRegistration("w"))
    assert len(await scene.take(worker, strict, want=10)) == 10
    assert await scene.take(worker, easy, want=500) != []
    scene.rows.change(strict, state="cancelled")
    await scene.keeper.keep()
    got = 0
    while leases := await scene.take(worker, easy, want=500):
        got += len(leases)
    assert got == 590
    assert (await scene.index.counts(0, [strict]))[strict].queued == 0
    assert await scene.frontier.check([strict, easy]) == []


BROKEN = {
    "a lane that stands nowhere": ("ZREM", "r:1:a", HOST),
    "a lane that stands twice": ("ZADD", "r:1:w", "5", HOST),
    "a lane by a wrong rank": ("ZADD", "r:1:a", "7", HOST),
    "a run that does not stand at its host": ("DEL", f"s:{HOST}"),
    "a lease in nobody's hands": ("DEL", "w:1"),
    "a lease that is not in flight": ("DEL", f"f:{HOST}"),
    "a lease that is not in flight at its domain": ("DEL", f"fd:{HOST}"),
    "a wrong count": ("HSET", "n", "1", "7"),
    "a request that waits for no moment": ("DEL", "r:1:later"),
}


@pytest.mark.parametrize("what", BROKEN)
async def test_what_does_not_agree_is_found_and_mended(scene: Scene, what: str) -> None:
    """Every index is checked against the others."""
    run = await scene.begin(urls(9))
    worker = await scene.frontier.join(WorkerRegistration("w"))
    lease, failed = await scene.take(worker, run, want=2)
    due_at = scene.clock.store_now() + 50.0
    await scene.frontier.apply(FrontierUpdate(postponed=[(failed, place_of(failed, due_at))]))
    assert await scene.frontier.check([run]) == []
    command, key, *args = BROKEN[what]
    await scene.raw(command, f"{scene.shards.tag(0)}:{key}", *args)
    assert await scene.frontier.check([run]) != []
    await scene.frontier.check([run], repair=True)
    assert await scene.frontier.check([run]) == []
    await scene.frontier.apply(FrontierUpdate(ended=[lease]))
    assert len(await scene.take(worker, run)) == 7
