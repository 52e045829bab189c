"""The size of a URL in PostgreSQL: bytes per row while half of them are open and when none is;
and the write-ahead log of a settled page.

    python benchmarks/postgres_size.py [--pages 20000] [--items 0]

Every page links to two new ones until `--pages` are settled; then those that are open are settled, and lead
nowhere. The table is vacuumed now and then, as the server does by itself. With items, what one weighs is told
beside its JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import psycopg
from postgres_settle import GROUP, Crawl

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.schema import prepare
from smartspider.backends.postgres.store import PostgresStore
from smartspider.core.frontier.verdict import Close
from smartspider.engine.runtime import SystemClock
from smartspider_testing.contracts.actions import plan_of
from smartspider_testing.servers import PostgresServer

VACUUMED = 80
"""After so many groups."""
COUNT = (
    "SELECT count(*), count(*) FILTER (WHERE state = 'open'), avg(length(url)),"
    " pg_table_size('smartspider.url'), pg_indexes_size('smartspider.url'),"
    " pg_database_size(current_database()), pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"
    " FROM smartspider.url"
)
KNOWN = "SELECT pg_relation_size('smartspider.url_identity')"
ITEMS = "SELECT count(*), avg(length(data)), pg_total_relation_size('smartspider.item') FROM smartspider.item"


def weigh(url: str) -> dict[str, float]:
    """Return the bytes per row of the table of URLs."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM smartspider.url")
        found: Any = connection.execute(COUNT).fetchone()
        known: Any = connection.execute(KNOWN).fetchone()
        items: Any = connection.execute(ITEMS).fetchone()
    rows, is_open, length, table, indexes, whole, log = map(float, found)
    weights = {
        "rows": rows,
        "open": is_open,
        "url_length": round(length, 1),
        "table_bytes": round(table / rows),
        "index_bytes": round(indexes / rows),
        "known_index_bytes": round(known[0] / rows),
        "all_bytes": round(whole / rows),
        "log_bytes_per_settled_page": round(log / max(rows - is_open, 1)),
    }
    if items[0]:
        weights |= {"item_json": round(items[1]), "item_bytes": round(items[2] / items[0])}
    return weights


async def live(url: str, pages: int, items: int) -> list[dict[str, float]]:
    """Crawl until the run has grown, then complete it."""
    database = PostgresDatabase(url, SystemClock(), size=2)
    store, crawl = PostgresStore(database), Crawl(database, items)
    run = await store.create_run(plan_of(*crawl.pages))
    await store.set_state(run.id, "running")
    todo = [place.url_id for place in await crawl.rows.places_after(run.id, limit=1_000_000)]
    weights: list[dict[str, float]] = []
    settled = groups = 0
    while todo:
        group, todo = todo[:GROUP], todo[GROUP:]
        settlements = [crawl.settlement(lease) for lease in await crawl.leases(group)]
        if settled >= pages:
            if not weights:
                weights.append(weigh(url))
            settlements = [
                msgspec.structs.replace(one, verdict=Close("done", status=200)) for one in settlements
            ]
        _, moves = await crawl.ledger.settle(settlements, None)
        todo += [place.url_id for place in moves.offered]
        settled, groups = settled + len(group), groups + 1
        if groups % VACUUMED == 0:
            weigh(url)
    database.close()
    return [*weights, weigh(url)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--items", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, PostgresServer(Path(folder), is_durable=True) as server:
        url = server.create_database("size")
        prepare(url)
        growing, ended = asyncio.run(live(url, asked.pages, asked.items))
    print(json.dumps({"while it grows": growing, "when all is settled": ended}, indent=1))


if __name__ == "__main__":
    main()
