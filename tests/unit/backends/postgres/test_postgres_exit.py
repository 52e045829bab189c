"""Exiting while PostgreSQL does not answer: a connection that is being opened does not delay it."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from smartspider.backends.postgres.connection import CONNECT_S
from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.detached import run_detached
from smartspider.engine.runtime import SystemClock
from smartspider_testing.waiting import WAIT_S


@pytest.fixture
def deaf_port() -> Iterator[int]:
    """Of a server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


async def test_a_server_that_says_nothing_keeps_nobody_from_leaving(deaf_port: int) -> None:
    database = PostgresDatabase(f"postgresql://somebody@127.0.0.1:{deaf_port}/spider", SystemClock())
    asked = [asyncio.ensure_future(database.fetch("SELECT 1")), asyncio.ensure_future(database.read(id))]
    await asyncio.sleep(0.1)
    began_at = time.monotonic()
    for one in asked:
        one.cancel()
    await asyncio.gather(*asked, return_exceptions=True)
    database.close()
    assert time.monotonic() - began_at < CONNECT_S / 2
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "aside")


async def test_what_comes_too_late_is_let_go_of() -> None:
    gone: list[str] = []
    is_let_go = asyncio.Event()
    is_asked, loop = threading.Event(), asyncio.get_running_loop()

    def let_go(thing: str) -> None:
        gone.append(thing)
        loop.call_soon_threadsafe(is_let_go.set)

    def work() -> str:
        is_asked.wait(WAIT_S)
        return "a connection"

    late = run_detached(work, let_go)
    late.cancel()
    is_asked.set()
    await is_let_go.wait()
    assert gone == ["a connection"]


async def test_an_error_comes_to_who_waits() -> None:
    def work() -> str:
        raise ConnectionRefusedError("nobody is there")

    with pytest.raises(ConnectionRefusedError, match="nobody is there"):
        await run_detached(work, print)
