"""Single statements on the event loop: together in one trip, and as patient as transactions."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import Any

import psycopg
import pytest

from smartspider.backends.postgres.database import CallLimits, PostgresDatabase
from smartspider.core.errors import StoreUnavailable
from smartspider.store.database import Connection
from smartspider_testing.backends.postgres import PostgresBackend

NUMBERS = "SELECT number FROM generate_series(1, ?) AS number"
OWN = "SELECT pg_backend_pid()"


async def test_what_is_asked_in_the_same_moment_goes_in_one_trip(backend: PostgresBackend) -> None:
    """Statements of one round trip are one transaction of the server, with one time."""
    timed = "SELECT number, now()::text FROM generate_series(1, ?) AS number"
    found = await asyncio.gather(*(backend.database.fetch(timed, (size,)) for size in range(5)))
    assert [[number for number, _ in rows] for rows in found] == [
        list(range(1, size + 1)) for size in range(5)
    ]
    ((_, later),) = await backend.database.fetch(timed, (1,))
    assert len({at for rows in found for _, at in rows}) == 1
    assert later not in {at for rows in found for _, at in rows}


async def test_values_of_all_kinds_arrive_as_they_are(backend: PostgresBackend) -> None:
    values: tuple[Any, ...] = (7, 0.5, "a 'b' ?", b"\x00c", None, True, [1, 2], ["d", "?"])
    asked = "SELECT ?::bigint, ?::float8, ?::text, ?::bytea, ?::text, ?::bigint, ?::bigint[], ?::text[], '?'"
    for _ in range(2):
        assert await backend.database.fetch(asked, values) == [(*values[:5], 1, *values[6:], "?")]
    assert await backend.database.fetch("SELECT ?2::bigint, ?1::bigint, ?2::bigint", (1, 2)) == [(2, 1, 2)]
    assert await backend.database.fetch("SELECT 1 WHERE 'x' = ?", ("x\0",)) == []


async def test_more_than_fits_into_a_socket_arrives(backend: PostgresBackend) -> None:
    text = "x" * 20_000_000
    ((length, back),) = await backend.database.fetch("SELECT length(?1), ?1::text", (text,))
    assert (length, back) == (len(text), text)


async def test_one_that_is_wrong_spoils_no_other(backend: PostgresBackend) -> None:
    right, wrong = await asyncio.gather(
        backend.database.fetch(NUMBERS, (2,)),
        backend.database.fetch("SELECT 1 / ?::bigint", (0,)),
        return_exceptions=True,
    )
    assert right == [(1,), (2,)]
    assert isinstance(wrong, psycopg.errors.DivisionByZero)
    assert await backend.database.fetch(NUMBERS, (1,)) == [(1,)]


async def test_a_transaction_that_is_rolled_back_costs_no_question(backend: PostgresBackend) -> None:
    def refused(connection: Connection) -> None:
        for number in range(8):  # often enough for the driver to prepare it
            connection.execute(NUMBERS, (number,)).fetchall()
        raise ValueError("no")

    for _ in range(3):
        assert await backend.database.fetch(NUMBERS, (1,)) == [(1,)]
        with pytest.raises(ValueError, match="no"):
            await backend.database.write(refused)
    assert await backend.database.fetch(NUMBERS, (1,)) == [(1,)]


async def test_what_the_driver_prepared_is_there_after_a_transaction_is_rolled_back(
    empty_store: str, backend: PostgresBackend
) -> None:
    """Also when the first one was before it had prepared anything: two workers that begin one run."""

    def looked(connection: Connection) -> None:
        connection.execute(NUMBERS, (1,)).fetchall()

    def refused(connection: Connection) -> None:
        looked(connection)
        raise ValueError("no")

    alone = PostgresDatabase(empty_store, backend.clock, backend.times, size=1)
    try:
        for _ in range(3):
            await alone.fetch(OWN)
            with pytest.raises(ValueError, match="no"):
                await alone.write(refused)
            for _ in range(8):  # often enough for the driver to prepare it
                await alone.write(looked)
    finally:
        alone.close()


async def test_a_connection_that_was_ended_is_replaced(backend: PostgresBackend) -> None:
    other = await backend.another()
    ((own,),) = await backend.database.fetch(OWN)
    assert await other.database.fetch("SELECT pg_terminate_backend(?::bigint::int, 5000)", (own,)) == [
        (True,)
    ]
    ((new,),) = await backend.database.fetch(OWN)
    assert new != own


async def test_a_server_that_is_silent_is_not_waited_for_for_ever(
    empty_store: str, backend: PostgresBackend
) -> None:
    limits = CallLimits(call_s=0.3, retry_s=0.0)
    with closing(PostgresDatabase(empty_store, backend.clock, backend.times, limits=limits)) as impatient:
        with pytest.raises(StoreUnavailable):
            await impatient.fetch("SELECT pg_sleep(20)")
        assert await impatient.fetch(NUMBERS, (1,)) == [(1,)]


async def test_who_gives_up_waiting_leaves_the_others_their_answers(backend: PostgresBackend) -> None:
    await backend.database.fetch(NUMBERS, (1,))
    kept = asyncio.create_task(backend.database.fetch("SELECT 5 FROM pg_sleep(0.05)"))
    given_up = asyncio.create_task(backend.database.fetch(NUMBERS, (3,)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    given_up.cancel()
    assert await kept == [(5,)]
    with pytest.raises(asyncio.CancelledError):
        await given_up


async def test_many_different_statements_do_not_pile_up_on_the_server(
    empty_store: str, backend: PostgresBackend
) -> None:
    limits = CallLimits(max_prepared=3)
    with closing(PostgresDatabase(empty_store, backend.clock, size=1, limits=limits)) as alone:
        for number in range(6):
            assert await alone.fetch(f"SELECT {number}::bigint") == [(number,)]
        ((prepared,),) = await alone.fetch("SELECT count(*) FROM pg_prepared_statements")
        assert prepared == 3
