"""Failovers of Redis Sentinel and outages in Redis Cluster."""

from __future__ import annotations

import time

from smartspider_testing.chaos.cluster import ChaosCluster
from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.processes import wait_until
from smartspider_testing.chaos.setup import ClusterSetup

DOWN_S = 8.0
SERVED_S = 2.0


def fail_over(cluster: ChaosCluster) -> None:
    """Kill the master under load; a replica is promoted."""
    group = cluster.servers.sentinel
    cluster.wait_for_share(0.3)
    cluster.mark_fault()
    old = group.master()
    old.kill()
    group.wait_for_new_master(old)
    cluster.wait_for_pages(5)


def partition(cluster: ChaosCluster) -> None:
    """Partition the old master from Sentinels, keeper and half of the workers; the other workers still reach
    it.
    """
    group = cluster.servers.sentinel
    old = group.master()
    half = cluster.workers[: len(cluster.workers) // 2]
    for worker in half:
        worker.kill()
        cluster.replace_worker(worker, SMARTSPIDER_FRONTIER_URL=group.direct_url(old))
    cluster.wait_for_share(0.3)
    cluster.mark_fault()
    group.proxy_of(old).cut()
    group.wait_for_new_master(old)
    cluster.wait_for_pages(20)
    group.proxy_of(old).restore()
    cluster.wait_for_pages(20)


def shard_down(cluster: ChaosCluster) -> None:
    """Stop one server of a Redis Cluster for a while and restart it with old data."""
    shards = cluster.servers.redis_cluster
    for server in shards.masters:
        server.remember_aof()
    cluster.wait_for_share(0.25)
    cluster.mark_fault()
    victim = shards.masters[1]
    victim.kill()
    served_from = time.monotonic()
    back_at = served_from + DOWN_S
    wait_until(
        lambda: time.monotonic() >= back_at or cluster.has_ended(), "the shard was away for long", 2 * DOWN_S
    )
    served = sum(visit.at > served_from + SERVED_S for visit in cluster.site.visits())
    cluster.check(served > 0, "the other shards leased no requests while one was unavailable")
    lost = victim.cut_aof(DOWN_S + 2.0)
    victim.start()
    cluster.notes.append(f"{served} requests meanwhile, {lost} bytes of its log lost")
    cluster.wait_for_pages(5)


FAULTS = (
    Fault(
        name="shard-down",
        row="one shard down (shortened), then rolled back",
        expected="0 lost, 0 doubled",
        inject=shard_down,
        setup=ClusterSetup(redis="cluster", hosts=12, pages=300, workers=2, delay_s=0.2, timeout_s=120.0),
    ),
    Fault(
        name="sentinel-failover",
        row="Sentinel failover under load",
        expected="0 lost, 0 doubled, outage <= 5 s, gap held",
        inject=fail_over,
        setup=ClusterSetup(redis="sentinel", pages=300, delay_s=0.2),
        max_outage_s=5.0,
    ),
    Fault(
        name="sentinel-partition",
        row="Sentinel failover, the old master partitioned with half of the workers",
        expected="0 lost, 0 doubled, outage <= 5 s, gap held",
        inject=partition,
        setup=ClusterSetup(redis="sentinel", pages=400, workers=4, delay_s=0.2, timeout_s=120.0),
        max_outage_s=5.0,
    ),
)
