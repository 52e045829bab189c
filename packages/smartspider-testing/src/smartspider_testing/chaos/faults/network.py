"""Network failures between the processes and their servers."""

from __future__ import annotations

import time
from functools import partial
from typing import Literal

from smartspider_testing.chaos.cluster import ChaosCluster
from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.processes import wait_until
from smartspider_testing.chaos.setup import ClusterSetup
from smartspider_testing.servers import TcpProxy

AWAY_S = 3.0
LATENCY_S = 0.25
"""One way, so half a second per round trip."""
PROXIED = ClusterSetup(is_proxied=True, pages=240)

Part = Literal["store", "frontier"]
SERVERS: tuple[tuple[Part, str], ...] = (("store", "PostgreSQL"), ("frontier", "Redis"))


def _proxy(cluster: ChaosCluster, part: Part) -> TcpProxy:
    return cluster.servers.store_proxy if part == "store" else cluster.servers.frontier_proxy


def _wait(seconds: float) -> None:
    end_at = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() >= end_at, "the fault has lasted", seconds + 5.0)


def cut(cluster: ChaosCluster, part: Part) -> None:
    """Reset and refuse all connections for a while, twice."""
    proxy = _proxy(cluster, part)
    for share in (0.2, 0.5):
        cluster.wait_for_share(share)
        cluster.mark_fault()
        proxy.cut()
        _wait(AWAY_S)
        proxy.restore()
        cluster.wait_for_pages(5)


def half_open(cluster: ChaosCluster, part: Part) -> None:
    """Freeze all connections, without closing them, for longer than any timeout."""
    proxy = _proxy(cluster, part)
    cluster.wait_for_share(0.3)
    cluster.mark_fault()
    proxy.freeze()
    _wait(4 * AWAY_S)
    proxy.resume()
    cluster.wait_for_pages(5)


def latency(cluster: ChaosCluster, part: Part) -> None:
    """Delay every answer by half a second."""
    proxy = _proxy(cluster, part)
    cluster.wait_for_share(0.2)
    cluster.mark_fault()
    proxy.latency_s = LATENCY_S
    cluster.wait_for_pages(40, within_s=120.0)
    proxy.latency_s = 0.0


def unknown_commit(cluster: ChaosCluster) -> None:
    """Drop the answer to a commit, five times."""
    cluster.wait_for_share(0.15)
    cluster.mark_fault()
    for _ in range(5):
        sprung = cluster.servers.store_proxy.drop_answer_once(b"COMMIT")
        wait_until(sprung.is_set, "a commit was sent", 30.0)
        cluster.wait_for_pages(3)
    cluster.notes.append("5 answers dropped")


FAULTS = (
    *(
        Fault(
            name=f"{part}-{name}",
            row=f"{words} to {server}",
            expected="0 lost, 0 doubled",
            inject=partial(act, part=part),
            setup=PROXIED,
        )
        for part, server in SERVERS
        for name, words, act in (
            ("cut", "cuts", cut),
            ("half-open", "half-open connections", half_open),
            ("latency", "500 ms latency", latency),
        )
    ),
    Fault(
        name="unknown-commit",
        row="commit with unknown result",
        expected="0 lost, 0 doubled",
        inject=unknown_commit,
        setup=PROXIED,
    ),
)
