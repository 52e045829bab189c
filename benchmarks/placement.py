"""The gain of host placement: reused connections.

    python benchmarks/placement.py [--workers 4] [--hosts 40] [--seconds 20]

Real processes on a Redis and a PostgreSQL of their own crawl many hosts with a delay of one second, with the
hint and without. Connections and who asked are seen at the site: every worker has a contact of its own.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from cluster import TIMEOUT_S, has_all_workers, load, start_cluster

from smartspider_testing.chaos.cluster import READY_S
from smartspider_testing.chaos.processes import wait_until
from smartspider_testing.chaos.setup import ClusterSetup
from smartspider_testing.chaos.site import SiteVisit
from smartspider_testing.chaos.task import site_politeness

DELAY_S = 1.0
HEAD_S = 5.0
"""Workers learn of each other by heartbeats; requests before that are not counted."""


@dataclass(frozen=True, slots=True)
class Found:
    """Requests and connections that the site received."""

    pages: int
    connections: int
    by_usual: int
    """Pages requested by the worker that requested most of their host."""
    seconds: float


def crawl(workers: int, hosts: int, seconds: float, *, is_placed: bool) -> Found:
    """Crawl for `seconds`."""
    setup = ClusterSetup(
        workers=0,
        slots=max(8, 2 * hosts // workers),
        pages=int(hosts * (seconds + 60.0) / DELAY_S),
        hosts=hosts,
        delay_s=DELAY_S,
        latency_s=0.05,
        is_wide=True,
        environment={} if is_placed else {"SMARTSPIDER_TEST_PLACEMENT": "off"},
        task={"concurrency": 4 * hosts, **site_politeness(DELAY_S)},
        timeout_s=TIMEOUT_S,
    )
    with start_cluster(setup) as cluster:
        cluster.workers += [
            cluster.start_worker(SMARTSPIDER_CONTACT=f"https://worker-{number}.example/")
            for number in range(workers)
        ]
        wait_until(lambda: has_all_workers(cluster), "all workers are there", READY_S)
        cluster.start_run()
        wait_until(lambda: cluster.site.count() >= 2 * hosts, "the crawl is at work", TIMEOUT_S)
        time.sleep(HEAD_S)
        from_at = time.monotonic()
        time.sleep(seconds)
        return found(cluster.site.visits(), from_at)


def found(visits: Sequence[SiteVisit], from_at: float) -> Found:
    """Return the figures of requests after a time."""
    known = {visit.peer for visit in visits if visit.at < from_at}
    late = [visit for visit in visits if visit.at >= from_at]
    by_host: dict[str, Counter[str]] = {}
    for visit in late:
        by_host.setdefault(visit.host, Counter())[visit.agent] += 1
    usual = sum(max(agents.values()) for agents in by_host.values())
    return Found(
        len(late), len({visit.peer for visit in late} - known), usual, late[-1].at - from_at if late else 1.0
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--hosts", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    ways = [
        crawl(options.workers, options.hosts, options.seconds, is_placed=is_placed)
        for is_placed in (False, True)
    ]
    print(
        f"| {options.workers} workers, {options.hosts} hosts, delay {DELAY_S:g} s | without | with the hint |"
    )
    print("|---|---|---|")
    rows = {
        "pages/s": [f"{one.pages / one.seconds:.1f}" for one in ways],
        "connections opened for 100 pages": [f"{100 * one.connections / one.pages:.1f}" for one in ways],
        "pages of a host by its usual worker": [f"{one.by_usual / one.pages:.0%}" for one in ways],
    }
    for name, (without, hinted) in rows.items():
        print(f"| {name} | {without} | {hinted} |")
    print(f"\nTaken at {load()[1:-1]}.")


if __name__ == "__main__":
    main()
