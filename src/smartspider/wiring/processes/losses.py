"""Report a worker that is about to be killed: settle the request it was reading, release the others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from smartspider.core.errors import NotAllowed, NotFound, SmartSpiderError, Unreadable
from smartspider.core.events import WorkerDrained, WorkerKilled
from smartspider.core.frontier.lease import FencingToken, Lease, SendWindow
from smartspider.core.frontier.updates import OpenRequest
from smartspider.core.frontier.verdict import Close, RetryLater, Settlement, Verdict
from smartspider.core.runs.run import run_of
from smartspider.core.tasks import SYSTEM
from smartspider.core.workers.activity import ActivityRecord
from smartspider.core.workers.watch import Drain, Kill, memory_text
from smartspider.installation.installation import Installation
from smartspider.installation.settings import Settings, build_redactor
from smartspider.interfaces.event_bus import EventBus
from smartspider.store import events
from smartspider.store.requests import find_open_request
from smartspider.telemetry.subscribers import LogDestinations, worker_subscribers
from smartspider.wiring.opening import open_installation
from smartspider.wiring.worker import build_bus

REPORT_S = 5.0
"""Time limit of a report. A worker that could not be reported is killed all the same: its requests return
like those of any dead worker.
"""
ENDING = ("stopping", "stopped", "cancelled")
NAME = "supervisor"
VANISHED_REASON = "a worker exited by itself: `os._exit` was called, perhaps by a function of the task"

log = logging.getLogger(__name__)


class Supervision(msgspec.Struct, frozen=True):
    """The installation whose workers a process supervises. It is opened only when a worker is in trouble."""

    path: Path
    settings: Settings

    async def report(self, kill: Kill, worker: str) -> str:
        """Report a worker that is killed now; return a sentence for people."""
        try:
            async with self._opened() as (installation, bus):
                return await report_loss(installation, kill, worker, bus)
        except (SmartSpiderError, TimeoutError) as error:
            log.warning("the loss of %s could not be reported: %s", worker, str(error) or "no answer in time")
            return f"{worker} was killed: {kill.reason}"

    async def report_drain(self, drain: Drain, worker: str) -> str:
        """Report a worker that is drained because of its memory; return a sentence for people."""
        reason = f"uses more than {memory_text(self.settings.watch.memory)}"
        try:
            async with self._opened() as (installation, bus):
                found = None
                if drain.activity.is_reading:
                    found = await find_open_request(installation.database, drain.activity.url_id)
                host, url = ("", "") if found is None else (found.request.host, found.request.url)
                bus.publish(
                    WorkerDrained(run_of(drain.activity.url_id) if url else 0, host, url, worker, reason)
                )
                page = f" while it reads {url}" if url else ""
                return f"{worker} {reason}{page}; another one takes its place"
        except (SmartSpiderError, TimeoutError):
            return f"{worker} {reason}; another one takes its place"

    async def report_exit(self, doing: ActivityRecord, worker: str) -> str:
        """Report a worker that vanished, and fail its run; return a sentence for people, or an empty text if
        it had no run.
        """
        if not run_of(doing.url_id):
            return ""
        try:
            async with asyncio.timeout(REPORT_S), open_installation(self.path, self.settings) as installation:
                return await fail_vanished(installation, doing, worker)
        except (SmartSpiderError, TimeoutError):
            return ""

    async def release_others(self, doing: ActivityRecord) -> None:
        """Release the requests of a worker, but not the one it is reading."""
        with suppress(SmartSpiderError, TimeoutError):  # they return when the worker is killed
            async with asyncio.timeout(REPORT_S), open_installation(self.path, self.settings) as installation:
                await installation.frontier.release_others(doing.worker_id, doing.url_id)

    async def is_unwanted(self, worker_id: int) -> bool:
        """Return whether a run of the worker's requests is being stopped or cancelled, or is deleted."""
        try:
            async with asyncio.timeout(REPORT_S), open_installation(self.path, self.settings) as installation:
                return await has_ending_run(installation, worker_id)
        except (SmartSpiderError, TimeoutError):
            return False

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[Installation, EventBus]]:
        """Open the installation and its log, within a time limit."""
        async with asyncio.timeout(REPORT_S), open_installation(self.path, self.settings) as installation:
            destinations = LogDestinations(
                installation.path, installation.logs, self.settings.log_level, installation.metrics
            )
            redactor = build_redactor(self.settings)
            async with worker_subscribers(destinations, NAME, redactor) as subscribers:
                yield installation, build_bus(*subscribers)


