"""Single read-only statements, several in one round trip, processed on the event loop without a thread.

An idle cluster does little else, so this decides its cost. Each statement sees its own snapshot; reads
that need a common one use a transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec
import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn, PGresult

from smartspider.backends.postgres.connection import PostgresConnection, without_nul
from smartspider.backends.postgres.dialect import translate
from smartspider.store.database import Row


class PipelinedRead(msgspec.Struct, frozen=True):
    """A statement, its values, and the future for its rows."""

    sql: str
    values: tuple[Any, ...]
    answer: asyncio.Future[list[Row]]


async def fetch_all(
    connection: PostgresConnection, reads: Sequence[PipelinedRead], max_prepared: int
) -> list[list[Row]]:
    """Return the rows of each statement. On any error none is answered, and the connection must be closed."""
    pgconn = connection.driver.pgconn
    results: list[PGresult] = []
    try:
        pgconn.enter_pipeline_mode()
        for read in reads:
            _send(connection, read, max_prepared)
        pgconn.pipeline_sync()
        await _exchange(pgconn, results)
        pgconn.exit_pipeline_mode()
        found = [result for result in results if result.status == ExecStatus.TUPLES_OK]
        return [_rows(connection, result) for result in found]
    except BaseException:
        connection.close()
        raise


def _send(connection: PostgresConnection, read: PipelinedRead, max_prepared: int) -> None:
    """Send a statement, prepared on first use."""
    pgconn, text = connection.driver.pgconn, _text(read.sql)
    given, types, formats = _dumped(connection, read.values)
    key = (read.sql, types)
    name = connection.prepared.get(key)
    if name is None and len(connection.prepared) >= max_prepared:
        pgconn.send_query_params(text, given, types, formats)
        return
    if name is None:
        name = connection.prepared[key] = b"ask_%d" % len(connection.prepared)
        pgconn.send_prepare(name, text, types)
    pgconn.send_query_prepared(name, given, formats)


def _dumped(
    connection: PostgresConnection, values: tuple[Any, ...]
) -> tuple[Sequence[Buffer | None], tuple[int, ...], Sequence[Any]]:
    if not values:
        return (), (), ()
    transformer = Transformer(connection.driver)
    forms = [PyFormat.AUTO] * len(values)
    try:
        given = transformer.dump_sequence(values, forms)
    except psycopg.DataError:  # NUL in a text
        given = transformer.dump_sequence(without_nul(values), forms)
    return given, tuple(transformer.types or ()), transformer.formats or ()


def _rows(connection: PostgresConnection, result: PGresult) -> list[Row]:
    transformer = Transformer(connection.driver)
    transformer.set_pgresult(result)
    return transformer.load_rows(0, result.ntuples, tuple)


async def _exchange(pgconn: PGconn, results: list[PGresult]) -> None:
    """Send all statements and collect the results until all have arrived."""
    loop, line = asyncio.get_running_loop(), pgconn.socket
    over: asyncio.Future[None] = loop.create_future()

    def read() -> None:
        try:
            pgconn.consume_input()
            if not over.done() and _take(pgconn, results):
                over.set_result(None)
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            if not over.done():
                over.set_exception(error)

    def write() -> None:
        try:
            if not pgconn.flush():
                loop.remove_writer(line)
        except psycopg.Error as error:
            if not over.done():
                over.set_exception(error)

    loop.add_reader(line, read)
    try:
        if pgconn.flush():
            loop.add_writer(line, write)
        await over
    finally:
        loop.remove_reader(line)
        loop.remove_writer(line)


def _take(pgconn: PGconn, results: list[PGresult]) -> bool:
    """Collect the available results. Return whether these were all."""
    while not pgconn.is_busy():
        result = pgconn.get_result()
        if result is None:
            continue
        if result.status == ExecStatus.PIPELINE_SYNC:
            return True
        if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            raise error_from_result(result)
        results.append(result)
    return False


@lru_cache(maxsize=1024)
def _text(sql: str) -> bytes:
    return translate(sql).server.encode()
