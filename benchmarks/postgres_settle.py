"""The cost of a page in PostgreSQL: CPU of its processes per settled page, and per leased request.

A group is 64 pages with 35 links each, of which 2 are new; once without items, once with 20 a page. Prints
JSON: `python benchmarks/postgres_settle.py [--pages N]`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.ledger import PostgresLedger
from smartspider.backends.postgres.open_rows import PostgresOpenRows
from smartspider.backends.postgres.schema import prepare
from smartspider.backends.postgres.store import PostgresStore
from smartspider.core.frontier.lease import FencingToken, Lease, SendWindow
from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.requests.request import Request, make_request
from smartspider.engine.runtime import SystemClock
from smartspider_testing.contracts.actions import plan_of
from smartspider_testing.servers import PostgresServer

GROUP = 64
LINKS = 35
NEW = 2
HOSTS = 20
KNOWN = 5_000


def page_url(number: int) -> Request:
    """One of the pages of the site."""
    return make_request(f"http://host{number % HOSTS}.example/category/{number % 97}/product-{number}.html")


def items_of(number: int, count: int) -> list[dict[str, Any]]:
    """Return items like those of a shop."""
    return [
        {
            "name": f"Product {number}-{place}",
            "price": 9.99 + place,
            "stock": place,
            "sku": f"S{number:08d}{place}",
        }
        for place in range(count)
    ]


class Crawl:
    """A crawl without fetching: open requests are leased, and every page links to two new ones."""

    def __init__(self, database: PostgresDatabase, items: int) -> None:
        self.rows = PostgresOpenRows(database)
        self.ledger = PostgresLedger(database)
        self.items = items
        self.pages = list(map(page_url, range(KNOWN)))
        self._tokens: Iterator[int] = iter(range(1, 1 << 40))
        self._random = random.Random(7)  # the same links in every run

    async def leases(self, url_ids: list[int]) -> list[Lease]:
        """Return leases for these rows."""
        found = await self.rows.requests(url_ids)
        window = SendWindow(0.0, 0.0, 0.0)
        return [
            Lease(FencingToken(1, next(self._tokens)), url_id, url_id >> 40, row.request, window, 0.0)
            for url_id, row in found.items()
        ]

    def settlement(self, lease: Lease) -> Settlement:
        """A page with its links, of which some are new."""
        links = self._random.sample(self.pages, LINKS - NEW)
        for _ in range(NEW):
            self.pages.append(page_url(len(self.pages)))
            links.append(self.pages[-1])
        close = Close("done", status=200, items=items_of(lease.url_id, self.items), children=links)
        return Settlement(lease, close, bytes_read=23_000, elapsed_s=0.1)


async def measure(server: PostgresServer, pages: int, items: int) -> dict[str, float]:
    """Settle `pages` pages in groups."""
    name = f"settle_{items}"
    url = server.create_database(name)
    prepare(url)
    database = PostgresDatabase(url, SystemClock(), size=2)
    store = PostgresStore(database)
    crawl = Crawl(database, items)
    run = await store.create_run(plan_of(*crawl.pages))
    await store.set_state(run.id, "running")
    places = await crawl.rows.places_after(run.id, limit=1_000_000)
    todo = [place.url_id for place in places]
    figures = {"settle": 0.0, "lookup": 0.0, "client": 0.0, "wall": 0.0}
    count = 0
    warm = 10 * GROUP
    while count < pages + warm:
        group, todo = todo[:GROUP], todo[GROUP:]
        before = server.cpu_s()
        leases = await crawl.leases(group)
        looked_up = server.cpu_s()
        settlements = [crawl.settlement(lease) for lease in leases]
        began, cpu = time.perf_counter(), time.process_time()
        _, moves = await crawl.ledger.settle(settlements, None)
        if count >= warm:
            figures["client"] += time.process_time() - cpu
            figures["wall"] += time.perf_counter() - began
            figures["lookup"] += looked_up - before
            figures["settle"] += server.cpu_s() - looked_up
        todo += [place.url_id for place in moves.offered]
        count += len(group)
    database.close()
    server.drop_database(name)
    return {f"{what}_us": round(seconds / pages * 1e6, 1) for what, seconds in figures.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=6400)
    pages = parser.parse_args().pages
    with (
        tempfile.TemporaryDirectory() as folder,
        PostgresServer(Path(folder), is_durable=True) as server,
    ):
        found = {f"{items} items": asyncio.run(measure(server, pages, items)) for items in (0, 20)}
    print(
        json.dumps({"pages": pages, "group": GROUP, "links": LINKS, "new": NEW, "per page": found}, indent=1)
    )


if __name__ == "__main__":
    main()
