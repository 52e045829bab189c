"""The CPU time of politeness: the same crawl with a delay and without, in turns.

    python benchmarks/paced.py [--only embedded|server|cluster] [--hosts 1 50 1000] [--rounds 3]

CPU time per page is that of all processes together: a command, a server with its API and keeper, or a cluster
of two workers, a keeper, PostgreSQL and Redis. The site stamps every request on arrival; the smallest gap is
that of all hosts and rounds, as a share of the delay.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urljoin

import aiohttp
import bench_site
import server
from cluster import load, sample, start_cluster
from compare import ENVIRONMENT, site_running

from smartspider_testing.chaos.setup import ClusterSetup
from smartspider_testing.servers.process_stats import family_cpu_s

CONCURRENCY = 64
PER_HOST = 4
"""The default of a task."""
ALLOWED = {"SMARTSPIDER_ALLOW_PRIVATE": "127.0.0.0/8"}


@dataclass(frozen=True)
class Scenario:
    """A number of hosts with a delay that gives about 40 to 100 pages a second."""

    hosts: int
    pages: int
    delay_s: float


SCENARIOS = (Scenario(1, 1000, 0.02), Scenario(50, 2000, 0.5), Scenario(1000, 3000, 10.0))

Crawl = Callable[[Scenario, dict[str, Any]], float]
"""Crawls once and returns CPU seconds."""


@dataclass
class Figures:
    """CPU milliseconds per page of each round, and gaps at the site as shares of the delay."""

    unpaced: list[float] = field(default_factory=list)
    paced: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """The median ratio of neighbouring crawls."""
        return median(paced / plain for plain, paced in zip(self.unpaced, self.paced, strict=True))


def task_of(base_url: str, scenario: Scenario, delay_s: float) -> dict[str, Any]:
    """Return the task; without a delay, all requests may go to the same host."""
    return {
        "name": f"paced-{scenario.hosts}-{delay_s:g}",
        "entry_urls": [bench_site.entry(base_url)],
        "selectors": {
            "items": {"type": "css", "expr": ".card"},
            "fields": {name: {"type": "css", "expr": expr} for name, expr in bench_site.FIELDS.items()},
        },
        "follow": [{"selector": "a[href]"}],
        "scope": {"domains": [bench_site.host_name(number) for number in range(scenario.hosts)]},
        "concurrency": CONCURRENCY,
        "politeness": {
            "robots": "ignore",
            "delay_s": delay_s,
            "per_host": PER_HOST if delay_s else CONCURRENCY,
            "adaptive": False,
        },
    }


def crawl_embedded(scenario: Scenario, task: dict[str, Any]) -> float:
    """Run `smartspider crawl`."""
    with tempfile.TemporaryDirectory(prefix="smartspider-bench-") as folder:
        path = Path(folder) / "task.json"
        path.write_text(json.dumps(task))
        command = [sys.executable, "-m", "smartspider", "crawl", str(path), "--data", f"{folder}/data"]
        environment = {**ENVIRONMENT, **ALLOWED}
        with (Path(folder) / "summary.json").open("w+b") as summary:
            process = subprocess.Popen([*command, "--json"], stdout=summary, env=environment, cwd=folder)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            summary.seek(0)
            assert json.load(summary)["pages"] == scenario.pages
    return usage.ru_utime + usage.ru_stime


@contextmanager
def serving() -> Iterator[Crawl]:
    """Run `smartspider up` with one worker."""
    with tempfile.TemporaryDirectory(prefix="smartspider-bench-") as folder, asyncio.Runner() as runner:
        process, up = runner.run(server.start(Path(folder), allowed=ALLOWED["SMARTSPIDER_ALLOW_PRIVATE"]))

        def crawl(scenario: Scenario, task: dict[str, Any]) -> float:
            return runner.run(_crawl_on(process.pid, up.url, scenario, task))

        try:
            yield crawl
        finally:
            process.terminate()
            runner.run(process.wait())


async def _crawl_on(pid: int, url: str, scenario: Scenario, task: dict[str, Any]) -> float:
    headers = {"Authorization": f"Bearer {server.TOKEN}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        task = {**task, "name": f"{task['name']}-{time.monotonic_ns()}"}
        async with session.post(f"{url}/api/tasks", json=task) as answer:
            task_id = (await answer.json())["id"]
        before = family_cpu_s(pid)
        async with session.post(f"{url}/api/tasks/{task_id}/start") as answer:
            run = (await answer.json())["run_id"]
        while True:
            await asyncio.sleep(1.0)
            async with session.get(f"{url}/api/runs/{run}") as answer:
                status = await answer.json()
            if status["state"] == "completed":
                break
    assert status["success_count"] == scenario.pages, status
    return family_cpu_s(pid) - before


@contextmanager
def clustered() -> Iterator[Crawl]:
    """Run a cluster of two workers."""
    setup = ClusterSetup(workers=2, slots=CONCURRENCY // 2, hosts=1, pages=1, timeout_s=300.0)
    with start_cluster(setup) as cluster:

        def crawl(scenario: Scenario, task: dict[str, Any]) -> float:
            name = f"{task.pop('name')}-{time.monotonic_ns()}"
            before = sample(cluster)
            run_id = cluster.start_run(name, **task)
            while _arrivals(task["entry_urls"][0])["requests"] < scenario.pages:
                time.sleep(0.25)  # asking the store would cost more than the crawl
            cluster.wait_for_end(run_id)
            after = sample(cluster)
            assert cluster.get_run(run_id).done == scenario.pages
            return sum(after.cpu_s.values()) - sum(before.cpu_s.values())

        yield crawl


@contextmanager
def commands() -> Iterator[Crawl]:
    """Run each crawl as a command of its own."""
    yield crawl_embedded


MODES = {"embedded": commands, "server": serving, "cluster": clustered}


def measure(crawl: Crawl, scenario: Scenario, rounds: int) -> Figures:
    """Crawl without and with the delay, in turns."""
    figures = Figures()
    core = max(os.sched_getaffinity(0))
    with site_running(scenario.pages, core, scenario.hosts) as base_url:
        for _ in range(rounds):
            for delay_s, costs in ((0.0, figures.unpaced), (scenario.delay_s, figures.paced)):
                _arrivals(base_url, "/reset")
                cpu_s = crawl(scenario, task_of(base_url, scenario, delay_s))
                costs.append(cpu_s * 1000.0 / scenario.pages)
                if delay_s:
                    figures.gaps.append(_arrivals(base_url)["shortest_s"] / delay_s)
            sys.stderr.write(f"{scenario}: {figures} {load()}\n")
    return figures


def _arrivals(url: str, path: str = "/gaps") -> dict[str, Any]:
    """Return the number of requests that the site has received, and their smallest gap."""
    with urllib.request.urlopen(urljoin(url, path)) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=tuple(MODES), action="append")
    parser.add_argument("--hosts", type=int, nargs="+", default=[one.hosts for one in SCENARIOS])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print("| | hosts | delay | CPU ms/page, no delay | with the delay | ratio | smallest gap |")
    print("|---|---|---|---|---|---|---|")
    for mode in options.only or MODES:
        with ExitStack() as stack:
            crawl = stack.enter_context(MODES[mode]())
            for scenario in SCENARIOS:
                if scenario.hosts not in options.hosts:
                    continue
                found = measure(crawl, scenario, options.rounds)
                costs = f"{median(found.unpaced):.2f} | {median(found.paced):.2f} | {found.ratio:.2f}"
                gap = f"{min(found.gaps):.1%} of the delay"
                print(
                    f"| {mode} | {scenario.hosts:,} | {scenario.delay_s:g} s | {costs} | {gap} |", flush=True
                )


if __name__ == "__main__":
    main()
