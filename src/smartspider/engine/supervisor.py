"""Start, watch, restart and stop worker processes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from smartspider.core.errors import SmartSpiderError, StoreUnavailable
from smartspider.interfaces.clock import Clock

MAX_EARLY_DEATHS = 12
EARLY_S = 5.0
SETTLED_S = 3.0
"""After this long the store has worked, so an unavailable store is retried: a full disk is temporary."""
FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 5.0
STORE_UNAVAILABLE = 5
"""The exit code of a worker that cannot use the store; another worker could not either."""


class SupervisedProcess(Protocol):
    """A process that a supervisor keeps alive."""

    @property
    def returncode(self) -> int | None:
        """Its exit code; None while it runs."""

    async def wait(self) -> int:
        """Wait until it ends, or until another process has to take its place; return its exit code."""

    def send_signal(self, number: int, /) -> None:
        """Send a signal."""


Spawn = Callable[[int], Awaitable[SupervisedProcess]]
OnEnd = Callable[[int, int], None]
"""Called with the number and exit code of a process that ended before a stop was requested."""


class Supervisor:
    """Keeps `count` processes alive until each exits with code 0.

    A crawl gives up when one dies repeatedly at its start; a server (`is_lasting`) continues with pauses.
    With `is_elastic` processes are added and released, and it also runs without any. A process for which
    `is_replaced` returns True was ended on purpose, and another one takes its place at once.
    """

    def __init__(
        self,
        spawn: Spawn,
        count: int,
        clock: Clock,
        on_end: OnEnd,
        *,
        is_lasting: bool = False,
        is_elastic: bool = False,
        is_replaced: Callable[[int], bool] = lambda _number: False,
        first_pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        self._is_replaced = is_replaced
        self._first_pause_s = first_pause_s
        self._is_lasting = is_lasting
        self._is_elastic = is_elastic
        self._group: asyncio.TaskGroup | None = None
        self._released: set[int] = set()
        """Numbers of processes that are to exit for good."""
        self._begun_at = clock.monotonic()
        self._stopping = asyncio.Event()
        self._spawn = spawn
        self._count = count
        self._clock = clock
        self._on_end = on_end
        self._processes: dict[int, SupervisedProcess] = {}

    async def run(self) -> None:
        """Return when all workers have ended; raise the first reason why one cannot be kept alive."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for number in range(self._count):
                    group.create_task(self._keep(number))
                if self._is_elastic:
                    group.create_task(self._stopping.wait())
        except* SmartSpiderError as several:
            raise several.exceptions[0] from None

    def add(self, number: int) -> None:
        """Keep one more process alive, under an unused number; ignored while stopping."""
        if self._group is not None and not self._stopping.is_set():
            self._group.create_task(self._keep(number))

    def release(self, number: int) -> None:
        """Ask one process to finish its requests in flight and exit; it is not restarted."""
        self._released.add(number)
        self._ask(number)

    def stop(self) -> None:
        """Ask all processes to finish their requests in flight and exit."""
        self._stopping.set()
        for number in self._processes:
            if number not in self._released:  # a second signal makes it exit at once
                self._ask(number)

    def _ask(self, number: int) -> None:
        process = self._processes.get(number)
        if process is not None and process.returncode is None:
            process.send_signal(signal.SIGTERM)

    async def _keep(self, number: int) -> None:
        early_deaths = 0
        while True:
            started = self._clock.monotonic()
            process = self._processes[number] = await self._spawn(number)
            if self._stopping.is_set() or number in self._released:
                self._ask(number)
            code = await process.wait()
            if number in self._released:
                del self._processes[number]
                return
            self._check_store(number, code)
            if self._stopping.is_set():
                return
            if self._is_replaced(number):
                continue
            self._on_end(number, code)
            if code == 0:
                return
            early_deaths = early_deaths + 1 if self._clock.monotonic() - started < EARLY_S else 0
            if self._is_lasting:
                await self._pause(early_deaths)
                if number in self._released:
                    return
            elif early_deaths >= MAX_EARLY_DEATHS:
                raise SmartSpiderError(
                    f"worker {number} died {early_deaths} times in a row right after its start (code {code})",
                    hint="check the logs in the data folder, and run `smartspider doctor`",
                )

    def _check_store(self, number: int, code: int) -> None:
        """Raise `StoreUnavailable` if the process ended for a reason that others would meet too."""
        if code == STORE_UNAVAILABLE and not (self._is_lasting and self._has_settled()):
            raise StoreUnavailable(
                f"worker {number} cannot use the store; committed data is safe",
                hint="fix the error above and run the same command again",
            )

    def _has_settled(self) -> bool:
        return self._clock.monotonic() - self._begun_at >= SETTLED_S

    async def _pause(self, early_deaths: int) -> None:
        """Pause before a restart, longer after each early death; ends when a stop is requested."""
        if early_deaths:
            pause_s = min(self._first_pause_s * 2.0 ** min(early_deaths, 30), LONGEST_PAUSE_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._stopping.wait()
