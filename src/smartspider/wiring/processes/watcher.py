"""Watch child processes: kill those whose event loop does not move or that use too much memory."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from mmap import mmap
from typing import Any

from smartspider.core.runs.run import run_of
from smartspider.core.workers import activity
from smartspider.core.workers.activity import ActivityRecord
from smartspider.core.workers.watch import POLL_S, Drain, Kill, ProcessWatch
from smartspider.wiring.processes import sampling
from smartspider.wiring.processes.losses import Supervision

ASK_AFTER_S = 2.0
"""A process that has not moved for so long may hold up a run that somebody stops."""
ASK_EVERY_S = 1.0
REMEMBERED_POLLS = 100
OFFENDER_S = 60.0
VANISHED = 6
"""The exit code of a process that ended by `os._exit`, whatever code that was given."""
ASIDE_NICENESS = 5
"""A process that was set aside leaves the CPU to others."""


class WatchedProcess:
    """A child process and the memory it shares."""

    def __init__(self, name: str, process: Process, memory: mmap, watch: ProcessWatch) -> None:
        self.name = name
        self.process = process
        self.memory = memory
        self.watch = watch
        self.is_replaced = False
        """It was killed, drained or set aside by its watcher, and another one takes its place."""
        self.is_aside = asyncio.Event()
        """Another one has taken its place while it goes on reading a page."""
        self.handling: asyncio.Task[None] | None = None
        self.asked_at = 0.0
        self.ended_polls = 0

    @property
    def returncode(self) -> int | None:
        """Its exit code; None while it runs."""
        return self.process.returncode

    @property
    def has_vanished(self) -> bool:
        """It worked and then exited without an orderly end, as after a call of `os._exit`."""
        code = self.returncode
        was_working = activity.decode(self.memory).is_watched
        return code is not None and code >= 0 and was_working and not activity.has_finished(self.memory)

    async def wait(self) -> int:
        """Wait until it has ended or was set aside; return its exit code, `VANISHED` if it has vanished, and
        0 if it was set aside.
        """
        tasks = [asyncio.create_task(self.process.wait()), asyncio.create_task(self.is_aside.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        return VANISHED if self.has_vanished else self.returncode or 0

    def send_signal(self, number: int) -> None:
        """Send a signal; the process may have ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, number)


