"""Connections to one PostgreSQL database: transactions in threads, tried again where that is safe."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg

from smartspider.backends.postgres import pipelined_reads
from smartspider.backends.postgres.address import PostgresAddress
from smartspider.backends.postgres.connection import PostgresConnection
from smartspider.backends.postgres.detached import run_detached
from smartspider.backends.postgres.store_time import StoreTime
from smartspider.core.errors import OutcomeUnknown, RequestInvalid
from smartspider.core.frontier.updates import FrontierUpdate
from smartspider.interfaces.clock import Clock
from smartspider.store.database import Connection, Row

T = TypeVar("T")

CALL_S = 25.0
"""How long one transaction may take; then its connection is cut: one that is half open holds nobody."""
PATIENCE_S = 30.0
"""How long a server that is gone is waited for."""
FIRST_PAUSE_S = 0.05
MAX_PAUSE_S = 1.0

SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
NO_LIMIT = (
    "SELECT set_config(name, value, true) FROM (VALUES ('statement_timeout', '0'), ('enable_seqscan', 'on'),"
    " ('enable_hashjoin', 'on'), ('enable_mergejoin', 'on')) AS settings (name, value)"
)
"""For work that looks at everything there is."""
ALONE = "SELECT pg_advisory_xact_lock(7305001)"
"""Writes that read before they decide come one at a time, as in a file."""

AGAIN = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.LockNotAvailable,
    psycopg.errors.AdminShutdown,
    psycopg.errors.CrashShutdown,
    psycopg.errors.CannotConnectNow,
    psycopg.errors.TooManyConnections,
    psycopg.errors.IdleInTransactionSessionTimeout,
)
"""Nothing was kept, and the next try may do better."""
REFUSING = (psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.InsufficientPrivilege)
"""Nothing was kept, and only somebody else can change that."""


class PostgresDatabase:
    """A database as the stores see it. `size` is how many transactions may go on at a time."""

    def __init__(self, url: str, clock: Clock, times: StoreTime | None = None, *, size: int = 4) -> None:
        self.clock = clock
        self.times = times or StoreTime(clock)
        self._url = url
        self._address = PostgresAddress(url)
        self.place = self._address.place
        self._free: list[PostgresConnection] = []
        self._known_hosts: dict[str, int] = {}
        self._asked: list[pipelined_reads.PipelinedRead] = []
        self._trips: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(size)
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="postgres")
        # The driver warns of what follows from an error, beside the error itself, which is raised.
        logging.getLogger("psycopg").setLevel(logging.ERROR)

    def now(self) -> float:
        """Store time, the same for all processes: it never goes back."""
        return self.times.now()

    def clock_shift(self) -> float:
        """How far this process's monotonic clock is ahead of store time."""
        return self.times.clock_shift()

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one consistent snapshot."""
        return await self._patiently((SNAPSHOT,), work, is_writing=False)

    async def fetch(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of one statement that only looks, or does no harm when it is carried out twice.

        What is asked in the same moment goes in one trip.
        """
        loop = asyncio.get_running_loop()
        question = pipelined_reads.PipelinedRead(sql, tuple(values), loop.create_future())
        self._asked.append(question)
        if len(self._asked) == 1:
            loop.call_soon(self._set_out)
        return await question.answer

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one write transaction, alone among all writes that read first."""
        with refused():
            return await self._patiently(("BEGIN", ALONE), work, is_writing=True)

    async def write_concurrently(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one write transaction beside others; it locks what it reads."""
        with refused():
            return await self._patiently(("BEGIN",), work, is_writing=True)

    async def write_with_updates(self, work: Callable[[PostgresConnection], T]) -> tuple[T, FrontierUpdate]:
        """Like `write_beside`, and what it means for the frontier."""

        def moving(connection: PostgresConnection) -> tuple[T, FrontierUpdate]:
            return work(connection), connection.frontier.collected()

        return await self._patiently(("BEGIN",), moving, is_writing=True)

    async def without_timeout(self, work: Callable[[Connection], T], *, is_writing: bool) -> T:
        """Run `work` however long it takes, on one snapshot or as a write that is alone."""
        begin = ("BEGIN", ALONE) if is_writing else (SNAPSHOT,)
        return await self._patiently((*begin, NO_LIMIT), work, is_writing=is_writing, limit_s=None)

    async def _patiently(
        self,
        begin: tuple[str, ...],
        work: Callable[[PostgresConnection], T],
        *,
        is_writing: bool,
        limit_s: float | None = CALL_S,
    ) -> T:
        """One transaction, tried until it works, as long as nothing can have been kept and there is hope."""
        return await self._insist(lambda: self._once(begin, work, is_writing=is_writing, limit_s=limit_s))

    async def _insist(self, act: Callable[[], Awaitable[T]]) -> T:
        give_up_at = self.clock.monotonic() + PATIENCE_S
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                async with self._slots:
                    return await act()
            except OutcomeUnknown:
                raise
            except REFUSING as error:  # who can wait for another server, or for an administrator, does
                raise self._address.unavailable(error) from error
            except (*AGAIN, psycopg.OperationalError, psycopg.InterfaceError) as error:
                if self.clock.monotonic() >= give_up_at or isinstance(error, psycopg.errors.DiskFull):
                    raise self._address.unavailable(error) from error
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, MAX_PAUSE_S)

    async def _once(
        self,
        begin: tuple[str, ...],
        work: Callable[[PostgresConnection], T],
        *,
        is_writing: bool,
        limit_s: float | None,
    ) -> T:
        loop = asyncio.get_running_loop()
        connection = self._free.pop() if self._free else await self._opened()
        caller = contextvars.copy_context()
        call = loop.run_in_executor(
            self._threads, lambda: caller.run(connection.transact, begin, work, is_writing=is_writing)
        )
        try:
            async with asyncio.timeout(limit_s):
                return await asyncio.shield(call)
        except (TimeoutError, asyncio.CancelledError) as error:
            _cut(connection)
            await asyncio.wait([call])
            if isinstance(error, TimeoutError):
                return call.result()
            call.exception()  # it is nobody's any more
            raise
        finally:
            if connection.is_usable:
                self._free.append(connection)
            else:
                connection.close()

    def _set_out(self) -> None:
        asked, self._asked = self._asked, []
        trip = asyncio.get_running_loop().create_task(self._answer(asked))
        self._trips.add(trip)
        trip.add_done_callback(self._trips.discard)

    async def _answer(self, asked: list[pipelined_reads.PipelinedRead]) -> None:
        """Answer questions; where one of several cannot be answered, each is asked by itself."""
        asked = [question for question in asked if not question.answer.done()]
        if not asked:
            return
        try:
            found = await self._insist(lambda: self._asked_once(asked))
        except Exception as error:  # noqa: BLE001 - raised where the answer is waited for
            if len(asked) > 1 and isinstance(error, psycopg.Error):
                await asyncio.gather(*(self._answer([question]) for question in asked))
                return
            for question in asked:
                if not question.answer.done():
                    question.answer.set_exception(error)
            return
        except BaseException:  # the process ends
            for question in asked:
                question.answer.cancel()
            raise
        for question, rows in zip(asked, found, strict=True):
            if not question.answer.done():
                question.answer.set_result(rows)

    async def _asked_once(self, asked: Sequence[pipelined_reads.PipelinedRead]) -> list[list[Row]]:
        connection = self._free.pop() if self._free else await self._opened()
        try:
            async with asyncio.timeout(CALL_S):
                return await pipelined_reads.fetch_all(connection, asked)
        except TimeoutError as error:
            raise psycopg.OperationalError(f"no answer within {CALL_S:.0f} s") from error
        finally:
            if connection.is_usable:
                self._free.append(connection)

    async def _opened(self) -> PostgresConnection:
        return await run_detached(self._open, PostgresConnection.close)

    def _open(self) -> PostgresConnection:
        connection = PostgresConnection(self._url, self._known_hosts)
        self.times.follow(connection.driver)
        return connection

    def close(self) -> None:
        """Let go of all connections."""
        for connection in self._free:
            connection.close()
        self._free.clear()
        self._threads.shutdown(wait=True)


@contextmanager
def refused() -> Iterator[None]:
    """What cannot be stored is refused in our words; a settle finds out for itself what that is."""
    try:
        yield
    except psycopg.DataError as error:
        told = str(error).partition("\n")[0]
        raise RequestInvalid(
            f"the store cannot keep this: {told}", hint="look for zero bytes in it"
        ) from error


def _cut(connection: PostgresConnection) -> None:
    """End a call that waits for an answer: its socket is shut, and the wait ends with an error."""
    with (
        contextlib.suppress(OSError, psycopg.Error),
        socket.socket(fileno=socket.dup(connection.driver.fileno())) as line,
    ):
        line.shutdown(socket.SHUT_RDWR)
