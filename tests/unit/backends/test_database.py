from __future__ import annotations

import asyncio
import threading
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from smartspider.backends.sqlite.database import FILE, LOCK_TIMEOUT_S, connect
from smartspider.backends.sqlite.file_watch import CHECK_S
from smartspider.core.errors import StoreUnavailable
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.database import Connection, one
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.contracts.actions import (
    begin,
    done,
    items,
    plan_of,
    settle,
    take,
    take_one,
    url,
    urls,
)


async def test_a_locked_database_is_waited_for_and_then_told(backend: SqliteBackend) -> None:
    stranger = apsw.Connection(str(backend.folder / FILE))
    stranger.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(backend.store.create_run(plan_of()))
    await backend.clock.advance(LOCK_TIMEOUT_S - 1.0)
    assert not waiting.done()
    await backend.clock.advance(2.0)
    with pytest.raises(StoreUnavailable, match="locked by another program"):
        await waiting
    stranger.execute("ROLLBACK")
    stranger.close()
    assert (await backend.store.create_run(plan_of())).state == "queued"


async def test_a_lock_that_is_let_go_in_time_is_not_noticed(backend: SqliteBackend) -> None:
    stranger = apsw.Connection(str(backend.folder / FILE))
    stranger.execute("BEGIN IMMEDIATE")
    waiting = [asyncio.create_task(backend.store.create_run(plan_of())) for _ in range(3)]
    await backend.clock.advance(LOCK_TIMEOUT_S - 1.0)
    assert await backend.store.find_runs() == []
    stranger.execute("ROLLBACK")
    stranger.close()
    assert len({run.id for run in await asyncio.gather(*waiting)}) == 3


async def test_a_full_disk_loses_nothing(backend: SqliteBackend) -> None:
    """The page is settled again when there is room, with everything it had."""
    run = await begin(backend, *urls(5))
    worker = await backend.frontier.join(WorkerRegistration("w"))
    first, second = await take(backend, worker, run, want=2)
    await settle(backend, done(first, items=[{"n": 1}]))
    ((pages,),) = await backend.database.fetch("PRAGMA page_count")
    await backend.database.fetch(f"PRAGMA max_page_count = {pages}")  # holds for one connection only
    page = done(second, *urls(500, "child"), items=[{"text": "x" * 5000} for _ in range(50)])
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="full"):
            await settle(backend, page)
        assert await items(backend, run) == [{"n": 1}]
        assert (await backend.store.get_run(run.id)).counters.total == 5
    await backend.database.fetch("PRAGMA max_page_count = 1000000")
    report = await settle(backend, page)
    assert (report.items, report.new_urls, report.late) == (50, 500, 0)
    assert await backend.store.fsck() == []


async def _work_again(backend: SqliteBackend, worker: int, run: Run) -> None:
    backend.open()
    await take(backend, worker, run)


async def test_a_corrupt_file_is_told_and_not_worked_on(backend: SqliteBackend) -> None:
    run = await begin(backend, *urls(3000))
    worker = await backend.frontier.join(WorkerRegistration("w"))
    backend.frontier.lose_all()
    backend.database.close()
    path = backend.folder / FILE
    body = bytearray(path.read_bytes())
    for place in range(8192, len(body), 4096):
        body[place : place + 64] = b"\xff" * 64
    path.write_bytes(bytes(body))
    with pytest.raises(StoreUnavailable, match="damaged"):
        await _work_again(backend, worker, run)


async def test_a_transaction_that_fails_leaves_the_connection_usable(backend: SqliteBackend) -> None:
    def work(connection: Connection) -> None:
        connection.execute("INSERT INTO host (name, domain) VALUES ('never', 'never')")
        raise RuntimeError

    for _ in range(3):
        with pytest.raises(RuntimeError):
            await backend.database.write(work)
    assert await backend.database.read(lambda connection: one(connection, "SELECT count(*) FROM host")) == 0
    assert (await backend.store.create_run(plan_of())).state == "queued"


async def test_the_log_is_moved_into_the_file_while_work_goes_on(
    backend: SqliteBackend,
) -> None:
    """A long crawl does not grow the log without end, and reading it back is complete."""
    run = await begin(backend, "seed")
    worker = await backend.frontier.join(WorkerRegistration("w"))
    log = backend.folder / f"{FILE}-wal"
    sizes = []
    for number in range(12):
        lease = await take_one(backend, worker, run)
        texts = [{"text": f"{number}-{item}" + "x" * 4000} for item in range(800)]
        await settle(backend, done(lease, url(f"next{number}"), items=texts))
        for thread in threading.enumerate():
            if thread.name == "checkpoint":
                await asyncio.to_thread(thread.join)
        sizes.append(log.stat().st_size)
    assert max(sizes) < 40_000_000
    assert (backend.folder / FILE).stat().st_size > 12_000_000
    assert len(await items(backend, run)) == 9600


async def test_a_removed_file_is_noticed_although_sqlite_goes_on(backend: SqliteBackend) -> None:
    run = await begin(backend, *urls(2))
    (backend.folder / FILE).rename(backend.folder / "elsewhere.db")
    await backend.clock.advance(CHECK_S)
    with pytest.raises(StoreUnavailable, match="removed or replaced"):
        await backend.store.get_run(run.id)
    (backend.folder / FILE).write_bytes(b"")
    with pytest.raises(StoreUnavailable, match="removed or replaced"):
        await backend.store.create_run(plan_of())
    (backend.folder / "elsewhere.db").replace(backend.folder / FILE)
    assert (await backend.store.get_run(run.id)).id == run.id


def test_statements_are_not_compiled_again_for_other_values(tmp_path: Path) -> None:
    """SQLite would compile most statements of a lease at every call, which takes longer than to run them."""
    with closing(connect(tmp_path / FILE)) as connection:
        assert connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1) == 1
