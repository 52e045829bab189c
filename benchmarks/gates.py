"""Gaps between requests across a cluster, and shares of equal runs at a host.

    python benchmarks/gates.py [--workers 6] [--hosts 8] [--seconds 30]

Two runs of the same weight crawl the same hosts with a delay of 0.2 s. Gaps are measured at the site, which
stamps every request on arrival; what each run got of a host is counted in the store. A process that the
machine keeps waiting between its look at the clock and its first byte shortens the gap behind it, so how long
this machine keeps a process waiting is measured beside.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from statistics import median

from cluster import TIMEOUT_S, load, start_cluster

from smartspider_testing.chaos.cluster import ChaosCluster
from smartspider_testing.chaos.processes import wait_until
from smartspider_testing.chaos.setup import ClusterSetup
from smartspider_testing.chaos.task import site_politeness

DELAY_S = 0.2
SHORTEST_S = 0.18
PAGES_PER_S = 1.0 / DELAY_S
PROBE_S = 0.01
HEAD_S = 3.0
"""The second run starts a moment after the first: shares are counted from when both are at work."""


@contextmanager
def lateness() -> Iterator[list[float]]:
    """Measure repeatedly how late this process wakes from a sleep while the block runs."""
    late: list[float] = []
    ended = threading.Event()

    def sleep() -> None:
        while not ended.is_set():
            due = time.monotonic() + PROBE_S
            time.sleep(PROBE_S)
            late.append(time.monotonic() - due)

    probe = threading.Thread(target=sleep)
    probe.start()
    try:
        yield late
    finally:
        ended.set()
        probe.join()


def gaps_of(cluster: ChaosCluster) -> list[float]:
    """Return the gaps between consecutive requests at each host."""
    arrivals: dict[str, list[float]] = {}
    for visit in cluster.site.visits():
        arrivals.setdefault(visit.host, []).append(visit.at)
    return [later - at for each in arrivals.values() for at, later in pairwise(sorted(each))]


def done_by(cluster: ChaosCluster, runs: Sequence[int]) -> dict[tuple[str, int], int]:
    """Pages of each host and run that are stored."""
    rows = cluster.store.query(
        "SELECT host.name, run_id, count(*) FROM url JOIN host ON host.id = url.host_id"
        " WHERE state = 'done' GROUP BY host.name, run_id"
    )
    counted = {(host or "", int(run or 0)): int(count or 0) for host, run, count in rows}
    return {(host, run): counted.get((host, run), 0) for host in cluster.layout.names for run in runs}


def measure(workers: int, hosts: int, seconds: float) -> None:
    """Run two crawls for `seconds` and measure."""
    pages = int(hosts * PAGES_PER_S * (seconds + 60.0))
    setup = ClusterSetup(
        workers=workers,
        slots=8,
        pages=pages,
        hosts=hosts,
        delay_s=DELAY_S,
        latency_s=0.05,
        is_wide=True,
        task=site_politeness(DELAY_S, per_host=8),
    )
    with start_cluster(setup) as cluster:
        runs = [cluster.start_run("first"), cluster.start_run("second")]
        wait_until(lambda: min(done_by(cluster, runs).values()) >= 1, "both runs are at work", TIMEOUT_S)
        time.sleep(HEAD_S)
        before = done_by(cluster, runs)
        with lateness() as late:
            time.sleep(seconds)
        after = done_by(cluster, runs)
        gaps = gaps_of(cluster)
    show_gaps(gaps, workers, hosts)
    print(f"| longest that this machine kept a process waiting | {max(late) * 1000:.1f} ms |")
    show_shares(
        [[after[host, run] - before[host, run] for run in runs] for host in cluster.layout.names], hosts
    )


def show_gaps(gaps: Sequence[float], workers: int, hosts: int) -> None:
    """The smallest ones."""
    ordered = sorted(gaps)
    first = ordered[len(ordered) // 100]
    print(f"| delay {DELAY_S:g} s, {workers} workers, 2 runs, {hosts} hosts | |\n|---|---|")
    print(f"| gaps between requests at the site | {len(ordered):,} |")
    print(f"| smallest | {ordered[0] * 1000:.1f} ms |")
    print(f"| 1st percentile | {first * 1000:.1f} ms |")
    print(f"| median | {median(ordered) * 1000:.1f} ms |")
    print(f"| under {SHORTEST_S * 1000:.0f} ms | {sum(gap < SHORTEST_S for gap in ordered)} |")


def show_shares(shares: Sequence[Sequence[int]], hosts: int) -> None:
    """Print the difference between two runs on a host."""
    apart = [abs(one - two) / max(one, two, 1) for one, two in shares]
    totals = [sum(column) for column in zip(*shares, strict=True)]
    print(f"| pages of the two runs, {hosts} hosts together | {totals[0]:,} and {totals[1]:,} |")
    print(f"| apart at a host, worst of {hosts} | {max(apart):.1%} |")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    measure(options.workers, options.hosts, options.seconds)
    print(f"\nTaken at {load()[1:-1]}.")


if __name__ == "__main__":
    main()
