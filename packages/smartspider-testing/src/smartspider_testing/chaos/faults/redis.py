"""A single Redis that dies, loses data, is flushed or is out of memory."""

from __future__ import annotations

import time
from functools import partial

from smartspider_testing.chaos.cluster import ChaosCluster
from smartspider_testing.chaos.evaluation import requests_during_hold
from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.processes import wait_until
from smartspider_testing.chaos.setup import ClusterSetup
from smartspider_testing.chaos.task import site_politeness

HOLD_S = 12
FULL_S = 4.0


def kill_and_cut(cluster: ChaosCluster, cut_s: float) -> None:
    """Kill Redis and lose the last second of its log, as in a power cut."""
    redis = cluster.servers.redis
    cluster.wait_for_share(0.3)
    cluster.mark_fault()
    redis.kill()
    lost = redis.cut_aof(cut_s) if cut_s else 0
    redis.start()
    cluster.notes.append(f"{lost} bytes of its log lost")
    cluster.wait_for_pages(5)


def roll_back_before_ack(cluster: ChaosCluster) -> None:
    """Freeze a worker between offer and ack, roll Redis back behind the offer, and let the worker ack."""
    redis, old = cluster.servers.redis, cluster.workers[0]
    cluster.wait_for_share(0.1)
    old.kill()
    worker = cluster.replace_worker(old, SMARTSPIDER_FREEZE_AT="ledger.offered:3")
    wait_until(worker.is_frozen, "the worker is between offer and ack", 30.0)
    cluster.mark_fault()
    redis.kill()
    lost = redis.cut_aof(3.0)
    redis.start()
    cluster.wait_for_pages(3)
    worker.resume()
    cluster.notes.append(f"{lost} bytes of its log lost")


def flush(cluster: ChaosCluster) -> None:
    """Run FLUSHALL three times, once together with FUNCTION FLUSH."""
    for share in (0.2, 0.35, 0.5):
        cluster.wait_for_share(share)
        cluster.mark_fault()
        cluster.servers.redis.command("FLUSHALL")
        if share == 0.35:
            cluster.servers.redis.command("FUNCTION", "FLUSH")
        cluster.wait_for_pages(3)


def flush_while_held(cluster: ChaosCluster) -> None:
    """Run FLUSHALL during a long Retry-After of a host."""
    host = cluster.layout.names[1]
    cluster.wait_for_share(0.2)
    cluster.site.behave(holding=host, retry_after=HOLD_S)
    wait_until(
        lambda: any(visit.status == 429 for visit in cluster.site.visits()), "the host asks for a pause", 30.0
    )
    asked_at = next(visit.at for visit in cluster.site.visits() if visit.status == 429)
    wait_until(
        lambda: cluster.store.query_number("SELECT count(*) FROM host WHERE held_until > 0") > 0,
        "a hold",
        15.0,
    )
    cluster.mark_fault()
    cluster.servers.redis.command("FLUSHALL")
    wait_until(lambda: time.monotonic() > asked_at + HOLD_S, "the hold has expired", 2 * HOLD_S)
    # One request at a time, so none was in flight when the answer arrived.
    cluster.problems += requests_during_hold(
        cluster.site.visits(), host, asked_at, HOLD_S + cluster.setup.latency_s
    )
    cluster.notes.append(f"held for {HOLD_S} s")


def fill_memory(cluster: ChaosCluster) -> None:
    """Set maxmemory below the memory in use, later raise it."""
    redis = cluster.servers.redis
    cluster.wait_for_share(0.2)
    cluster.mark_fault()
    redis.command("CONFIG", "SET", "maxmemory", "1mb")
    wait_until(lambda: _errors(cluster) > 0, "Redis rejects writes: out of memory", 20.0)
    full_until = time.monotonic() + FULL_S
    wait_until(lambda: time.monotonic() > full_until, "Redis stays out of memory", 2 * FULL_S)
    redis.command("CONFIG", "SET", "maxmemory", "0")
    cluster.notes.append(f"{_errors(cluster)} calls refused")
    cluster.wait_for_pages(3)


def _errors(cluster: ChaosCluster) -> int:
    stats = cluster.servers.redis.info("errorstats")
    return sum(int(value.partition("=")[2]) for name, value in stats.items() if name == "errorstat_OOM")


FAULTS = (
    Fault(
        name="redis-killed",
        row="Redis kill -9, last second of its AOF cut",
        expected="0 lost, 0 doubled",
        inject=partial(kill_and_cut, cut_s=1.0),
        setup=ClusterSetup(pages=150),
        is_short=True,
    ),
    Fault(
        name="redis-rolled-back",
        row="offer, rollback of Redis, then the retried ack",
        expected="0 lost, 0 doubled",
        inject=roll_back_before_ack,
        setup=ClusterSetup(pages=300),
    ),
    Fault(
        name="flushall",
        row="FLUSHALL, three times",
        expected="0 lost, 0 doubled",
        inject=flush,
        setup=ClusterSetup(pages=150),
        is_short=True,
    ),
    Fault(
        name="flushall-held",
        row="FLUSHALL during a long Retry-After",
        expected="0 lost, 0 duplicated, the hold is still honored",
        inject=flush_while_held,
        setup=ClusterSetup(delay_s=0.2, pages=120, task=site_politeness(0.2, per_host=1)),
    ),
    Fault(
        name="redis-full",
        row="maxmemory reached, then raised",
        expected="recovers, 0 lost, 0 doubled",
        inject=fill_memory,
    ),
)
