"""Redis with Sentinels, and Redis Cluster."""

from __future__ import annotations

import time

from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.scene import Scene
from smartspider_testing.chaos.setup import Setup
from smartspider_testing.chaos.staff import until

DOWN_S = 8.0
SERVED_S = 2.0


def fail_over(scene: Scene) -> None:
    """The master dies under load; a replica takes its place."""
    group = scene.yard.sentinel
    scene.until_share(0.3)
    scene.breaks()
    old = group.master()
    old.kill()
    group.wait_for_new_master(old)
    scene.until_more(5)


def partition(scene: Scene) -> None:
    """The old master is cut off from Sentinels, keeper and half of the workers; the others still reach it."""
    group = scene.yard.sentinel
    old = group.master()
    half = scene.workers[: len(scene.workers) // 2]
    for worker in half:
        worker.kill()
        scene.replace(worker, SMARTSPIDER_FRONTIER_URL=group.way_round(old))
    scene.until_share(0.3)
    scene.breaks()
    group.door(old).cut()
    group.wait_for_new_master(old)
    scene.until_more(20)
    group.door(old).restore()
    scene.until_more(20)


def shard_down(scene: Scene) -> None:
    """One server of a cluster is away for a while and comes back with old data; the others go on."""
    cluster = scene.yard.cluster
    for server in cluster.masters:
        server.remember_aof()
    scene.until_share(0.25)
    scene.breaks()
    victim = cluster.masters[1]
    victim.kill()
    served_from = time.monotonic()
    back_at = served_from + DOWN_S
    until(lambda: time.monotonic() >= back_at or scene.is_over(), "the shard was away for long", 2 * DOWN_S)
    served = sum(visit.at > served_from + SERVED_S for visit in scene.site.visits())
    scene.check(served > 0, "the other shards handed out nothing while one was away")
    lost = victim.cut_aof(DOWN_S + 2.0)
    victim.start()
    scene.notes.append(f"{served} requests meanwhile, {lost} bytes of its log lost")
    scene.until_more(5)


FAULTS = (
    Fault(
        name="shard-down",
        row="one shard down (shortened), then rolled back",
        expected="0 lost, 0 doubled",
        act=shard_down,
        setup=Setup(redis="cluster", hosts=12, pages=300, workers=2, delay_s=0.2, patience_s=120.0),
    ),
    Fault(
        name="sentinel-failover",
        row="Sentinel failover under load",
        expected="0 lost, 0 doubled, outage <= 5 s, gap held",
        act=fail_over,
        setup=Setup(redis="sentinel", pages=300, delay_s=0.2),
        max_outage_s=5.0,
    ),
    Fault(
        name="sentinel-partition",
        row="Sentinel failover, the old master partitioned with half of the workers",
        expected="0 lost, 0 doubled, outage <= 5 s, gap held",
        act=partition,
        setup=Setup(redis="sentinel", pages=400, workers=4, delay_s=0.2, patience_s=120.0),
        max_outage_s=5.0,
    ),
)
