"""Whether a database can be used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg
import pytest

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.store import PostgresHealth
from smartspider.core.errors import StoreUnavailable
from smartspider_testing.backends.postgres import PostgresBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.servers import TcpProxy
from smartspider_testing.waiting import WAIT_S, scaled


@contextmanager
def opened(url: str) -> Iterator[PostgresDatabase]:
    database = PostgresDatabase(url, ManualClock())
    try:
        yield database
    finally:
        database.close()


@contextmanager
def through_proxy(url: str) -> Iterator[tuple[TcpProxy, PostgresDatabase]]:
    parts = urlsplit(url)
    with (
        TcpProxy(str(parts.hostname), parts.port or 0) as proxy,
        opened(url.replace(f":{parts.port}/", f":{proxy.url_port}/")) as database,
    ):
        yield proxy, database


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while True:
            if is_so():
                return
            await asyncio.sleep(0.005)


async def test_a_database_that_takes_changes_is_well(backend: PostgresBackend) -> None:
    await PostgresHealth(backend.database).check_writable()
    with psycopg.connect(backend.url, autocommit=True) as other:  # also while somebody writes
        other.execute(
            "BEGIN; SELECT pg_advisory_xact_lock(7305001); UPDATE smartspider.meta SET value = value"
        )
        await PostgresHealth(backend.database).check_writable()


async def test_a_server_that_only_reads_is_not(empty_store: str) -> None:
    with (
        opened(empty_store) as database,
        psycopg.connect(empty_store, autocommit=True) as other,
    ):
        name = other.info.dbname
        other.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'.encode())
        try:
            with pytest.raises(StoreUnavailable, match="read-only"):
                await PostgresHealth(database).check_writable()
        finally:
            other.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only'.encode())


async def test_a_connection_that_comes_too_late_is_not_kept(empty_store: str) -> None:
    with through_proxy(empty_store) as (proxy, database):
        proxy.freeze()
        with pytest.raises(StoreUnavailable):
            await PostgresHealth(database, timeout_s=0.1).check_writable()
        await until(lambda: proxy.connections == 1)
        proxy.resume()
        await until(lambda: proxy.connections == 0)


async def test_a_server_that_is_gone_or_silent_is_told_soon(empty_store: str) -> None:
    with through_proxy(empty_store) as (proxy, database):
        healthy, hasty = PostgresHealth(database, timeout_s=WAIT_S), PostgresHealth(database, timeout_s=0.3)
        await healthy.check_writable()
        for trouble in (proxy.freeze, proxy.cut):
            trouble()
            async with asyncio.timeout(scaled(20.0)):  # sooner than a call ends
                with pytest.raises(StoreUnavailable, match=r"within 0\.3 s"):
                    await hasty.check_writable()
            (proxy.resume if trouble == proxy.freeze else proxy.restore)()
            await healthy.check_writable()
