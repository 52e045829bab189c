"""Keys that somebody else wrote to or removed: no gate opens too early, and building anew mends the rest."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from tests.unit.backends.redis.scenes import Scene, urls
from tests.unit.keeper.leading import ClusterHarness, Leader

from smartspider.core.frontier.updates import FrontierUpdate, HostRow
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.wiring.checks import rebuild
from smartspider_testing.servers import RedisServer

HOST = "a.example"


async def test_a_run_that_leases_is_heeded_although_nobody_stands_at_the_host(scene: Scene) -> None:
    run = await scene.begin(urls(20), delay_s=0.2)
    worker = await scene.frontier.join(WorkerRegistration("w"))
    got = []
    for _ in range(12):  # 1.2 s
        leases = await scene.take(worker, run)
        got += leases
        scene.close(*leases)
        await scene.frontier.apply(FrontierUpdate(ended=leases))
        await scene.raw("DEL", f"{scene.shards.tag(0)}:s:{HOST}")
        await scene.clock.advance(0.1)
    windows = [lease.window for lease in got]
    assert 4 <= len(got) <= 7
    gaps = [later.not_before - before.not_after for before, later in pairwise(windows)]
    assert min(gaps) >= 0.2 - 1e-6


@pytest.mark.parametrize("text", ["banana", "nan", "inf", ""])
async def test_what_is_no_moment_counts_as_that_of_the_arming(scene: Scene, text: str) -> None:
    run = await scene.begin(urls(3), delay_s=1.0)
    worker = await scene.frontier.join(WorkerRegistration("w"))
    await scene.raw("HSET", f"{scene.shards.tag(0)}:h:{HOST}", "sent", text)
    assert len(await scene.take(worker, run)) == 1
    assert await scene.take(worker, run) == []


@pytest.mark.parametrize("field", ["robots", "adaptive", "operator", "held", "openings", "turn"])
async def test_what_is_no_number_opens_no_gate_and_stops_no_call(scene: Scene, field: str) -> None:
    run = await scene.begin(urls(3), delay_s=1.0)
    worker = await scene.frontier.join(WorkerRegistration("w"))
    await scene.raw("HSET", f"{scene.shards.tag(0)}:h:{HOST}", field, "banana")
    assert len(await scene.take(worker, run)) <= 1
    rows = [HostRow(HOST, HOST, robots_s=0.0, adaptive_s=0.0, operator_s=0.0, held_until=0.0, openings=0)]
    await scene.index.set_hosts(0, 1, rows)


async def test_a_lease_that_cannot_be_read_is_found_and_mended(scene: Scene) -> None:
    run = await scene.begin(urls(2))
    leases = f"{scene.shards.tag(0)}:l"
    await scene.raw("HSET", leases, "abcdefgh", "xx", "short", "y" * 50)
    found = await scene.frontier.check([run], repair=True)
    assert found.count("a lease cannot be read") == 2
    assert await scene.frontier.check([run]) == []
    assert await scene.raw("HLEN", leases) == 0


async def test_building_anew_forgets_all_that_was_there(empty_redis: RedisServer) -> None:
    """Gates and leases too; keys of a neighbour whose name begins alike stay."""
    cluster = ClusterHarness(empty_redis.url)
    tag = cluster.shards.tag(0)
    leader = Leader(cluster, "keeper")
    await leader.lead()
    run_id = cluster.rows.add_run(urls(3))
    await leader.pass_time(6)
    assert len(await cluster.take(run_id, want=1)) == 1
    await cluster.raw("HSET", f"{tag}:h:{HOST}", "sent", "9e15")
    await cluster.raw("HSET", f"{tag}:l", "abcdefgh", "xx")
    await cluster.raw("SET", f"{tag}:c", "not a hash")
    await cluster.raw("SET", f"{tag}:mine", "x")
    await cluster.raw("SET", f"{tag}2:h:{HOST}", "a neighbour's")
    for start in range(0, 5000, 500):  # more than one call forgets
        await cluster.raw(
            "MSET", *(part for number in range(start, start + 500) for part in (f"{tag}:q:{number}", "x"))
        )
    building = asyncio.create_task(rebuild(leader.remote, [], cluster.clock, owner="by hand"))
    await cluster.clock.until_asleep()
    await leader.pass_time(6)
    assert await building == 1
    assert len(await cluster.take(run_id)) == 3
    assert await cluster.frontier.check([run_id]) == []
    assert await cluster.raw("EXISTS", f"{tag}:mine", f"{tag}:q:0") == 0
    assert await cluster.raw("EXISTS", f"{tag}2:h:{HOST}") == 1
    await cluster.close()
