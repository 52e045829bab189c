"""Run simulated crawls: workers on the real SQLite ledger, with faults between any two steps.

`python -m smartspider_testing.simulation.runner --seeds 0:5000` runs that many crawls. Time is virtual and
randomness is seeded, so a failing seed fails again.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import msgspec

from smartspider.core import failpoints
from smartspider_testing.simulation.crawl import SimulatedCrawl
from smartspider_testing.simulation.faults import FAULTS

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
STEPS_PER_PAGE = 10
"""Steps with faults per page of the site; then all runs complete without faults."""
FAULT_CHANCE = 0.1


class SimulationResult(msgspec.Struct, frozen=True):
    """The result of one crawl; correct if `problems` is empty."""

    seed: int
    problems: list[str]
    pages: int
    fetches: int
    seconds: float
    faults: dict[str, int]


async def _simulate(seed: int, folder: Path) -> SimulationResult:
    """Start, inject faults, recover and check."""
    crawl = SimulatedCrawl(seed, folder)
    started_at = crawl.clock.monotonic()
    for number in range(crawl.rng.choice([1, 1, 2])):
        await crawl.begin(seed * 10 + number)
    pages = sum(site.graph.pages for site in crawl.sites.values())
    faults: Counter[str] = Counter()
    for _ in range(STEPS_PER_PAGE * pages):
        if crawl.rng.random() < FAULT_CHANCE:
            fault = crawl.rng.choice(FAULTS)
            faults[fault.__name__] += await fault(crawl)
        await crawl.step()
    await crawl.recover()
    problems = await crawl.problems()
    for process in crawl.processes:
        await process.close()
    seconds = crawl.clock.monotonic() - started_at
    return SimulationResult(seed, problems, pages, crawl.stats.fetches, seconds, dict(faults))


def simulate(seed: int) -> SimulationResult:
    """Simulate one crawl in a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix="smartspider-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        return asyncio.run(_simulate(seed, folder))
    finally:
        failpoints.arm(None)
        shutil.rmtree(folder)


def main() -> int:
    """Run a range of seeds; print the failing ones with their problems."""
    parser = argparse.ArgumentParser(
        prog="python -m smartspider_testing.simulation.runner", description=__doc__
    )
    parser.add_argument("--seeds", default="0:1000", help="one seed, or a range like 0:1000")
    first, _, end = parser.parse_args().seeds.partition(":")
    failed, faults, fetches = 0, Counter[str](), 0
    for seed in range(int(first), int(end or int(first) + 1)):
        result = simulate(seed)
        faults.update(result.faults)
        fetches += result.fetches
        if result.problems:
            failed += 1
            sys.stdout.write(f"seed {seed}:\n" + "".join(f"  {problem}\n" for problem in result.problems))
    suffered = ", ".join(f"{name} {count}" for name, count in sorted(faults.items()))
    sys.stdout.write(f"{failed} seeds failed; {fetches} fetches; {suffered}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
