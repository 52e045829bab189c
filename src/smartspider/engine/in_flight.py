"""The requests a worker holds, from lease to settlement, each processed by its own task.

They use the sessions and jobs that the worker has opened, one of each per run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Protocol

import msgspec

from smartspider.core.cookies.jar import Cookie
from smartspider.core.errors import NotFound
from smartspider.core.frontier.lease import FencingToken, Lease
from smartspider.core.frontier.verdict import Settlement
from smartspider.core.limits.waiting import FetchProgress, WaitingRequests
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import LIMIT, Run
from smartspider.engine.context import WorkerContext
from smartspider.engine.heartbeat import HealthMeter
from smartspider.engine.link_filter import LinkFilter
from smartspider.engine.pacing import AT_ONCE, NEVER, HostOpenings
from smartspider.engine.processor import Processed, Processor
from smartspider.engine.session import RunCookies, Session


class LeasedRequest(msgspec.Struct, frozen=True):
    """A leased request, its job and its task."""

    lease: Lease
    opened: OpenedJob
    task: asyncio.Task[None]


class FinishedRequest(msgspec.Struct):
    """A request that waits to be settled, and when it may first lead to another one."""

    processed: Processed
    at: float
    needed_at: float


class InFlight:
    """Starts requests, settles finished ones, and releases those whose result would not be stored.

    `on_finished` is called when a request can be settled, `on_error` with an unexpected error.
    """

    def __init__(
        self,
        context: WorkerContext,
        health: HealthMeter,
        waiting: WaitingRequests,
        on_finished: Callable[[], None],
        on_error: Callable[[Exception], None],
    ) -> None:
        self._context = context
        self._health = health
        self._on_finished = on_finished
        self._on_error = on_error
        self._held: dict[FencingToken, LeasedRequest] = {}
        self._done: list[FinishedRequest] = []
        self._openings = HostOpenings()
        self._waiting = waiting
        self.settle_s = 0.0
        """Duration of the last settle; infinite if it failed."""

    @property
    def held(self) -> int:
        """Number of held requests, finished ones included."""
        return len(self._held)

    @property
    def finished(self) -> int:
        """Number of requests that wait to be settled."""
        return len(self._done)

    @property
    def in_flight(self) -> int:
        """Number of requests being processed."""
        return len(self._held) - len(self._done)

    @property
    def first_finished_at(self) -> float:
        """When the first of the requests that wait to be settled finished; infinite if there is none."""
        return self._done[0].at if self._done else NEVER

    @property
    def needed_at(self) -> float:
        """When settling may first lead to another request; infinite if nothing waits."""
        return min((finished.needed_at for finished in self._done), default=NEVER)

    def leases(self) -> list[Lease]:
        """Return all held leases."""
        return [request.lease for request in self._held.values()]

    def start(self, lease: Lease, opened: OpenedJob) -> None:
        """Start to process a request."""
        opened.users += 1
        self._openings.record(lease.request.host, lease.window)
        opened.job.links.admit(lease.request.host, lease.request.page)
        progress = FetchProgress()
        task = asyncio.create_task(self._work(lease, opened.job, progress))
        self._held[lease.token] = LeasedRequest(lease, opened, task)
        at = max(lease.window.not_before, self._context.clock.monotonic())
        self._waiting.start(lease.token, at, opened.owner, progress)

    async def _work(self, lease: Lease, job: Job, progress: FetchProgress) -> None:
        try:
            processed = await job.processor.process(lease, progress)
        except Exception as error:  # noqa: BLE001 - the worker raises it
            self._on_error(error)
            return
        self._waiting.end(lease.token)
        needed_at = self._openings.needed_at(processed.settlement)
        self._done.append(FinishedRequest(processed, self._context.clock.monotonic(), needed_at))
        self._on_finished()

    def postpone_needs(self) -> None:
        """Take windows into account that were granted after requests had finished: their hosts open later."""
        for finished in self._done:
            if finished.needed_at > AT_ONCE:
                finished.needed_at = self._openings.needed_at(finished.processed.settlement)

    async def settle(self) -> None:
        """Commit finished requests, with the cookies that changed before. Only then are their links
        remembered and their leases ended.
        """
        clock = self._context.clock
        await self._withdraw()
        group = [finished.processed for finished in self._done]
        settlements = [processed.settlement for processed in group]
        await self._store_lent_cookies(settlements)
        changed = self._add_cookies(settlements)
        began_at, self.settle_s = clock.monotonic(), float("inf")
        report = await self._context.ledger.settle(settlements)
        self.settle_s = clock.monotonic() - began_at
        for run_id, version in report.cookies.items():
            cookies, added = changed[run_id]
            cookies.stored(added, version)
        del self._done[: len(group)]
        self._health.record_settled((processed.settlement for processed in group), len(report.stored))
        stored = set(report.stored)
        for processed in group:
            lease = processed.settlement.lease
            request = self._held.pop(lease.token)
            request.opened.users -= 1
            if processed.children is not None and lease.url_id in stored:
                request.opened.job.links.remember(processed.children)
        for event in report.events:
            self._context.bus.publish(event)

    async def _store_lent_cookies(self, settlements: Sequence[Settlement]) -> None:
        """Store cookies of the vault that sites changed, before the pages that brought them."""
        sessions = {id(session): session for session in map(self._session_of, settlements)}
        for session in sessions.values():
            if session.lending is not None:
                await session.lending.store()

    def _session_of(self, settlement: Settlement) -> Session:
        return self._held[settlement.lease.token].opened.session

    def _add_cookies(self, settlements: list[Settlement]) -> dict[int, tuple[RunCookies, tuple[Cookie, ...]]]:
        """Add the cookies that changed in a run to its first settlement; return them by run."""
        changed: dict[int, tuple[RunCookies, tuple[Cookie, ...]]] = {}
        for place, settlement in enumerate(settlements):
            cookies = self._held[settlement.lease.token].opened.session.cookies
            run_id = settlement.lease.run_id
            if cookies is not None and run_id not in changed and (added := cookies.changes()):
                changed[run_id] = cookies, added
                settlements[place] = msgspec.structs.replace(settlement, cookies=added)
        return changed

    async def _withdraw(self) -> None:
        """Release requests whose windows have not begun, of hosts that asked to slow down or fail."""
        settlements = (finished.processed.settlement for finished in self._done)
        hosts = {one.lease.request.host for one in settlements if one.host_news}
        if hosts:
            now, held = self._context.clock.monotonic(), self._held.values()
            await self._release(
                [one for one in held if one.lease.window.not_before > now and one.lease.request.host in hosts]
            )

    async def abandon(self, runs: Container[int]) -> None:
        """Cancel and release requests of runs that are cancelled, deleted or at their limit; requests of
        `runs` continue.
        """
        others = {request.lease.run_id for request in self._held.values() if request.lease.run_id not in runs}
        abandoned_runs = {run_id for run_id in others if await self._is_abandoned(run_id)}
        await self._release(
            [request for request in self._held.values() if request.lease.run_id in abandoned_runs]
        )

    async def _release(self, requests: Sequence[LeasedRequest]) -> None:
        """Cancel requests and release those that had not finished."""
        await _cancel(requests)
        released = [request for request in requests if request.task.cancelled()]
        for request in released:
            del self._held[request.lease.token]
            self._waiting.end(request.lease.token)
            request.opened.users -= 1
        if released:
            await self._context.frontier.release([request.lease for request in released])

    async def _is_abandoned(self, run_id: int) -> bool:
        try:
            run = await self._context.store.get_run(run_id)
        except NotFound:
            return True
        return run.state == "cancelled" or run.reason.startswith(LIMIT)

    async def cancel_all(self) -> None:
        """Cancel everything; leaving the frontier releases it."""
        await _cancel(list(self._held.values()))


async def _cancel(requests: Sequence[LeasedRequest]) -> None:
    for request in requests:
        request.task.cancel()
    await asyncio.gather(*(request.task for request in requests), return_exceptions=True)


class Job(msgspec.Struct, frozen=True):
    """The plan of a run when the job was opened, and the objects that process it."""

    plan: Plan
    processor: Processor
    links: LinkFilter


class RunOpener(Protocol):
    """Opens what a worker needs for a run."""

    async def owner(self, run: Run) -> str:
        """Return the user whose requests those of a run are."""

    def open_session(self, run: Run) -> AbstractAsyncContextManager[Session]:
        """Open the connections and the cookies of a run; nothing that can be tuned changes them."""

    def open_job(self, run: Run, session: Session) -> AbstractAsyncContextManager[Job]:
        """Compile the rules of a run as it is tuned now."""


class OpenedJob:
    """A job, its session, the owner of its run, and the number of requests that use it."""

    def __init__(self, run: Run, owner: str, job: Job, session: Session, stack: AsyncExitStack) -> None:
        self.run_id = run.id
        self.owner = owner
        self.job = job
        self.session = session
        self.revision = run.revision
        self.users = 0
        self._stack = stack

    async def close(self) -> None:
        """Close the resources of the job."""
        await self._stack.aclose()


class OpenedRuns:
    """The open sessions and jobs of a worker.

    A job is replaced when its run is tuned, and stays open while it has users. A session stays as long as
    the worker works on its run.
    """

    def __init__(self, opener: RunOpener) -> None:
        self._opener = opener
        self._sessions: dict[int, tuple[Session, AsyncExitStack]] = {}
        self._owners: dict[int, str] = {}
        self._current: dict[int, OpenedJob] = {}
        self._retired: list[OpenedJob] = []

    async def owner(self, run: Run) -> str:
        """Return the owner of a run."""
        if run.id not in self._owners:
            self._owners[run.id] = await self._opener.owner(run)
        return self._owners[run.id]

    async def job(self, run: Run) -> OpenedJob:
        """Return the job of a run with its current tuning, opened if needed."""
        opened = self._current.get(run.id)
        if opened is None or opened.revision != run.revision:
            owner, session, stack = await self.owner(run), await self._session(run), AsyncExitStack()
            job = await stack.enter_async_context(self._opener.open_job(run, session))
            self._retire(run.id)
            opened = self._current[run.id] = OpenedJob(run, owner, job, session, stack)
        return opened

    async def retain(self, runs: Iterable[int]) -> None:
        """Close the jobs of all other runs and replaced ones once they have no users, and sessions without
        jobs.
        """
        for run_id in self._current.keys() - set(runs):
            self._retire(run_id)
        free = [opened for opened in self._retired if not opened.users]
        self._retired = [opened for opened in self._retired if opened.users]
        for opened in free:
            await opened.close()
        used = {*runs, *self._current, *(opened.run_id for opened in self._retired)}
        self._owners = {run_id: owner for run_id, owner in self._owners.items() if run_id in used}
        for run_id in self._sessions.keys() - used:
            await self._sessions.pop(run_id)[1].aclose()

    async def close(self) -> None:
        """Close all jobs and sessions."""
        for run_id in list(self._current):
            self._retire(run_id)
        retired, self._retired = self._retired, []
        async with AsyncExitStack() as stack:
            for _, session_stack in self._sessions.values():
                stack.push_async_callback(session_stack.aclose)
            for opened in retired:
                stack.push_async_callback(opened.close)
        self._sessions.clear()

    async def _session(self, run: Run) -> Session:
        if run.id not in self._sessions:
            stack = AsyncExitStack()
            session = await stack.enter_async_context(self._opener.open_session(run))
            self._sessions[run.id] = session, stack
        return self._sessions[run.id][0]

    def _retire(self, run_id: int) -> None:
        opened = self._current.pop(run_id, None)
        if opened is not None:
            self._retired.append(opened)
