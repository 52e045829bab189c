"""Every look at rows goes by a key, and pages that follow each other look only once."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from smartspider.backends.sqlite.database import SqliteConnection
from smartspider.core.items.filters import Condition
from smartspider.store.database import Connection, rows
from smartspider.store.results.rows import BATCH_ROWS, SQL, RowQuery
from smartspider.store.results.sorting import MAX_WINDOWS
from smartspider.store.results.store import ResultStore
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.contracts.results import start_growing


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("after", (1, 2, 3)),
        ("before", (1, 2, 3)),
        ("one", (1,)),
        ("origin", (1,)),
        ("counts", (1,)),
    ],
)
async def test_rows_are_found_by_their_key(
    backend: SqliteBackend, name: str, values: tuple[Any, ...]
) -> None:
    sql = f"EXPLAIN QUERY PLAN {getattr(SQL, name)}"
    plan = await backend.database.read(lambda connection: rows(connection, sql, values))
    steps = [step for *_, step in plan]
    assert len(steps) == 1
    assert "USING INTEGER PRIMARY KEY" in steps[0]
    assert steps[0].startswith("SEARCH")


class Looks:
    """Counts the rows that SQLite gives to scans."""

    def __init__(self) -> None:
        self.rows = 0
        self._scans: set[int] = set()

    def trace(self, event: dict[str, Any]) -> None:
        if event["code"] == apsw.SQLITE_TRACE_ROW:
            self.rows += event["id"] in self._scans
        elif event["sql"] in (SQL.after, SQL.before):
            self._scans.add(event["id"])
        else:
            self._scans.discard(event["id"])


@pytest.fixture
async def looks(backend: SqliteBackend) -> Looks:
    looks = Looks()

    def work(connection: Connection) -> None:
        assert isinstance(connection, SqliteConnection)
        connection.apsw.trace_v2(apsw.SQLITE_TRACE_STMT | apsw.SQLITE_TRACE_ROW, looks.trace)

    await backend.database.read(work)
    return looks


async def test_a_page_reads_no_more_than_it_gives(backend: SqliteBackend, looks: Looks) -> None:
    run = await start_growing(backend)
    await run.add(*({"n": number} for number in range(5000)))
    for query in (RowQuery(run.id), RowQuery(run.id, is_descending=True)):
        looks.rows = 0
        page = await backend.results.rows(query, limit=10)
        page = await backend.results.rows(query, cursor=page.next, limit=10)
        assert (len(page.rows), looks.rows) == (10, 22)
    looks.rows = 0
    assert await backend.results.count(RowQuery(run.id)) == (5000, True)
    assert looks.rows == 0


async def test_a_filter_stops_looking_when_the_page_is_full(backend: SqliteBackend, looks: Looks) -> None:
    run = await start_growing(backend)
    await run.add(*({"n": number} for number in range(5000)))
    query = RowQuery(run.id, (Condition("n", "lt", 20),))
    page = await backend.results.rows(query, limit=10)
    assert (len(page.rows), looks.rows) == (10, BATCH_ROWS)


async def test_sorted_pages_that_follow_each_other_look_once(backend: SqliteBackend, looks: Looks) -> None:
    run = await start_growing(backend)
    await run.add(*({"n": number * 7919 % 3001} for number in range(3000)))
    query = RowQuery(run.id, sort="n")
    page = await backend.results.rows(query, limit=10)
    assert looks.rows == 3000
    for _ in range(20):
        page = await backend.results.rows(query, cursor=page.next, limit=10)
    assert looks.rows == 3000
    await run.add({"n": -1})
    assert (await backend.results.rows(query, limit=1)).rows[0].data == b'{"n":-1}'
    assert looks.rows == 6001


async def test_a_window_goes_on_where_it_ended(backend: SqliteBackend, looks: Looks) -> None:
    store = ResultStore(backend.database, window_size=25)
    run = await start_growing(backend)
    await run.add(*({"n": number % 7, "id": number} for number in range(100)))
    for is_descending in (False, True):
        query = RowQuery(run.id, sort="n", is_descending=is_descending)
        looks.rows = 0
        seen: list[bytes] = []
        cursor: str | None = None
        while True:
            page = await store.rows(query, cursor=cursor, limit=10)
            seen += [row.data for row in page.rows]
            if page.next is None:
                break
            cursor = page.next
        assert len(seen) == len(set(seen)) == 100
        assert 400 <= looks.rows <= 600


async def test_only_a_few_orders_are_kept(backend: SqliteBackend, looks: Looks) -> None:
    run = await start_growing(backend)
    await run.add(*({"n": number} for number in range(10)))
    queries = [RowQuery(run.id, (Condition("n", "ne", number),), sort="n") for number in range(10)]
    for query in queries:
        await backend.results.rows(query)
    looks.rows = 0
    for query in queries[-MAX_WINDOWS:]:
        await backend.results.rows(query)
    assert looks.rows == 0
    await backend.results.rows(queries[-MAX_WINDOWS - 1])
    assert looks.rows == 10
