"""A worker, put together."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

import msgspec

from smartspider import __version__
from smartspider.backends.sqlite.presence import is_alive
from smartspider.core.lease import Lease
from smartspider.core.plan import Plan
from smartspider.core.redaction import Redactor
from smartspider.core.runs import Run
from smartspider.core.workers import WorkerCard
from smartspider.engine.bus import LocalBus
from smartspider.engine.duty import AllRuns, GivenRuns
from smartspider.engine.in_time import InTime
from smartspider.engine.jobs import Job
from smartspider.engine.links import LinkFilter
from smartspider.engine.permits import GatePermit
from smartspider.engine.processor import Processor, Reads
from smartspider.engine.reader import PageReader
from smartspider.engine.worker import Ground, Worker
from smartspider.fetch.addresses import AddressPolicy
from smartspider.fetch.headers import HeaderPlan
from smartspider.fetch.stack import build_fetcher, build_robots
from smartspider.fetch.transport import AiohttpTransport, ChooseProxy
from smartspider.interfaces.event_bus import EventBus, Subscriber
from smartspider.interfaces.extractor import Extractor
from smartspider.services.compiled import compile_plan
from smartspider.wiring.addresses import server_policy
from smartspider.wiring.folder import DataFolder, run_lock_file
from smartspider.wiring.plans import plan_of, retuned
from smartspider.wiring.redaction import add_secrets
from smartspider.wiring.settings import Settings


def choose_proxy(settings: Settings) -> ChooseProxy | None:
    """Which proxy a request goes through: the installation's, for all of them."""
    return (lambda _request: settings.proxy) if settings.proxy else None


class Watched(Extractor, Protocol):
    """An extractor whose reader is watched, too."""

    def reads(self, reader: PageReader, links: LinkFilter) -> Reads:
        """Somebody between the processor and its reader who sees what is read."""


Watch = Callable[[Extractor], Watched]


class Workplace(msgspec.Struct, frozen=True):
    """What all jobs of a worker stand on."""

    folder: DataFolder
    settings: Settings
    bus: EventBus
    watch: Watch | None = None
    redactor: Redactor | None = None
    """Gets to know what must not be told of a run."""

    @property
    def ground(self) -> Ground:
        """The same, as the worker sees it."""
        folder = self.folder
        return Ground(folder.store, folder.frontier, folder.ledger, folder.workers, folder.clock, self.bus)

    @asynccontextmanager
    async def open_job(self, run: Run, plan: Plan, policy: AddressPolicy) -> AsyncIterator[Job]:
        """A run made ready to be worked on; raises what is wrong with it."""
        folder, settings, clock = self.folder, self.settings, self.folder.clock
        compiled = compile_plan(plan)
        if self.redactor is not None:
            add_secrets(self.redactor, plan)
        proxy = choose_proxy(settings)
        async with AiohttpTransport(plan.fetch, policy=policy, clock=clock, choose_proxy=proxy) as transport:
            headers = HeaderPlan(plan.fetch, settings.contact or None)
            robots = None
            if plan.politeness.obey_robots:
                robots = build_robots(
                    transport, policy=policy, headers=headers, cache=folder.store, clock=clock
                )
            links = LinkFilter(plan, robots.allowed_if_known if robots else lambda _url: None)
            fetcher = build_fetcher(
                plan.fetch,
                transport,
                policy=policy,
                headers=headers,
                robots=robots,
                refuse=links.redirect_refusal,
            )
            watched = None if self.watch is None else self.watch(compiled.extractor)
            extractor = watched or compiled.extractor
            reader = PageReader(run.id, plan, extractor, compiled.pipeline, links, bus=self.bus)
            reads = reader if watched is None else watched.reads(reader, links)
            yield Job(plan, Processor(plan, fetcher, InTime(reads), self._permit_for, clock), links)

    def _permit_for(self, lease: Lease) -> GatePermit:
        return GatePermit(self.folder.frontier, self.folder.clock, lease.request.host, lease.window)


def run_worker(place: Workplace, run: Run, plan: Plan, policy: AddressPolicy, *, number: int = 0) -> Worker:
    """A worker for one run that somebody waits for: it leaves when the run is over."""
    return Worker(
        place.ground,
        GivenRuns(place.folder.store, [run.id]),
        lambda now: place.open_job(now, retuned(plan, now), policy),
        _card(number, plan.concurrency),
    )


def fleet_worker(place: Workplace, *, number: int, slots: int) -> Worker:
    """A worker of a server: it works on all runs that no command has for itself, until asked to leave."""
    folder, policy = place.folder, server_policy(place.settings)

    def is_free(run_id: int) -> bool:
        return not is_alive(run_lock_file(folder.path, run_id))

    return Worker(
        place.ground,
        AllRuns(folder.store, folder.clock, place.bus, is_free),
        lambda run: place.open_job(run, plan_of(run), policy),
        _card(number, slots),
        slots=slots,
    )


def bus_of(*subscribers: Subscriber) -> LocalBus:
    """A bus with those who hear what happens."""
    bus = LocalBus()
    for subscriber in subscribers:
        bus.subscribe(subscriber)
    return bus


def _card(number: int, slots: int) -> WorkerCard:
    pid = os.getpid()
    return WorkerCard(f"worker {number} (pid {pid})", socket.gethostname(), pid, __version__, slots)
