"""Clocks that are wrong by an hour."""

from __future__ import annotations

from functools import partial

from smartspider_testing.chaos.cluster import ChaosCluster
from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.setup import ClusterSetup
from smartspider_testing.servers.clock import FakeClock

HOUR_S = 3600.0


def worker_clock(cluster: ChaosCluster, offset_s: float) -> None:
    """Start a worker whose clock is off by `offset_s`, then set its clock right."""
    cluster.wait_for_share(0.15)
    cluster.mark_fault()
    old = cluster.workers[0]
    old.kill()
    folder = cluster.folder / "clock"
    folder.mkdir()
    clock = FakeClock(folder, offset_s)
    worker = cluster.replace_worker(old, **clock.environment())
    cluster.wait_for_share(0.5)
    clock.set(0.0)
    cluster.wait_for_pages(10)
    cluster.check(worker.is_running, "the worker with the wrong clock ended")


def redis_clock(cluster: ChaosCluster, offset_s: float) -> None:
    """Set the clock of Redis off by `offset_s`, then right."""
    cluster.wait_for_share(0.2)
    cluster.mark_fault()
    cluster.servers.redis.set_clock(offset_s)
    cluster.wait_for_pages(25)
    cluster.servers.redis.set_clock(0.0)
    cluster.wait_for_pages(25)


FAULTS = tuple(
    Fault(
        name=f"{part}-clock-{word}",
        row=f"{part} clock {sign}1 h",
        expected="0 lost, 0 duplicated, delays never shorter than configured",
        inject=partial(act, offset_s=offset_s),
        setup=setup,
    )
    for part, act, setup in (
        ("worker", worker_clock, ClusterSetup(delay_s=0.2, pages=240)),
        ("redis", redis_clock, ClusterSetup(delay_s=0.2, pages=240, redis_clock_s=0.0)),
    )
    for word, sign, offset_s in (("ahead", "+", HOUR_S), ("behind", "-", -HOUR_S))
)
