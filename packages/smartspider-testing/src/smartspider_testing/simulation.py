"""A deterministic simulation: workers over the real SQLite ledger, faults between every two steps.

`python -m smartspider_testing.simulation --seeds 0:5000` runs that many different lives of a data folder.
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
from smartspider_testing.faults import FAULTS
from smartspider_testing.life import Life

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
STEPS_PER_PAGE = 10
"""Steps with faults, by the size of the site; then everything is brought to its end without any."""
FAULT_CHANCE = 0.1


class Outcome(msgspec.Struct, frozen=True):
    """What came of one life. It is right when there are no problems."""

    seed: int
    problems: list[str]
    pages: int
    fetches: int
    seconds: float
    faults: dict[str, int]


async def _live(seed: int, folder: Path) -> Outcome:
    """Begin, suffer, recover; then look at what is there."""
    life = Life(seed, folder)
    started_at = life.clock.monotonic()
    for number in range(life.draw.choice([1, 1, 2])):
        await life.begin(seed * 10 + number)
    pages = sum(site.graph.pages for site in life.sites.values())
    faults: Counter[str] = Counter()
    for _ in range(STEPS_PER_PAGE * pages):
        if life.draw.random() < FAULT_CHANCE:
            fault = life.draw.choice(FAULTS)
            faults[fault.__name__] += await fault(life)
        await life.step()
    await life.recover()
    problems = await life.problems()
    for process in life.processes:
        await process.close()
    seconds = life.clock.monotonic() - started_at
    return Outcome(seed, problems, pages, life.tally.fetches, seconds, dict(faults))


def simulate(seed: int) -> Outcome:
    """One whole life of a data folder."""
    folder = Path(tempfile.mkdtemp(prefix="smartspider-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        return asyncio.run(_live(seed, folder))
    finally:
        failpoints.arm(None)
        shutil.rmtree(folder)


def main() -> int:
    """Run seeds; those that fail are printed with what is wrong, so that they can be replayed."""
    parser = argparse.ArgumentParser(prog="python -m smartspider_testing.simulation", description=__doc__)
    parser.add_argument("--seeds", default="0:1000", help="one seed, or a range like 0:1000")
    first, _, end = parser.parse_args().seeds.partition(":")
    failed, faults, fetches = 0, Counter[str](), 0
    for seed in range(int(first), int(end or int(first) + 1)):
        outcome = simulate(seed)
        faults.update(outcome.faults)
        fetches += outcome.fetches
        if outcome.problems:
            failed += 1
            sys.stdout.write(f"seed {seed}:\n" + "".join(f"  {problem}\n" for problem in outcome.problems))
    suffered = ", ".join(f"{name} {count}" for name, count in sorted(faults.items()))
    sys.stdout.write(f"{failed} seeds failed; {fetches} fetches; {suffered}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
