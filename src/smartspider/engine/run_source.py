"""Which runs a worker works on: some that it was given, or whatever there is."""

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
"""How often a run that goes on is asked whether its time is up."""


class RunSource(Protocol):
    """What a worker is there for."""

    is_endless: bool
    """Whether the worker stays when there is nothing to do."""

    async def poll(self) -> list[Run]:
        """The runs to take requests of, as they stand; those that are over are ended on the way."""

    async def refuse(self, run: Run, error: Exception) -> None:
        """This worker cannot work on a run; raises the error where nobody else will."""


class GivenRuns:
    """The runs of a command: the worker leaves when they are over, paused or stopped."""

    is_endless = False

    def __init__(self, store: RunStore, run_ids: Sequence[int]) -> None:
        self._store = store
        self._run_ids = run_ids

    async def poll(self) -> list[Run]:
        """Those that are running."""
        runs = [await self._store.finish(run_id) for run_id in self._run_ids]
        return [run for run in runs if run.state == "running"]

    async def refuse(self, run: Run, error: Exception) -> None:  # noqa: ARG002 - part of the protocol
        """Whoever gave the run hears of it."""
        raise error


class AllRuns:
    """Whatever is queued or running, oldest first. `is_free` says whether nobody has a run to himself.

    With `is_kept` a keeper ends runs; here only those end that have nothing left, so that nobody waits.
    """

    is_endless = True

    def __init__(
        self,
        store: RunStore,
        clock: Clock,
        bus: EventBus,
        is_free: Callable[[int], bool],
        *,
        is_kept: bool = False,
    ) -> None:
        self._is_kept = is_kept
        self._store = store
        self._clock = clock
        self._bus = bus
        self._is_free = is_free
        self._finish_at = 0.0

    async def poll(self) -> list[Run]:
        """Those that are running; queued ones are taken up."""
        live = [run for run in await self._store.live_runs() if self._is_free(run.id)]
        is_time = self._clock.monotonic() >= self._finish_at
        if is_time:
            self._finish_at = self._clock.monotonic() + FINISH_S
        running = []
        for run in live:
            with suppress(NotFound):  # deleted just now
                now = await self._moved_on(run, is_time=is_time)
                if now.state == "running":
                    running.append(now)
        return running

    async def refuse(self, run: Run, error: Exception) -> None:
        """The run fails with the reason; the worker goes on with the others."""
        message = error.message if isinstance(error, SmartSpiderError) else f"{type(error).__name__}: {error}"
        reason = f"no worker can work on it: {message}"
        with suppress(NotFound, NotAllowed):  # somebody else ended it meanwhile
            run = await self._store.set_state(run.id, "failed", reason, actor=SYSTEM)
            self._bus.publish(RunEnded(run.id, run.state, run.reason))

    async def _moved_on(self, run: Run, *, is_time: bool) -> Run:
        """The run after what is due to it: its beginning, or its end."""
        if run.state == "queued":
            return await self._begun(run)
        is_asked = is_time or run.state == "stopping"
        if run.counters.open and (self._is_kept or not is_asked):
            return run
        now = await self._store.finish(run.id)
        if now.state not in ("running", "stopping"):
            self._bus.publish(RunEnded(now.id, now.state, now.reason))
        return now

    async def _begun(self, run: Run) -> Run:
        try:
            now = await self._store.set_state(run.id, "running", actor=SYSTEM, was="queued")
        except (Conflict, NotAllowed):  # another worker was faster, or a person thought better of it
            return await self._store.get_run(run.id)
        self._bus.publish(RunStarted(run.id, run.task_name, is_resumed=run.started_at is not None))
        return now
