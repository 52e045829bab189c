"""Throughput of a cluster by number of workers, and its cost while idle.

    python benchmarks/cluster.py [--workers 8] [--pages 500] [--rounds 2] [--idle-s 30] [--only scale|idle]

Real processes on a Redis and a PostgreSQL of their own. Scale: a site with 100 ms latency on 16 hosts, no
delay, 4 requests at a time in each worker; one worker and several in turns. Rates and CPU are those between
the first fifth and the last of a crawl. Idle: api, keeper, two workers, Redis and PostgreSQL without a run.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from smartspider_testing.chaos.cluster import READY_S, ChaosCluster
from smartspider_testing.chaos.processes import ClusterProcess, log_tail, wait_until
from smartspider_testing.chaos.setup import ClusterSetup
from smartspider_testing.chaos.task import site_politeness
from smartspider_testing.servers import process_stats

SLOTS = 4
LATENCY_S = 0.1
HOSTS = 16
TIMEOUT_S = 180.0
CALM_S = 8.0
"""Time an idle cluster needs after its start for one-time work."""
PARTS = ("workers", "keeper", "PostgreSQL", "Redis")


@dataclass(frozen=True, slots=True)
class Sample:
    """Progress and cost of a crawl at one time."""

    at: float
    pages: int
    cpu_s: dict[str, float]


@dataclass(frozen=True, slots=True)
class Interval:
    """The difference between two samples."""

    pages_per_s: float
    ms_per_page: dict[str, float]


@contextmanager
def start_cluster(setup: ClusterSetup) -> Iterator[ChaosCluster]:
    """Run a cluster for the duration of the block."""
    with tempfile.TemporaryDirectory(prefix="smartspider-bench-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user
        with ChaosCluster(Path(folder) / "cluster", setup, Path(folder) / "initialised") as cluster:
            cluster.leader()
            wait_until(lambda: has_all_workers(cluster), "all workers are there", READY_S)
            yield cluster


def has_all_workers(cluster: ChaosCluster) -> bool:
    """Return True if all workers have joined."""
    for worker in cluster.workers:
        assert worker.is_running, log_tail(worker)
    joined = cluster.store.query_number("SELECT count(*) FROM worker WHERE gone_at IS NULL")
    return joined >= len(cluster.workers)


def cpu_of(*processes: ClusterProcess) -> float:
    """Return the CPU seconds of processes and their children."""
    return sum(process_stats.family_cpu_s(member.pid) for member in processes)


def sample(cluster: ChaosCluster) -> Sample:
    """Sample the crawl; progress is the number of requests at the site."""
    redis = cluster.servers.redis
    spent = (
        cpu_of(*cluster.workers),
        cpu_of(*cluster.keepers),
        cluster.servers.postgres.cpu_s(),
        process_stats.cpu_s(redis.pid),
    )
    return Sample(time.monotonic(), cluster.site.count(), dict(zip(PARTS, spent, strict=True)))


def sample_at(cluster: ChaosCluster, pages: int) -> Sample:
    """Sample the crawl once the site has received `pages` requests."""
    wait_until(lambda: cluster.site.count() >= pages, f"{pages} requests reached the site", TIMEOUT_S)
    return sample(cluster)


def crawl(workers: int, pages: int) -> Interval:
    """Measure one crawl with `workers` workers."""
    setup = ClusterSetup(
        workers=workers,
        slots=SLOTS,
        pages=pages,
        hosts=HOSTS,
        delay_s=0.0,
        latency_s=LATENCY_S,
        is_wide=True,
        task={"concurrency": 2 * SLOTS * workers, **site_politeness(0.0, per_host=2 * SLOTS)},
        timeout_s=TIMEOUT_S,
    )
    with start_cluster(setup) as cluster:
        cluster.start_run()
        first, last = sample_at(cluster, pages // 5), sample_at(cluster, pages * 4 // 5)
        cluster.wait_for_end()
        assert cluster.get_run().state == "completed", cluster.get_run()
    count = last.pages - first.pages
    spent = {part: (last.cpu_s[part] - first.cpu_s[part]) * 1000.0 / count for part in PARTS}
    return Interval(count / (last.at - first.at), spent)


def scale(workers: int, pages_each: int, rounds: int) -> None:
    """Compare one worker with several, interleaved."""
    found: dict[int, list[Interval]] = {1: [], workers: []}
    for _ in range(rounds):
        for number, stretches in found.items():
            stretches.append(crawl(number, pages_each * number))
            sys.stderr.write(f"{number} workers: {stretches[-1]} {load()}\n")
    rates = {number: median(one.pages_per_s for one in each) for number, each in found.items()}
    costs = {
        number: {part: median(one.ms_per_page[part] for one in each) for part in PARTS}
        for number, each in found.items()
    }
    print(f"| | 1 worker | {workers} workers | ratio |\n|---|---|---|---|")
    rows = {"pages/s": rates}
    rows |= {f"CPU ms/page, {part}": {n: cost[part] for n, cost in costs.items()} for part in PARTS}
    rows["CPU ms/page, all"] = {number: sum(cost.values()) for number, cost in costs.items()}
    for name, each in rows.items():
        one, many = each[1], each[workers]
        print(f"| {name} | {one:.2f} | {many:.2f} | {many / one if one else 0:.2f} |")


def idle(seconds: float) -> None:
    """Measure an idle cluster."""
    with start_cluster(ClusterSetup(workers=2, hosts=1, pages=1)) as cluster:
        api = cluster.start_process("api", "--port", "0", "--json")
        wait_until(lambda: '"url"' in api.log, "the API answers", TIMEOUT_S)
        time.sleep(CALM_S)
        before = spent_by(cluster, api)
        time.sleep(seconds)
        after = spent_by(cluster, api)
    shares = {name: (after[name] - cpu_s) / seconds * 100.0 for name, cpu_s in before.items()}
    print("| idle | % of a core |\n|---|---|")
    for name, share in [*shares.items(), ("all", sum(shares.values()))]:
        print(f"| {name} | {share:.2f} |")
    print(f"\nAll together: {sum(shares.values()) / (os.cpu_count() or 1):.2f} % of this machine.")


def spent_by(cluster: ChaosCluster, api: ClusterProcess) -> dict[str, float]:
    """Return the CPU seconds of all processes of an idle cluster."""
    spent = {"api": cpu_of(api), "keeper": cpu_of(*cluster.keepers)}
    spent |= {f"worker {number}": cpu_of(one) for number, one in enumerate(cluster.workers, 1)}
    redis, postgres = cluster.servers.redis, cluster.servers.postgres
    return {**spent, "Redis": process_stats.cpu_s(redis.pid), "PostgreSQL": postgres.cpu_s()}


def load() -> str:
    """Return the load of the machine."""
    return f"(load average {os.getloadavg()[0]:.1f})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--pages", type=int, default=500, help="for each worker")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--idle-s", type=float, default=30.0)
    parser.add_argument("--only", choices=("scale", "idle"))
    options = parser.parse_args()
    if options.only != "idle":
        scale(options.workers, options.pages, options.rounds)
    if options.only != "scale":
        print()
        idle(options.idle_s)


if __name__ == "__main__":
    main()
