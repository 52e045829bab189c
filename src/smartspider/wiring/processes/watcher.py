"""Watch child processes: kill those whose event loop does not move or that use too much memory."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from mmap import mmap
from typing import Any

from smartspider.core.workers.watch import POLL_S, Drain, Kill, ProcessWatch
from smartspider.wiring.processes import sampling
from smartspider.wiring.processes.losses import Supervision

ASK_AFTER_S = 2.0
"""A process that has not moved for so long may hold up a run that somebody stops."""
ASK_EVERY_S = 1.0
REMEMBERED_POLLS = 100


class WatchedProcess:
    """A child process and the memory it shares."""

    def __init__(self, name: str, process: Process, memory: mmap, watch: ProcessWatch) -> None:
        self.name = name
        self.process = process
        self.memory = memory
        self.watch = watch
        self.is_replaced = False
        """It was killed or drained by its watcher, and another one takes its place."""
        self.handling: asyncio.Task[None] | None = None
        self.asked_at = 0.0
        self.ended_polls = 0

    @property
    def is_running(self) -> bool:
        """Return whether the process has not ended."""
        return self.process.returncode is None

    def send(self, number: signal.Signals) -> None:
        """Send a signal; the process may have ended."""
        if self.is_running:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, number)


class Watcher:
    """Starts child processes and watches them. `report` gets a sentence about each one that it ends."""

    def __init__(self, supervision: Supervision, report: Callable[[str], None]) -> None:
        self._supervision = supervision
        self._report = report
        self._watched: dict[int, WatchedProcess] = {}
        self._is_stopping = False

    async def spawn(
        self,
        number: int,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        files: tuple[int, ...] = (),
        stdout: Any = None,
    ) -> Process:
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
        self._watched[number] = WatchedProcess(name, process, memory, watch)
        return process

    def is_replaced(self, number: int) -> bool:
        """Return whether the last process of a number was killed or drained by its watcher."""
        return number in self._watched and self._watched[number].is_replaced

    def stop(self, timeout_s: float) -> None:
        """Kill processes that do not respond to a stop soon, and all that are left after the timeout."""
        self._is_stopping = True
        for one in self._watched.values():
            one.watch.is_stopping = True
        asyncio.get_running_loop().call_later(timeout_s, self._kill_all)

    async def terminate_all(self, timeout_s: float) -> None:
        """Ask all processes to exit, and wait until they have, or until the timeout."""
        for one in self._watched.values():
            one.send(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._wait()

    def _kill_all(self) -> None:
        for one in self._watched.values():
            one.send(signal.SIGKILL)

    async def _wait(self) -> None:
        for one in self._watched.values():
            await one.process.wait()

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Watch during the block; at its end all processes are gone."""
        polling = asyncio.create_task(self._poll(), name="watcher")
        try:
            yield
        finally:
            polling.cancel()
            handling = [one.handling for one in self._watched.values() if one.handling is not None]
            await asyncio.gather(polling, *handling, return_exceptions=True)
            self._kill_all()
            await self._wait()

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            self._forget_ended()
            for one in self._watched.values():
                if one.is_running and (one.handling is None or one.handling.done()):
                    self._check(one)

    def _forget_ended(self) -> None:
        """Forget processes that ended a while ago and have no successor."""
        for one in self._watched.values():
            one.ended_polls += not one.is_running
        self._watched = {
            number: one for number, one in self._watched.items() if one.ended_polls < REMEMBERED_POLLS
        }

    def _check(self, one: WatchedProcess) -> None:
        """Take a sample, and start what follows from it."""
        sample = sampling.sample(one.process.pid, one.memory)
        match one.watch.observe(sample):
            case Kill() as kill:
                one.handling = asyncio.create_task(self._kill(one, kill))
            case Drain() as drain:
                one.handling = asyncio.create_task(self._drain(one, drain))
            case None if one.watch.frozen_s >= ASK_AFTER_S and sample.at - one.asked_at >= ASK_EVERY_S:
                one.asked_at = sample.at
                one.handling = asyncio.create_task(self._ask(one, sample.activity.worker_id))

    async def _kill(self, one: WatchedProcess, kill: Kill) -> None:
        """Report a process and kill it. It is suspended first, so that nothing changes meanwhile."""
        one.is_replaced = True
        one.send(signal.SIGSTOP)
        try:
            self._report(await self._supervision.report(kill, one.name))
        finally:
            one.send(signal.SIGKILL)

    async def _drain(self, one: WatchedProcess, drain: Drain) -> None:
        one.is_replaced = True
        one.send(signal.SIGTERM)
        self._report(await self._supervision.report_drain(drain, one.name))

    async def _ask(self, one: WatchedProcess, worker_id: int) -> None:
        """Treat a process that does not move as asked to stop if a run of its requests ends."""
        if worker_id and await self._supervision.is_unwanted(worker_id):
            one.watch.is_unwanted = True
