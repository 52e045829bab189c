"""A client that stands still in the middle of a transaction: its locks end, and it commits nothing late."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator

import psycopg
import pytest
from tests.unit.backends.postgres.leases import leases, started

from smartspider.backends.postgres.ledger import PostgresLedger
from smartspider.backends.postgres.store import PostgresHealth
from smartspider.core import failpoints
from smartspider.core.runs.run import Run
from smartspider.store.database import Connection, rows
from smartspider_testing.backends.postgres import PostgresBackend
from smartspider_testing.contracts.actions import done, plan_of, urls
from smartspider_testing.waiting import WAIT_S

WITHIN_S = 3.0
"""The promise: so long may a client that stands still hold up others."""


class Standstill:
    """Stops the first thread that comes to a fail point, as SIGSTOP stops a process."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._thread = 0
        self._goes_on = threading.Event()
        self.reached = threading.Event()

    def __call__(self, name: str) -> None:
        if name == self._place and not self._thread:
            self._thread = threading.get_ident()
            self.reached.set()
            assert self._goes_on.wait(WAIT_S)

    def end(self) -> None:
        """Let it go on."""
        self._goes_on.set()


@pytest.fixture
async def standstill(request: pytest.FixtureRequest) -> AsyncIterator[Standstill]:
    stop = Standstill(request.param)
    failpoints.arm(stop)
    yield stop
    failpoints.arm(None)
    stop.end()


async def settle_all(backend: PostgresBackend, run: Run) -> int:
    held = await leases(backend.database, run)
    report, _ = await PostgresLedger(backend.database).settle(
        [done(lease, items=[{"n": lease.url_id}]) for lease in held], None
    )
    return report.closed


@pytest.mark.parametrize("standstill", ["settle.decided", "settle.counted"], indirect=True)
async def test_a_frozen_settle_holds_up_nobody_for_long(
    backend: PostgresBackend, standstill: Standstill
) -> None:
    """Neither another run on the same host, nor its own; what it brings late adds nothing."""
    other = await backend.another()
    mine, others = await started(backend, plan_of(*urls(4))), await started(backend, plan_of(*urls(4)))
    frozen = asyncio.create_task(settle_all(backend, mine))
    await asyncio.to_thread(standstill.reached.wait, 10.0)
    began_at = time.monotonic()
    async with asyncio.timeout(WITHIN_S):
        assert await settle_all(other, others) == 4
    async with asyncio.timeout_at(asyncio.get_running_loop().time() + WITHIN_S):
        assert await settle_all(other, mine) == 4
    assert time.monotonic() - began_at < 2 * WITHIN_S
    standstill.end()
    assert await frozen == 0
    counters = (await backend.store.get_run(mine.id)).counters
    assert (counters.done, counters.items, counters.late) == (4, 4, 4)
    assert await backend.store.fsck() == []


async def test_a_write_that_stood_still_is_repeated(backend: PostgresBackend) -> None:
    """It is certain that nothing was committed, so nobody is asked to find out."""
    tries = 0

    def work(connection: Connection) -> None:
        nonlocal tries
        tries += 1
        connection.execute("INSERT INTO meta VALUES ('thing', ?)", (tries,))
        connection.changes()  # it is carried out by now
        if tries == 1:
            wait_for_end(backend.url)

    await backend.database.write_concurrently(work)
    assert await backend.database.fetch("SELECT value FROM meta WHERE name = 'thing'") == [(2,)]


WAITING = "SELECT 1 FROM pg_stat_activity WHERE state LIKE 'idle in tr%' AND datname = current_database()"


def wait_for_end(url: str) -> None:
    """Wait until no session is in the middle of a transaction."""
    give_up_at = time.monotonic() + 10.0
    with psycopg.connect(url, autocommit=True) as watch:
        while watch.execute(WAITING).fetchone():
            assert time.monotonic() < give_up_at
            time.sleep(0.05)


async def test_a_client_that_stopped_while_it_sent_is_found(backend: PostgresBackend) -> None:
    """There is no Sync yet, so no timeout of the server runs."""
    health = PostgresHealth(backend.database)
    with psycopg.connect(backend.url, autocommit=True, application_name="smartspider") as client:
        for _ in range(2):
            with client.pipeline():
                client.execute("SELECT 1")
        assert await health.end_stopped_clients() == 0
        client.pgconn.enter_pipeline_mode()
        for statement in (b"BEGIN", b"SELECT pg_advisory_xact_lock(7305001)"):
            client.pgconn.send_query_params(statement, None)
        client.pgconn.send_flush_request()
        client.pgconn.flush()
        async with asyncio.timeout(WAIT_S):
            while not await health.end_stopped_clients():  # noqa: ASYNC110 - it is asked, it tells nobody
                await asyncio.sleep(0.1)
            await backend.database.write(lambda _connection: None)
        client.close()


async def test_a_reader_may_compute_between_two_statements(backend: PostgresBackend) -> None:
    def limit(connection: Connection) -> str:
        ((found,),) = rows(connection, "SELECT current_setting('idle_in_transaction_session_timeout')")
        return str(found)

    assert await backend.database.read(limit) == "20s"
    assert await backend.database.write_concurrently(limit) == "1s"
    assert await backend.database.write(limit) == "5s"
    assert await backend.database.without_timeout(limit, is_writing=False) == "1min"
