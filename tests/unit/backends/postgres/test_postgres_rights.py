"""A user whose rights are taken away while it works: nothing is half done, and what is missing is said."""

from __future__ import annotations

from collections.abc import AsyncIterator

import psycopg
import pytest
from tests.unit.backends.postgres.leases import leases, started

from smartspider.backends.postgres.ledger import PostgresLedger
from smartspider.backends.postgres.open_rows import PostgresOpenRows
from smartspider.backends.postgres.schema import prepare
from smartspider.core.errors import StoreUnavailable
from smartspider_testing.backends.postgres import PostgresBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts.actions import HOST, done


@pytest.fixture
async def backend(empty_database: str) -> AsyncIterator[PostgresBackend]:
    """On a database of its own: rights outlive its rows."""
    prepare(empty_database)
    made = PostgresBackend(empty_database, ManualClock())
    yield made
    await made.close()


def change(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True, options="-c search_path=smartspider") as connection:
        connection.execute(statement.encode())


async def test_a_page_whose_rows_may_not_be_kept_waits_until_they_may(
    backend: PostgresBackend, empty_database: str
) -> None:
    run = await started(backend)
    (lease,) = await leases(backend.database, run)
    ledger = PostgresLedger(backend.database)
    page = done(lease, items=[{"n": 1}])
    change(empty_database, "REVOKE INSERT ON item FROM CURRENT_USER")
    with pytest.raises(StoreUnavailable, match="permission denied for table item") as refused:
        await ledger.settle([page], None)
    assert "GRANT" in refused.value.hint
    change(empty_database, "GRANT INSERT ON item TO CURRENT_USER")
    await ledger.settle([page], None)
    assert (await backend.store.get_run(run.id)).counters.done == 1


async def test_nothing_is_done_to_a_host_that_cannot_be_audited(
    backend: PostgresBackend, empty_database: str
) -> None:
    run = await started(backend)
    rows = PostgresOpenRows(backend.database)
    change(empty_database, "REVOKE INSERT ON audit FROM CURRENT_USER")
    for act in (
        rows.hold_host(HOST, 60.0, "lunch", actor="ann"),
        rows.slow_host(HOST, 9.0, actor="ann"),
        rows.resume_host(HOST, actor="ann"),
    ):
        with pytest.raises(StoreUnavailable, match="permission denied for table audit"):
            await act
    (host,) = await backend.store.hosts(run.id)
    assert (host.held_until, host.hold_reason, host.delay_s) == (0.0, "", 0.0)
