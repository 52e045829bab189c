"""A deterministic simulation: workers over the real SQLite ledger, faults between every two steps.

`python -m smartspider_testing.simulation.runner --seeds 0:5000` runs that many different lives of a data folder.
Time is virtual and chance is seeded, so a seed that fails does so again.
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
"""Steps with faults, by the size of the site; then everything is brought to its end without any."""
FAULT_CHANCE = 0.1


class SimulationResult(msgspec.Struct, frozen=True):
    """What came of one crawl. It is right when there are no problems."""

    seed: int
    problems: list[str]
    pages: int
    fetches: int
    seconds: float
    faults: dict[str, int]


async def _simulate(seed: int, folder: Path) -> SimulationResult:
    """Begin, suffer, recover; then look at what is there."""
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
    """One whole crawl of a data folder."""
    folder = Path(tempfile.mkdtemp(prefix="smartspider-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        return asyncio.run(_simulate(seed, folder))
    finally:
        failpoints.arm(None)
        shutil.rmtree(folder)


def main() -> int:
    """Run seeds; those that fail are printed with what is wrong, so that they can be replayed."""
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
