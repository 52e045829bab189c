"""The same frontier behind Sentinel and on a Redis Cluster."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from tests.unit.backends.redis.scenes import Scene, url, urls

from smartspider.backends.redis.address import read_url
from smartspider.backends.redis.leasing import divide
from smartspider.backends.redis.shards import Call, Shards
from smartspider.core.errors import FrontierUnavailable
from smartspider.core.frontier.updates import FrontierUpdate
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.servers import RedisCluster, SentinelGroup
from smartspider_testing.waiting import WAIT_S


def test_a_domain_is_in_one_shard_for_ever() -> None:
    """Rule 19: by a hash that is the same in every process and version."""
    shards = Shards(read_url("redis+cluster://127.0.0.1:1"))
    assert shards.count == 16
    assert shards.of("a.shop.co.uk") == shards.of("b.shop.co.uk") == shards.of("shop.co.uk")
    assert [shards.of(f"h{number}.com") for number in range(6)] == [0, 2, 14, 12, 1, 12]
    assert {shards.of(f"h{number}.com") for number in range(200)} == set(range(16))
    assert Shards(read_url("redis://127.0.0.1:1")).of("h0.com") == 0


def test_a_hand_is_divided_among_shards() -> None:
    assert divide(10, {0: 1, 1: 1}) == {0: 5, 1: 5}
    assert divide(2, {0: 0, 1: 9, 2: 1, 3: 1}) == {0: 0, 1: 1, 2: 1, 3: 0}
    assert divide(7, {0: 3, 1: 0}) == {0: 7, 1: 0}
    assert divide(7, {0: 0, 1: 0}) == {0: 0, 1: 0}


async def crawl(scene: Scene, worker: int, run: int, *, want: int) -> Counter[int]:
    """Lease and settle until nothing is open; how often each row was handed out."""
    seen: Counter[int] = Counter()
    while scene.rows.open_rows(run):
        leases = await scene.take(worker, run, want=want)
        assert len(leases) <= want
        assert leases
        seen.update(lease.url_id for lease in leases)
        scene.close(*leases)
        await scene.frontier.apply(FrontierUpdate(ended=leases))
    return seen


@pytest.mark.servers
async def test_a_crawl_on_a_redis_cluster(tmp_path: Path) -> None:
    """Sixteen shards on three masters: everything once, caps and suspects over all of them."""
    with RedisCluster(tmp_path / "cluster", masters=3) as cluster:
        scene = Scene(cluster.url)
        await scene.keeper.start()
        assert [state is not None and state.is_armed for state in await scene.index.shard_states()] == [
            True
        ] * 16
        hosts = [f"h{number}.com" for number in range(30)]
        run = await scene.begin([one for host in hosts for one in urls(8, host=host)], per_host=4)
        worker = await scene.frontier.join(WorkerRegistration("w"))
        assert len(await scene.take(worker, run, want=50)) == 50
        await scene.frontier.leave(worker)
        worker = await scene.frontier.join(WorkerRegistration("next"))
        seen = await crawl(scene, worker, run, want=50)
        assert set(seen.values()) == {1}
        assert len(seen) == 240
        await scene.clock.advance(150.0)
        assert await scene.let_go() == 30

        capped = await scene.begin([url("x", host=host) for host in hosts], concurrency=7)
        held = await scene.take(worker, capped, want=50)
        assert len(held) == 7
        assert await scene.take(worker, capped) == []
        for lease in held:
            scene.rows.rows[lease.url_id].returns = 2
        scene.rows.dead.add(worker)
        assert sum(event.count for event in await scene.frontier.reclaim()) == 7
        await scene.clock.advance(150.0)
        assert await scene.let_go() == 7
        alone = await scene.frontier.join(WorkerRegistration("alone"))
        (suspect,) = await scene.take(alone, capped)
        assert suspect.is_alone
        assert await scene.take(alone, capped) == []
        assert await scene.frontier.check([run, capped]) == []

        for shard in range(16):
            await scene.index.disarm(shard, 1, forgets=True)
        await scene.keeper.start()
        assert len(await scene.take(alone, capped)) == 1  # what it held is not leased any more
        await scene.end()


@pytest.mark.servers
async def test_a_process_that_begins_while_a_master_is_down_waits_for_it(tmp_path: Path) -> None:
    """Everything it hears is an error it knows, and it goes on by itself."""
    with RedisCluster(tmp_path / "cluster", masters=3) as cluster:
        cluster.servers[0].kill()
        shards = Shards(read_url(cluster.url), installation="one")
        calls = [Call(shard, "look") for shard in range(16)]
        assert any(isinstance(one, FrontierUnavailable) for one in await shards.round(calls))
        await asyncio.to_thread(cluster.servers[0].start)
        async with asyncio.timeout(WAIT_S):
            while any(isinstance(one, Exception) for one in await shards.round(calls)):
                pass
        await shards.close()


@pytest.mark.timeout(60)
@pytest.mark.servers
async def test_a_new_master_is_found_and_waits_for_the_keeper(tmp_path: Path) -> None:
    """Index 2: the calls of before fail in words, and go on when the keeper has loaded the new one."""
    with SentinelGroup(tmp_path / "group") as group:
        scene = Scene(group.url)
        await scene.keeper.start()
        run = await scene.begin(urls(6))
        worker = await scene.frontier.join(WorkerRegistration("w"))
        (before,) = await scene.index.shard_states()
        leases = await scene.take(worker, run, want=2)
        old = group.master()
        scene.keeper.is_on = False
        old.kill()
        with pytest.raises(FrontierUnavailable):
            await scene.frontier.renew(leases)
        await asyncio.to_thread(group.wait_for_new_master, old)
        while (after := await scene.index.shard_state(0)) is None:
            pass  # a Sentinel may still name the old one
        assert before is not None
        assert (after.process != before.process, after.is_armed) == (True, False)
        await scene.keeper.start(ago_s=0.0)
        scene.close(*leases)
        await scene.frontier.apply(FrontierUpdate(ended=leases))
        assert len(await scene.take(worker, run)) == 4
        await scene.end()
