"""Clocks that are wrong by an hour."""

from __future__ import annotations

import time
from functools import partial

from smartspider_testing.chaos.cluster import ChaosCluster
from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.processes import wait_until
from smartspider_testing.chaos.setup import ClusterSetup
from smartspider_testing.servers.clock import FakeClock

HOUR_S = 3600.0
DAY_S = 86_400.0
WRONG_S = 40.0
AHEAD = (
    "SELECT count(*) FROM run WHERE abs(created_at - extract(epoch FROM clock_timestamp())::float8) > 3600"
)


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


def store_clock(cluster: ChaosCluster, offset_s: float) -> None:
    """Set the clock of PostgreSQL off by `offset_s` for a while; a worker and a run begin meanwhile."""
    cluster.wait_for_share(0.1)
    cluster.mark_fault()
    cluster.servers.postgres.set_clock(offset_s)
    right_at = time.monotonic() + WRONG_S
    wait_until(lambda: not _is_confirmed(cluster), "the jump is noticed", 20.0)
    old = cluster.workers[0]
    old.kill()
    cluster.replace_worker(old)
    other = cluster.start_run("other")
    wait_until(lambda: time.monotonic() >= right_at, "the clock is wrong for a while", 2 * WRONG_S)
    cluster.servers.postgres.set_clock(0.0)
    wait_until(lambda: _is_confirmed(cluster), "the clock agrees again", 60.0)
    cluster.wait_for_end(other)
    ahead = cluster.store.query_number(AHEAD)
    cluster.check(ahead == 0, f"{ahead} runs are dated wrongly")


def _is_confirmed(cluster: ChaosCluster) -> bool:
    return bool(cluster.checked_command("node", "clock", "--json").json["is_confirmed"])


STORE_FAULTS = tuple(
    Fault(
        name=f"postgres-clock-{word}",
        row=f"PostgreSQL clock {shown} for {WRONG_S:g} s",
        expected="store time goes on, 0 lost, 0 duplicated, delays never shorter than configured",
        inject=partial(store_clock, offset_s=offset_s),
        setup=ClusterSetup(delay_s=0.2, pages=500, postgres_clock_s=0.0, timeout_s=180.0),
    )
    for word, shown, offset_s in (("ahead", "+300 days", 300 * DAY_S), ("behind", "-1 day", -DAY_S))
)

FAULTS = STORE_FAULTS + tuple(
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
