"""Time to check whether a run with very many URLs is complete.

    python benchmarks/completion.py [--rows 10000000]

A run on a PostgreSQL of its own, its rows written by the server. The last 2 % were open and are closed now,
and the table is not vacuumed: the index of open rows still has their entries. The keeper walks along it every
30 s, which marks those of closed rows; the last 10,000 were closed since (30 s at 333 pages a second).
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.open_rows import PostgresOpenRows
from smartspider.backends.postgres.schema import prepare
from smartspider.backends.postgres.store import PostgresStore
from smartspider.core.requests.request import make_request
from smartspider.core.runs.run import first_id
from smartspider.engine.runtime import SystemClock
from smartspider.store.runs.lifecycle import SQL
from smartspider_testing.contracts.actions import plan_of
from smartspider_testing.servers import PostgresServer
from smartspider_testing.servers.postgres.client import PostgresClient

NAME = "completion"
LATE = 0.02
SINCE = 10_000
TIMES = 20
PATIENCE_S = 3600.0
ROWS = """
INSERT INTO url (id, run_id, fingerprint, host_id, url, page, priority, depth, is_entry, state, found_at)
SELECT {first} + number, {run}, decode(md5(number::text), 'hex'), 1 + number % 1000,
       'http://host' || number % 1000 || '.example/category/' || number % 97 || '/product-' || number,
       'default', 0, 3, 0, CASE WHEN number > {late} THEN 'open' ELSE 'done' END, 0
FROM generate_series({start}, {rows}) AS number
"""
HOSTS = """
INSERT INTO host (name, domain) SELECT 'host' || number || '.example', 'host' || number || '.example'
FROM generate_series(0, 999) AS number ON CONFLICT DO NOTHING
"""
CLOSE = """
UPDATE url SET state = 'done'
WHERE run_id = {run} AND state = 'open' AND id > {first} + {after} AND id <= {first} + {to}
"""
COUNT = "UPDATE run SET total = {rows}, done = {done}, next_url = {rows} + 1 WHERE id = {run}"


async def fill(server: PostgresServer, store: PostgresStore, rows: int) -> dict[str, int]:
    """Create a run with few open rows. Return the parameters of the statements."""
    run = await store.create_run(plan_of(make_request("http://host0.example/")))
    await store.set_state(run.id, "running")
    late = int(rows * (1.0 - LATE))
    given = {"run": run.id, "first": first_id(run.id), "rows": rows, "late": late, "start": 2}
    with administrator(server) as connection:
        indexes = connection(
            "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'smartspider'"
            " AND tablename = 'url' AND indexname <> 'url_pkey'"
        )
        for name, _ in indexes:
            connection(f"DROP INDEX {name}")
        connection(HOSTS)
        connection(ROWS.format(**given))
        for _, statement in indexes:
            connection(statement or "")
        connection("ANALYZE url")
        connection("ALTER TABLE url SET (autovacuum_enabled = false)")
        connection(CLOSE.format(**given, after=late, to=rows - SINCE))
    return given


async def walk(rows: PostgresOpenRows, run_id: int) -> int:
    """Read all open rows in chunks, as the keeper does every 30 s. Return their number."""
    found, after = 0, 0
    while places := await rows.places_after(run_id, after=after):
        found, after = found + len(places), places[-1].url_id
    return found


def administrator(server: PostgresServer) -> PostgresClient:
    """Open a connection without a statement timeout."""
    file = server.folder / f".s.PGSQL.{server.port}"
    connection = PostgresClient(file, "postgres", NAME, timeout_s=PATIENCE_S)
    connection("SET search_path = smartspider")
    return connection


async def timed_ms(act: Callable[[], Awaitable[object]], times: int = TIMES) -> list[float]:
    """Return the milliseconds of each call."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        await act()
        taken.append((time.perf_counter() - began) * 1000.0)
    return taken


async def measure(server: PostgresServer, rows: int) -> None:
    """Fill, ask, complete."""
    url = server.create_database(NAME)
    prepare(url)
    database = PostgresDatabase(url, SystemClock(), size=1)
    store = PostgresStore(database)
    began = time.monotonic()
    given = await fill(server, store, rows)
    run_id = given["run"]
    sys.stderr.write(f"{rows:,} rows written in {time.monotonic() - began:.0f} s\n")

    async def ask() -> object:
        return await database.read(lambda connection: connection.execute(SQL.has_open, (run_id,)).fetchone())

    opened = PostgresOpenRows(database)
    assert await walk(opened, run_id) > SINCE / 2  # one of the hosts had a number before
    figures = {"the keeper's walk": await timed_ms(lambda: walk(opened, run_id), times=2)}
    with administrator(server) as connection:
        connection(CLOSE.format(**given, after=rows - SINCE, to=rows))
        connection(COUNT.format(**given, done=rows - 1))
    figures["one row is open"] = await timed_ms(ask)
    figures["the same, with all else that `finish` does"] = await timed_ms(lambda: store.finish(run_id))
    assert (await store.get_run(run_id)).state == "running"
    with administrator(server) as connection:
        connection(f"UPDATE url SET state = 'done' WHERE id = {first_id(run_id) + 1}")
        connection(COUNT.format(**given, done=rows))
        figures["none is open, 10,000 were since the walk"] = await timed_ms(ask)
        connection("VACUUM url")
        figures["none is open, and the table was vacuumed"] = await timed_ms(ask)
    figures["`finish` completes the run"] = await timed_ms(lambda: store.finish(run_id), times=1)
    assert (await store.get_run(run_id)).state == "completed", await store.get_run(run_id)
    show(rows, figures)
    database.close()
    server.drop_database(NAME)


def show(rows: int, figures: dict[str, list[float]]) -> None:
    """Print the first and the median times."""
    print(f"| {rows:,} rows | first, ms | median of {TIMES}, ms |\n|---|---|---|")
    for name, taken in figures.items():
        print(
            f"| {name} | {taken[0]:.2f} | {median(taken):.2f} |"
            if len(taken) > 1
            else f"| {name} | {taken[0]:.2f} | |"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    rows = parser.parse_args().rows
    options = {"shared_buffers": "1GB", "maintenance_work_mem": "512MB", "max_wal_size": "8GB"}
    with tempfile.TemporaryDirectory(prefix="smartspider-bench-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user
        with PostgresServer(Path(folder) / "postgres", options=options) as server:
            asyncio.run(measure(server, rows))


if __name__ == "__main__":
    main()
