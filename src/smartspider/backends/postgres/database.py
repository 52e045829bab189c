"""A pool of connections to a PostgreSQL database: transactions in threads, retried where that is safe."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import socket
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
import psycopg

from smartspider.backends.postgres import pipelined_reads
from smartspider.backends.postgres.address import PostgresAddress
from smartspider.backends.postgres.connection import PostgresConnection
from smartspider.backends.postgres.detached import run_detached
from smartspider.backends.postgres.store_time import SQL as CLOCK
from smartspider.backends.postgres.store_time import StoreTime, server_time
from smartspider.core.errors import OutcomeUnknown, RequestInvalid, StoreUnavailable
from smartspider.core.frontier.updates import FrontierUpdate
from smartspider.interfaces.clock import Clock
from smartspider.store.database import Connection, Row

T = TypeVar("T")

FIRST_PAUSE_S = 0.05
MAX_PAUSE_S = 1.0

SNAPSHOT = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SET LOCAL idle_in_transaction_session_timeout = '20s'",
)
"""Readers are in nobody's way, and may compute for longer between two statements."""
NO_LIMIT = (
    "SELECT set_config(name, value, true) FROM (VALUES ('statement_timeout', '0'),"
    " ('transaction_timeout', '0'), ('idle_in_transaction_session_timeout', '60s'), ('enable_seqscan', 'on'),"
    " ('enable_hashjoin', 'on'), ('enable_mergejoin', 'on')) AS settings (name, value)"
    " WHERE current_setting(name, true) IS NOT NULL"
)
"""For work that reads everything. Servers before 17 have no `transaction_timeout`."""
ALONE = "SELECT pg_advisory_xact_lock(7305001), set_config('idle_in_transaction_session_timeout', '5s', true)"
"""Writes that read before they decide run one at a time, as in SQLite. Settling does not wait for this lock,
and they may compute for longer.
"""

AGAIN = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.LockNotAvailable,
    psycopg.errors.AdminShutdown,
    psycopg.errors.CrashShutdown,
    psycopg.errors.CannotConnectNow,
    psycopg.errors.TooManyConnections,
    psycopg.errors.IdleInTransactionSessionTimeout,
    psycopg.errors.TransactionTimeout,
)
"""Nothing was committed, and a retry may succeed."""
REFUSING = (psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.InsufficientPrivilege)
"""Nothing was committed, and only an administrator can change that."""


class CallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of the calls to a server."""

    call_s: float = 25.0
    """Time limit of a transaction. Its connection is then closed, so that a half-open one blocks nothing."""
    retry_s: float = 30.0
    """Time that an unavailable server is waited for."""
    max_prepared: int = 256
    """Statements that a connection keeps prepared; the server parses others each time."""


class PostgresDatabase:
    """See `store/database.py`. `size` is the number of concurrent transactions."""

    def __init__(
        self,
        url: str,
        clock: Clock,
        times: StoreTime | None = None,
        *,
        size: int = 4,
        limits: CallLimits = CallLimits(),
    ) -> None:
        self.clock, self._limits = clock, limits
        self.times = times or StoreTime(clock)
        self._url = url
        self._address = PostgresAddress(url)
        self.place = self._address.place
        self._free: list[PostgresConnection] = []
        self._known_hosts: dict[str, int] = {}
        self._reads: list[pipelined_reads.PipelinedRead] = []
        self._trips: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self._slots = asyncio.Semaphore(size)
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="postgres")
        # The driver warns of consequences of an error beside the error itself, which is raised.
        logging.getLogger("psycopg").setLevel(logging.ERROR)

    def now(self) -> float:
        """Return store time, the same for all processes; it never goes back."""
        return self.times.now()

    def clock_shift(self) -> float:
        """Return by how much this process's monotonic clock is ahead of store time."""
        return self.times.clock_shift()

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on a consistent snapshot."""
        return await self._transact(SNAPSHOT, work, is_writing=False)

    async def fetch(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of one statement that is read-only or idempotent.

        Statements of the same moment share a round trip.
        """
        loop = asyncio.get_running_loop()
        self._follow_clock_in_turn()
        read = pipelined_reads.PipelinedRead(sql, tuple(values), loop.create_future())
        self._reads.append(read)
        if len(self._reads) == 1:
            loop.call_soon(self._send_reads)
        return await read.answer

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a write transaction, serialised with all writes that read first."""
        with refused():
            return await self._transact(("BEGIN", ALONE), work, is_writing=True)

    async def write_concurrently(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a write transaction concurrently with others; it locks what it reads."""
        with refused():
            return await self._transact(("BEGIN",), work, is_writing=True)

    async def write_with_updates(self, work: Callable[[PostgresConnection], T]) -> tuple[T, FrontierUpdate]:
        """Like `write_concurrently`. Return the update for the frontier as well."""

        def moving(connection: PostgresConnection) -> tuple[T, FrontierUpdate]:
            return work(connection), connection.frontier.collected()

        return await self._transact(("BEGIN",), moving, is_writing=True)

    async def without_timeout(self, work: Callable[[Connection], T], *, is_writing: bool) -> T:
        """Run `work` without a time limit, on a snapshot or as a serialised write."""
        begin = ("BEGIN", ALONE) if is_writing else SNAPSHOT
        return await self._transact((*begin, NO_LIMIT), work, is_writing=is_writing, is_limited=False)

    async def follow_clock(self) -> None:
        """Compare the time of this process with the store's."""
        asked_at = self.clock.monotonic()
        (found,) = await self.fetch(CLOCK.read)
        self.times.learn(server_time((asked_at + self.clock.monotonic()) / 2, found))

    def _follow_clock_in_turn(self) -> None:
        if self.times.take_turn() and not self._is_closed:
            self._begin_trip(self._try_to_follow())

    async def _try_to_follow(self) -> None:
        with contextlib.suppress(StoreUnavailable):
            await self.follow_clock()

    async def _transact(
        self,
        begin: tuple[str, ...],
        work: Callable[[PostgresConnection], T],
        *,
        is_writing: bool,
        is_limited: bool = True,
    ) -> T:
        """Retry a transaction while nothing can have been committed and a retry may succeed."""
        self._follow_clock_in_turn()
        limit_s = self._limits.call_s if is_limited else None
        return await self._retry(lambda: self._once(begin, work, is_writing=is_writing, limit_s=limit_s))

    async def _retry(self, act: Callable[[], Awaitable[T]]) -> T:
        give_up_at = self.clock.monotonic() + self._limits.retry_s
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                async with self._slots:
                    return await act()
            except OutcomeUnknown:
                raise
            except REFUSING as error:  # callers that can wait for another server or an administrator do so
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
            _shut_down(connection)
            await asyncio.wait([call])
            if isinstance(error, TimeoutError):
                return call.result()
            call.exception()  # its result is no longer awaited
            raise
        finally:
            if connection.is_usable:
                self._free.append(connection)
            else:
                connection.close()

    def _send_reads(self) -> None:
        reads, self._reads = self._reads, []
        self._begin_trip(self._answer(reads))

    def _begin_trip(self, work: Coroutine[Any, Any, None]) -> None:
        trip = asyncio.get_running_loop().create_task(work)
        self._trips.add(trip)
        trip.add_done_callback(self._trips.discard)

    async def _answer(self, reads: list[pipelined_reads.PipelinedRead]) -> None:
        """Answer reads. If one of several fails, each is sent by itself."""
        reads = [read for read in reads if not read.answer.done()]
        if not reads:
            return
        try:
            found = await self._retry(lambda: self._fetch_once(reads))
        except Exception as error:  # noqa: BLE001 - raised where the answer is waited for
            if len(reads) > 1 and isinstance(error, psycopg.Error):
                await asyncio.gather(*(self._answer([read]) for read in reads))
                return
            for read in reads:
                if not read.answer.done():
                    read.answer.set_exception(error)
            return
        except BaseException:  # the process ends
            for read in reads:
                read.answer.cancel()
            raise
        for read, rows in zip(reads, found, strict=True):
            if not read.answer.done():
                read.answer.set_result(rows)

    async def _fetch_once(self, reads: Sequence[pipelined_reads.PipelinedRead]) -> list[list[Row]]:
        connection = self._free.pop() if self._free else await self._opened()
        try:
            async with asyncio.timeout(self._limits.call_s):
                return await pipelined_reads.fetch_all(connection, reads, self._limits.max_prepared)
        except TimeoutError as error:
            raise psycopg.OperationalError(f"no answer within {self._limits.call_s:.0f} s") from error
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
        """Close all connections."""
        self._is_closed = True
        for trip in self._trips:
            trip.cancel()
        for connection in self._free:
            connection.close()
        self._free.clear()
        self._threads.shutdown(wait=True)


@contextmanager
def refused() -> Iterator[None]:
    """Translate errors of unstorable values; a settle handles these itself."""
    try:
        yield
    except psycopg.DataError as error:
        message = str(error).partition("\n")[0]
        raise RequestInvalid(
            f"the value cannot be stored: {message}", hint="remove NUL characters from it"
        ) from error


def _shut_down(connection: PostgresConnection) -> None:
    """End a call that waits for a result: its socket is shut down, and the wait ends with an error."""
    with (
        contextlib.suppress(OSError, psycopg.Error),
        socket.socket(fileno=socket.dup(connection.driver.fileno())) as line,
    ):
        line.shutdown(socket.SHUT_RDWR)
