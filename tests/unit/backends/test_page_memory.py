"""What SQLite keeps of pages from run to run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from smartspider.core.requests.recrawl import RecrawlPolicy
from smartspider.core.runs.run import Run
from smartspider.store.database import rows
from smartspider.store.settle import recrawl
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock
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


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[SqliteBackend]:
    ground = SqliteBackend(tmp_path, ManualClock())
    yield ground
    await ground.close()


async def entry_run(ground: SqliteBackend, recrawl_: RecrawlPolicy = CONDITIONAL) -> Run:
    run, worker = await start(ground, recrawl_, "e")
    await settle(ground, read(await take_one(ground, worker, run), rows=ROWS, version=V2))
    return await finish(ground, run)


async def kept(ground: SqliteBackend, columns: str) -> list[tuple[object, ...]]:
    return await ground.database.read(
        lambda connection: rows(connection, f"SELECT {columns} FROM visited ORDER BY fingerprint")
    )


async def test_a_run_that_does_not_look_back_keeps_nothing(ground: SqliteBackend) -> None:
    await first_run(ground, RecrawlPolicy(), url("p"))
    assert await kept(ground, "*") == []


async def test_a_window_needs_neither_rows_nor_links(ground: SqliteBackend) -> None:
    await entry_run(ground, RecrawlPolicy(window_s=DAY))
    assert await kept(ground, "etag, last_modified, page, interval_s") == [("", "", None, None)]


@pytest.mark.parametrize("damaged", [b"", b"not packed", b"x\x9cK\x04\x00\x00b\x00b"])
async def test_a_memory_that_cannot_be_read_is_none(ground: SqliteBackend, damaged: bytes) -> None:
    await entry_run(ground)
    run, worker = await start(ground, CONDITIONAL, "e")
    lease = await take_one(ground, worker, run)
    await ground.database.write(
        lambda connection: connection.execute("UPDATE visited SET page = ?", (damaged,))
    )
    await settle(ground, unchanged(lease))
    assert await versions(ground, worker, run) == {"e": None}


async def test_a_page_that_gave_too_much_is_not_remembered(
    ground: SqliteBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recrawl, "MAX_PAGE_BYTES", 10)
    await entry_run(ground)
    assert await kept(ground, "etag, last_modified, page") == [("", "", None)]


async def test_when_a_page_changed_is_kept(ground: SqliteBackend) -> None:
    first = await entry_run(ground)
    await ground.clock.advance(DAY)
    second = await entry_run(ground)
    ((run_id, fetched_at, changed_at),) = await kept(ground, "run_id, fetched_at, changed_at")
    assert run_id == second.id
    assert changed_at == first.finished_at
    assert fetched_at == second.finished_at
    await ground.clock.advance(DAY)
    run, worker = await start(ground, CONDITIONAL, "e")
    await settle(ground, read(await take_one(ground, worker, run), rows=[], version=V1))
    assert await kept(ground, "changed_at") == [(ground.clock.now(),)]


@pytest.mark.parametrize("name", ["visit", "seen", "recall", "left_alone", "forget", "task"])
async def test_looking_back_finds_rows_by_a_key(ground: SqliteBackend, name: str) -> None:
    """However many pages are remembered."""
    values = (1,) if name in ("forget", "task") else (1, b"x")
    sql = f"EXPLAIN QUERY PLAN {getattr(recrawl.SQL, name)}"
    plan = await ground.database.read(lambda connection: rows(connection, sql, values))
    assert plan
    assert not [step for *_, step in plan if step.startswith("SCAN")], plan