async def report_loss(installation: Installation, kill: Kill, worker: str, bus: EventBus) -> str:
    """Settle the request that is to blame, and release the other requests of the worker uncounted.

    Without a culprit nothing is released, unless the kill is nobody's fault: the requests return like those
    of any dead worker, and one that keeps losing workers is leased alone (rule 7).
    """
    doing = kill.activity
    found = await find_open_request(installation.database, doing.url_id) if kill.has_culprit else None
    event = WorkerKilled(0, "", "", worker, kill.cause, kill.reason)
    if found is not None:
        request = found.request
        event = WorkerKilled(run_of(doing.url_id), request.host, request.url, worker, kill.cause, kill.reason)
        elapsed_s = installation.clock.monotonic() - doing.since
        settlement = Settlement(lease_of(doing, found), blame(kill), elapsed_s=elapsed_s)
        settled = await installation.ledger.settle([settlement])
        for happened in settled.events:
            bus.publish(happened)
        now = installation.leadership.now()
        await installation.database.write(lambda connection: events.write_events(connection, [event], now))
    bus.publish(event)
    if kill.blames_run:
        reason = f"the worker cannot open the run: {Unreadable.code}: {kill.reason}"
        await _fail_run(installation, run_of(doing.url_id), reason)
    if doing.worker_id and (kill.has_culprit or kill.blames_run or kill.cause == "stop"):
        await installation.frontier.leave(doing.worker_id)
    if found is None:
        return f"{worker} was killed: {kill.reason}"
    what = "it is given up" if doing.is_alone else "it is tried once more, alone"
    return f"{worker} was killed: {found.request.url} {kill.reason}; {what}"


async def fail_vanished(installation: Installation, doing: ActivityRecord, worker: str) -> str:
    """Fail the run of a worker that vanished, and release its requests; return a sentence for people.

    What ends a worker so would end the next one, too: it is code of the user, not the page.
    """
    found = await find_open_request(installation.database, doing.url_id) if doing.is_reading else None
    page = "" if found is None else f" while it read {found.request.url}"
    await _fail_run(installation, run_of(doing.url_id), VANISHED_REASON)
    if doing.worker_id:
        await installation.frontier.leave(doing.worker_id)
    return f"{worker} exited by itself{page}: `os._exit` was called, perhaps by a function of the task"


async def _fail_run(installation: Installation, run_id: int, reason: str) -> None:
    with suppress(NotFound, NotAllowed):  # ended meanwhile
        await installation.store.set_state(run_id, "failed", reason, actor=SYSTEM)


def blame(kill: Kill) -> Verdict:
    """Return the verdict on the request that a worker was killed for: it is tried once more alone, then
    given up. Neither uses up an attempt.
    """
    reason = f"{Unreadable.code}: {kill.reason}"
    if kill.activity.is_alone:
        return Close("broken", reason, cause="unreadable")
    return RetryLater(0.0, reason, counts=False, is_alone=True, cause="unreadable")


def lease_of(doing: ActivityRecord, found: OpenRequest) -> Lease:
    """Return the lease that a worker was working on."""
    return Lease(
        token=FencingToken(doing.epoch, doing.counter),
        url_id=doing.url_id,
        run_id=run_of(doing.url_id),
        request=found.request,
        window=SendWindow(0.0, 0.0, 0.0),
        deadline_at=0.0,
        attempts=doing.attempts,
        returns=found.returns,
        is_alone=doing.is_alone,
        visit=doing.visit,
    )


async def has_ending_run(installation: Installation, worker_id: int) -> bool:
    """Return whether the worker holds requests of a run that is being stopped or cancelled, or is deleted."""
    own = [one for one in await installation.workers.find() if one.id == worker_id]
    for run_id in {run_id for worker in own for run_id in worker.runs}:
        try:
            run = await installation.store.get_run(run_id)
        except NotFound:
            return True
        if run.state in ENDING:
            return True
    return False
