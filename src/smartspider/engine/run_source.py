"""The runs a worker works on: given ones, or all of the installation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from smartspider.core.errors import Conflict, NotAllowed, NotFound, SmartSpiderError
from smartspider.core.events import RunEnded, RunStarted
from smartspider.core.runs.run import Run
from smartspider.core.tasks import SYSTEM
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.event_bus import EventBus
from smartspider.store.runs.store import RunStore

FINISH_S = 2.0
"""Interval of checking the time limit of a running run."""


class RunSource(Protocol):
    """Provides the runs of a worker."""

    is_endless: bool
    """True if the worker stays while there is no run."""

    async def poll(self) -> list[Run]:
        """Return the runs to lease from, in their current state; finished ones are ended."""

    async def refuse(self, run: Run, error: Exception) -> None:
        """Handle a run whose job cannot be opened; raise the error if no other worker can try."""


class GivenRuns:
    """The runs of a command: the worker ends when they are finished, paused or stopped."""

    is_endless = False

    def __init__(self, store: RunStore, run_ids: Sequence[int]) -> None:
        self._store = store
        self._run_ids = run_ids

    async def poll(self) -> list[Run]:
        """Return the running ones."""
        runs = [await self._store.finish(run_id) for run_id in self._run_ids]
        return [run for run in runs if run.state == "running"]

    async def refuse(self, run: Run, error: Exception) -> None:  # noqa: ARG002 - part of the protocol
        """Raise the error to the command."""
        raise error


class AllRuns:
    """All queued and running runs, oldest first. `is_available` is False for a run that a command works on
    alone.

    With `has_keeper` a keeper ends runs; then only runs without open requests are ended here, to end them
    at once.
    """

    is_endless = True

    def __init__(
        self,
        store: RunStore,
        clock: Clock,
        bus: EventBus,
        is_available: Callable[[int], bool],
        *,
        has_keeper: bool = False,
        finish_s: float = FINISH_S,
    ) -> None:
        self._finish_s = finish_s
        self._has_keeper = has_keeper
        self._store = store
        self._clock = clock
        self._bus = bus
        self._is_available = is_available
        self._finish_at = 0.0

    async def poll(self) -> list[Run]:
        """Return the running ones; start queued ones."""
        live = [run for run in await self._store.live_runs() if self._is_available(run.id)]
        is_time = self._clock.monotonic() >= self._finish_at
        if is_time:
            self._finish_at = self._clock.monotonic() + self._finish_s
        running = []
        for run in live:
            with suppress(NotFound):  # deleted just now
                now = await self._advance(run, is_time=is_time)
                if now.state == "running":
                    running.append(now)
        return running

    async def refuse(self, run: Run, error: Exception) -> None:
        """Mark the run as failed; the worker continues with the others."""
        message = error.message if isinstance(error, SmartSpiderError) else f"{type(error).__name__}: {error}"
        reason = f"the worker cannot open the run: {message}"
        with suppress(NotFound, NotAllowed):  # ended meanwhile
            run = await self._store.set_state(run.id, "failed", reason, actor=SYSTEM)
            self._bus.publish(RunEnded(run.id, run.state, run.reason))

    async def _advance(self, run: Run, *, is_time: bool) -> Run:
        """Start a queued run, end a finished one, and return its new state."""
        if run.state == "queued":
            return await self._start(run)
        is_asked = is_time or run.state == "stopping"
        if run.counters.open and (self._has_keeper or not is_asked):
            return run
        now = await self._store.finish(run.id)
        if now.state not in ("running", "stopping"):
            self._bus.publish(RunEnded(now.id, now.state, now.reason))
        return now

    async def _start(self, run: Run) -> Run:
        try:
            now = await self._store.set_state(run.id, "running", actor=SYSTEM, was="queued")
        except (Conflict, NotAllowed):  # another worker was faster, or the run was cancelled
            return await self._store.get_run(run.id)
        self._bus.publish(RunStarted(run.id, run.task_name, is_resumed=run.started_at is not None))
        return now
