"""What SQLite keeps of pages from run to run."""

from __future__ import annotations

import pytest

from smartspider.core.requests.recrawl import RecrawlPolicy
from smartspider.core.runs.run import Run
from smartspider.store.database import rows
from smartspider.store.settle import recrawl
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.contracts.actions import settle, take_one, url
from smartspider_testing.contracts.ledger.revisit_actions import (
    DAY,
    ROWS,
    V1,
    V2,
    finish,
    first_run,
    read,
    start,
    unchanged,
    versions,
)

CONDITIONAL = RecrawlPolicy(conditional=True)


async def entry_run(backend: SqliteBackend, recrawl_: RecrawlPolicy = CONDITIONAL) -> Run:
    run, worker = await start(backend, recrawl_, "e")
    await settle(backend, read(await take_one(backend, worker, run), rows=ROWS, version=V2))
    return await finish(backend, run)


async def kept(backend: SqliteBackend, columns: str) -> list[tuple[object, ...]]:
    return await backend.database.read(
        lambda connection: rows(connection, f"SELECT {columns} FROM visited ORDER BY fingerprint")
    )


async def test_a_run_that_does_not_look_back_keeps_nothing(backend: SqliteBackend) -> None:
    await first_run(backend, RecrawlPolicy(), url("p"))
    assert await kept(backend, "*") == []


async def test_a_window_needs_neither_rows_nor_links(backend: SqliteBackend) -> None:
    await entry_run(backend, RecrawlPolicy(window_s=DAY))
    assert await kept(backend, "etag, last_modified, page, interval_s") == [("", "", None, None)]


@pytest.mark.parametrize("damaged", [b"", b"not packed", b"x\x9cK\x04\x00\x00b\x00b"])
async def test_a_memory_that_cannot_be_read_is_none(backend: SqliteBackend, damaged: bytes) -> None:
    await entry_run(backend)
    run, worker = await start(backend, CONDITIONAL, "e")
    lease = await take_one(backend, worker, run)
    await backend.database.write(
        lambda connection: connection.execute("UPDATE visited SET page = ?", (damaged,))
    )
    await settle(backend, unchanged(lease))
    assert await versions(backend, worker, run) == {"e": None}


async def test_a_page_that_gave_too_much_is_not_remembered(backend: SqliteBackend) -> None:
    run, worker = await start(backend, CONDITIONAL, "e")
    many = [{"n": "x" * recrawl.MAX_PAGE_BYTES}]
    await settle(backend, read(await take_one(backend, worker, run), rows=many, version=V2))
    assert await kept(backend, "etag, last_modified, page") == [("", "", None)]


async def test_when_a_page_changed_is_kept(backend: SqliteBackend) -> None:
    first = await entry_run(backend)
    await backend.clock.advance(DAY)
    second = await entry_run(backend)
    ((run_id, fetched_at, changed_at),) = await kept(backend, "run_id, fetched_at, changed_at")
    assert run_id == second.id
    assert changed_at == first.finished_at
    assert fetched_at == second.finished_at
    await backend.clock.advance(DAY)
    run, worker = await start(backend, CONDITIONAL, "e")
    await settle(backend, read(await take_one(backend, worker, run), rows=[], version=V1))
    assert await kept(backend, "changed_at") == [(backend.clock.now(),)]


@pytest.mark.parametrize("name", ["visit", "seen", "recall", "left_alone", "forget", "task"])
async def test_looking_back_finds_rows_by_a_key(backend: SqliteBackend, name: str) -> None:
    """However many pages are remembered."""
    values = (1,) if name in ("forget", "task") else (1, b"x")
    sql = f"EXPLAIN QUERY PLAN {getattr(recrawl.SQL, name)}"
    plan = await backend.database.read(lambda connection: rows(connection, sql, values))
    assert plan
    assert not [step for *_, step in plan if step.startswith("SCAN")], plan