class Watcher:
    """Starts child processes and watches them. `report` gets a sentence about each one that it ends.

    With `has_neighbours` they work on many runs: one that holds processes up must not hold up all.
    """

    def __init__(
        self, supervision: Supervision, report: Callable[[str], None], *, has_neighbours: bool = True
    ) -> None:
        self._has_neighbours = has_neighbours
        self._supervision = supervision
        self._report = report
        self._watched: dict[int, WatchedProcess] = {}
        self._aside: dict[int, WatchedProcess] = {}
        """Processes that were set aside, at most one for each number."""
        self._is_stopping = False
        self._offenders: dict[int, float] = {}
        """Runs whose pages held a process up, and until when only one worker takes their requests."""
        self._workers: set[int] = set()
        """Numbers of processes that are workers."""

    async def spawn(
        self,
        number: int,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        files: tuple[int, ...] = (),
        stdout: Any = None,
    ) -> WatchedProcess:
        """Start a process under a number.

        Only this process holds the other end of its standard input, so that it exits when this one ends.
        Ctrl-C reaches this process alone, which then stops the others.
        """
        handle, memory = sampling.open_memory()
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=stdout,
                start_new_session=True,
                pass_fds=(*files, handle),
                env={**(os.environ if environment is None else environment), sampling.VARIABLE: str(handle)},
            )
        finally:
            os.close(handle)
        watch = ProcessWatch(self._supervision.settings.watch)
        watch.is_stopping = self._is_stopping
        watched = self._watched[number] = WatchedProcess(name, process, memory, watch)
        return watched

    def is_replaced(self, number: int) -> bool:
        """Return whether the last process of a number was killed, drained or set aside by its watcher."""
        return number in self._watched and self._watched[number].is_replaced

    def last_activity(self, number: int) -> ActivityRecord:
        """Return what the last process of a number does, or was doing when it ended."""
        return activity.decode(self._watched[number].memory)

    def set_aside(self) -> list[WatchedProcess]:
        """Return the processes that still read a page while another one has taken their place."""
        return list(self._aside.values())

    def stop(self, timeout_s: float) -> None:
        """Kill processes that do not respond to a stop soon, and all that are left after the timeout."""
        self._is_stopping = True
        for one in self._all():
            one.watch.is_stopping = True
        asyncio.get_running_loop().call_later(timeout_s, self._kill_all)

    async def terminate_all(self, timeout_s: float) -> None:
        """Ask all processes to exit, and wait until they have, or until the timeout."""
        for one in self._all():
            one.send_signal(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._wait()

    def _kill_all(self) -> None:
        for one in self._all():
            one.send_signal(signal.SIGKILL)

    async def _wait(self) -> None:
        for one in self._all():
            await one.process.wait()

    def _all(self) -> list[WatchedProcess]:
        return [one for _, one in self._numbered()]

    def _numbered(self) -> list[tuple[int, WatchedProcess]]:
        """Return all processes once, with their numbers."""
        present = [(number, one) for number, one in self._watched.items() if not one.is_aside.is_set()]
        return [*self._aside.items(), *present]

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Watch during the block; at its end all processes are gone."""
        polling = asyncio.create_task(self._poll(), name="watcher")
        try:
            yield
        finally:
            polling.cancel()
            handling = [one.handling for one in self._all() if one.handling is not None]
            await asyncio.gather(polling, *handling, return_exceptions=True)
            self._kill_all()
            await self._wait()

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            self._forget_ended()
            for number, one in self._numbered():
                if one.returncode is None and (one.handling is None or one.handling.done()):
                    self._check(number, one)
            self._hold_runs()

    def _hold_runs(self) -> None:
        """Have one worker lease from offenders and the others not; the one that does has at most one process
        set aside for them.
        """
        now = time.monotonic()
        self._offenders = {run_id: until for run_id, until in self._offenders.items() if until > now}
        running = [(number, one) for number, one in self._numbered() if one.returncode is None]
        self._workers |= {number for number, one in running if one.watch.worker_id}
        taker = min((number for number in self._watched if number in self._workers), default=-1)
        for number, one in running:
            is_free = number == taker and number not in self._aside
            activity.hold_runs(one.memory, () if is_free else self._offenders)

    def _blame(self, doing: ActivityRecord) -> None:
        if self._has_neighbours:
            self._offenders[run_of(doing.url_id)] = time.monotonic() + OFFENDER_S

    def _forget_ended(self) -> None:
        """Forget processes that ended a while ago and have no successor."""
        for one in self._watched.values():
            one.ended_polls += one.returncode is not None
        watched, aside = self._watched.items(), self._aside.items()
        self._watched = {number: one for number, one in watched if one.ended_polls < REMEMBERED_POLLS}
        self._aside = {number: one for number, one in aside if one.returncode is None}

    def _check(self, number: int, one: WatchedProcess) -> None:
        """Take a sample, and start what follows from it."""
        sample = sampling.sample(one.process.pid, one.memory)
        action = one.watch.observe(sample)
        is_time = sample.at - one.asked_at >= ASK_EVERY_S
        work: Coroutine[Any, Any, None] | None = None
        if isinstance(action, Kill):
            work = self._kill(one, action)
        elif isinstance(action, Drain):
            work = self._drain(one, action)
        elif one.watch.held_up_by(self._offenders) and not one.watch.has_only_page:
            work = self._set_aside(number, one, sample.activity)
        elif one.watch.frozen_s >= ASK_AFTER_S and is_time:
            one.asked_at = sample.at
            work = self._ask(one, sample.activity.worker_id)
        if work is not None:
            one.handling = asyncio.create_task(work)

    async def _kill(self, one: WatchedProcess, kill: Kill) -> None:
        """Report a process and kill it. It is suspended first, so that nothing changes meanwhile."""
        one.is_replaced = True
        one.send_signal(signal.SIGSTOP)
        if kill.has_culprit:
            self._blame(kill.activity)
        try:
            self._report(await self._supervision.report(kill, one.name))
        finally:
            one.send_signal(signal.SIGKILL)

    async def _drain(self, one: WatchedProcess, drain: Drain) -> None:
        one.is_replaced = True
        one.send_signal(signal.SIGTERM)
        self._report(await self._supervision.report_drain(drain, one.name))

    async def _set_aside(self, number: int, one: WatchedProcess, doing: ActivityRecord) -> None:
        """Release what a process cannot work on while it reads a page, and start another one in its place.

        It exits when the page is read. Of each number at most one is set aside.
        """
        one.watch.has_only_page = True
        self._blame(doing)
        await self._supervision.release_others(doing)
        if number not in self._aside and not self._is_stopping:
            self._aside[number] = one
            one.is_replaced = True
            one.send_signal(signal.SIGTERM)
            with suppress(OSError):  # it has ended, or may not
                os.setpriority(os.PRIO_PROCESS, one.process.pid, ASIDE_NICENESS)
            one.is_aside.set()

    async def _ask(self, one: WatchedProcess, worker_id: int) -> None:
        """Treat a process that does not move as asked to stop if a run of its requests ends."""
        if worker_id and await self._supervision.is_unwanted(worker_id):
            one.watch.is_unwanted = True
