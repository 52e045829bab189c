"""The cost of the ledger per URL, by size of the run.

    python benchmarks/frontier.py --sizes 10000,100000,1000000

A run is filled with as many pending URLs as a size says. Then, at that size: inserting new URLs, finding
known ones, and the whole way of a page (lease, settle with one item and one new child). Each size is a
process of its own, so that memory is its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from smartspider.backends.sqlite.database import FILE
from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.requests.politeness import PolitenessPolicy
from smartspider.core.requests.request import Request, make_request
from smartspider.core.requests.scope import UrlScope
from smartspider.core.runs.plan import Plan
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.installation.data_folder import DataFolder
from smartspider.wiring.opening import open_folder

GROUP = 64
HOSTS = 1000
PAGES = 20_000


def request(number: int) -> Request:
    host = f"www.host{number % HOSTS:04d}.example.com"
    return make_request(
        f"https://{host}/category/{number % 977}/item/{number}?ref=listing&page={number % 13}"
    )


class Growth:
    """A run that is filled and then crawled."""

    def __init__(self, folder: DataFolder) -> None:
        self.folder = folder
        self.next_url = 0
        self.run_id = 0
        self.worker_id = 0

    async def start(self) -> None:
        politeness = PolitenessPolicy(delay_s=0.0, per_host=GROUP)
        entry = make_request("https://www.host0000.example.com/", is_entry=True)
        plan = Plan(
            "growth", b"{}", "0", (entry,), {}, UrlScope(), politeness=politeness, concurrency=4 * GROUP
        )
        run = await self.folder.store.create_run(plan)
        await self.folder.store.set_state(run.id, "running")
        self.run_id = run.id
        self.worker_id = await self.folder.frontier.join(WorkerRegistration("bench"))

    def fresh(self, count: int) -> list[Request]:
        self.next_url += count
        return [request(number) for number in range(self.next_url - count, self.next_url)]

    async def turn(self, children: Callable[[], list[Request]], pages: int = GROUP) -> int:
        """Lease a group and settle it, each page with one item and the children given."""
        batch = await self.folder.frontier.lease(self.worker_id, pages, [self.run_id])
        item = {"title": "a title of usual length", "price": 12.5}
        await self.folder.ledger.settle(
            [
                Settlement(lease, Close("done", status=200, items=[item], children=children()))
                for lease in batch.leases
            ]
        )
        return len(batch.leases)

    async def fill(self, size: int) -> None:
        while self.next_url < size:
            await self.turn(lambda: self.fresh(500), pages=8)


async def measure(size: int, data: Path) -> dict[str, float]:
    with open_folder(data) as folder:
        growth = Growth(folder)
        await growth.start()
        await growth.turn(lambda: growth.fresh(GROUP))
        started = time.process_time()
        await growth.fill(size)
        fill_us = (time.process_time() - started) / size * 1e6
        known = [request(number) for number in range(0, size, max(1, size // 500))][:500]
        started = time.process_time()
        met = 0
        for _ in range(20):
            met += 500 * await growth.turn(lambda: known, pages=1)
        known_us = (time.process_time() - started) / max(met, 1) * 1e6
        started, pages = time.process_time(), 0
        while pages < min(PAGES, size):
            pages += await growth.turn(lambda: growth.fresh(1))
        page_us = (time.process_time() - started) / pages * 1e6
        rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "urls": size,
        "insert_us": fill_us,
        "known_us": known_us,
        "page_us": page_us,
        "bytes_per_url": (data / FILE).stat().st_size / (size + pages),
        "rss_mb": rss_mb,
    }


def table(results: list[dict[str, float]]) -> str:
    lines = [
        "| pending URLs | new URL, CPU µs | known URL, CPU µs | page (lease, settle, item, child), CPU µs |"
        " bytes per URL on disk | peak memory, MB |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {one['urls']:,.0f} | {one['insert_us']:.1f} | {one['known_us']:.1f} | {one['page_us']:.1f} |"
        f" {one['bytes_per_url']:.0f} | {one['rss_mb']:.0f} |"
        for one in results
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--one", type=int, help="measure one size in this process")
    parser.add_argument("--markdown", type=Path, help="write the table to a file, too")
    options = parser.parse_args()
    if options.one:
        with tempfile.TemporaryDirectory() as data:
            print(json.dumps(asyncio.run(measure(options.one, Path(data)))))
        return
    results = []
    for size in options.sizes.split(","):
        command = [sys.executable, __file__, "--one", size]
        results.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        print(f"{size} URLs measured", file=sys.stderr)
    text = table(results)
    print(text)
    if options.markdown:
        options.markdown.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
