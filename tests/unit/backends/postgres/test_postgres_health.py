"""Whether a database can be used."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg
import pytest

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.store import TIMEOUT_S, PostgresHealth
from smartspider.core.errors import StoreUnavailable
from smartspider_testing.backends.postgres import PostgresBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.servers import TcpProxy


@contextmanager
def opened(url: str, timeout_s: float = TIMEOUT_S) -> Iterator[PostgresHealth]:
    database = PostgresDatabase(url, ManualClock())
    try:
        yield PostgresHealth(database, timeout_s=timeout_s)
    finally:
        database.close()


@contextmanager
def through_proxy(url: str, timeout_s: float) -> Iterator[tuple[TcpProxy, PostgresHealth]]:
    parts = urlsplit(url)
    with (
        TcpProxy(str(parts.hostname), parts.port or 0) as proxy,
        opened(url.replace(f":{parts.port}/", f":{proxy.url_port}/"), timeout_s) as checked,
    ):
        yield proxy, checked


async def test_a_database_that_takes_changes_is_well(backend: PostgresBackend) -> None:
    await PostgresHealth(backend.database).check_writable()
    with psycopg.connect(backend.url, autocommit=True) as other:  # also while somebody writes
        other.execute(
            "BEGIN; SELECT pg_advisory_xact_lock(7305001); UPDATE smartspider.meta SET value = value"
        )
        await PostgresHealth(backend.database).check_writable()


async def test_a_server_that_only_reads_is_not(empty_store: str) -> None:
    with (
        opened(empty_store) as checked,
        psycopg.connect(empty_store, autocommit=True) as other,
    ):
        name = other.info.dbname
        other.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'.encode())
        try:
            with pytest.raises(StoreUnavailable, match="read-only"):
                await checked.check_writable()
        finally:
            other.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only'.encode())


async def test_a_connection_that_comes_too_late_is_not_kept(empty_store: str) -> None:
    with through_proxy(empty_store, timeout_s=0.1) as (proxy, checked):
        proxy.freeze()
        with pytest.raises(StoreUnavailable):
            await checked.check_writable()
        assert proxy.connections == 1
        proxy.resume()
        async with asyncio.timeout(5.0):
            while True:
                if proxy.connections == 0:
                    break
                await asyncio.sleep(0.005)


async def test_a_server_that_is_gone_or_silent_is_told_soon(empty_store: str) -> None:
    with through_proxy(empty_store, timeout_s=0.3) as (proxy, checked):
        await checked.check_writable()
        for trouble in (proxy.freeze, proxy.cut):
            trouble()
            began_at = time.monotonic()
            with pytest.raises(StoreUnavailable, match=r"within 0\.3 s"):
                await checked.check_writable()
            assert time.monotonic() - began_at < 5.0
            (proxy.resume if trouble == proxy.freeze else proxy.restore)()
            await checked.check_writable()
