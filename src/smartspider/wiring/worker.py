"""A worker, put together."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Protocol

import msgspec

from smartspider import __version__
from smartspider.backends.sqlite.presence import is_alive
from smartspider.core.crews import elastic_name
from smartspider.core.lease import Lease
from smartspider.core.plan import Plan
from smartspider.core.redaction import Redactor
from smartspider.core.runs import Run
from smartspider.core.workers import WorkerCard
from smartspider.engine.bus import LocalBus
from smartspider.engine.duty import AllRuns, GivenRuns
from smartspider.engine.ground import Ground, Manner
from smartspider.engine.in_time import InTime
from smartspider.engine.jobs import Job
from smartspider.engine.links import LinkFilter, RobotsOpinion
from smartspider.engine.patience import Patience, PatientGate, PatientRobots
from smartspider.engine.permits import Gate, GatePermit
from smartspider.engine.processor import Processor, Reads
from smartspider.engine.reader import PageReader
from smartspider.engine.worker import Worker
from smartspider.fetch.addresses import AddressPolicy
from smartspider.fetch.headers import HeaderPlan
from smartspider.fetch.stack import build_fetcher, build_robots
from smartspider.fetch.transport import AiohttpTransport, ChooseProxy
from smartspider.interfaces.event_bus import EventBus, Subscriber
from smartspider.interfaces.extractor import Extractor
from smartspider.interfaces.robots_cache import RobotsCache
from smartspider.services.compiled import Compiled, compile_plan
from smartspider.wiring.addresses import server_policy
from smartspider.wiring.folder import run_lock_file
from smartspider.wiring.known import KnownUrls
from smartspider.wiring.plans import plan_of, retuned
from smartspider.wiring.premises import Premises
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

    premises: Premises
    settings: Settings
    bus: EventBus
    watch: Watch | None = None
    redactor: Redactor | None = None
    """Gets to know what must not be told of a run."""
    patience: Patience | None = None
    """With servers that are away."""
    known: KnownUrls = msgspec.field(default_factory=KnownUrls)
    """URLs that need not be stored again."""

    @property
    def ground(self) -> Ground:
        """The same, as the worker sees it."""
        on = self.premises
        ledger = self.known.ledger or on.ledger
        return Ground(on.store, on.frontier, ledger, on.workers, on.clock, self.bus, self.patience)

    @asynccontextmanager
    async def open_job(self, run: Run, plan: Plan, policy: AddressPolicy) -> AsyncIterator[Job]:
        """A run made ready to be worked on; raises what is wrong with it."""
        settings, clock = self.settings, self.premises.clock
        compiled = compile_plan(plan)
        if self.redactor is not None:
            add_secrets(self.redactor, plan)
        proxy = choose_proxy(settings)
        async with AiohttpTransport(plan.fetch, policy=policy, clock=clock, choose_proxy=proxy) as transport:
            headers = HeaderPlan(plan.fetch, settings.contact or None)
            robots = None
            if plan.politeness.obey_robots:
                robots = build_robots(
                    transport, policy=policy, headers=headers, cache=self._robots(), clock=clock
                )
            with self._links(run, plan, robots.allowed_if_known if robots else lambda _url: None) as links:
                fetcher = build_fetcher(
                    plan.fetch,
                    transport,
                    policy=policy,
                    headers=headers,
                    robots=robots,
                    refuse=links.redirect_refusal,
                )
                reads = self._reads(run, plan, compiled, links)
                yield Job(plan, Processor(plan, fetcher, InTime(reads), self._permit_for, clock), links)

    @contextmanager
    def _links(self, run: Run, plan: Plan, robots: RobotsOpinion) -> Iterator[LinkFilter]:
        """What decides about the links of a run, with what is known of it."""
        with self.known.of(run.id) as known:
            links = LinkFilter(plan, robots, known)
            with self.known.sifting(run, plan, links):
                yield links

    def _reads(self, run: Run, plan: Plan, compiled: Compiled, links: LinkFilter) -> Reads:
        watched = None if self.watch is None else self.watch(compiled.extractor)
        extractor = watched or compiled.extractor
        reader = PageReader(run.id, plan, extractor, compiled.pipeline, links, bus=self.bus)
        return reader if watched is None else watched.reads(reader, links)

    def _permit_for(self, lease: Lease) -> GatePermit:
        return GatePermit(self._gate(), self.premises.clock, lease.request.host, lease.window)

    def _gate(self) -> Gate:
        frontier = self.premises.frontier
        return frontier if self.patience is None else PatientGate(frontier, self.patience)

    def _robots(self) -> RobotsCache:
        store = self.premises.store
        return store if self.patience is None else PatientRobots(store, self.patience)


def run_worker(place: Workplace, run: Run, plan: Plan, policy: AddressPolicy, *, number: int = 0) -> Worker:
    """A worker for one run that somebody waits for: it leaves when the run is over."""
    return Worker(
        place.ground,
        GivenRuns(place.premises.store, [run.id]),
        lambda now: place.open_job(now, retuned(plan, now), policy),
        _card(number, plan.concurrency),
    )


def fleet_worker(
    place: Workplace, *, number: int, slots: int, manner: Manner = Manner(), driver: int | None = None
) -> Worker:
    """A worker of a server: it works on all runs that no command has for itself, until asked to leave."""
    premises, policy = place.premises, server_policy(place.settings)

    def is_free(run_id: int) -> bool:
        return premises.is_cluster or not is_alive(run_lock_file(premises.path, run_id))

    return Worker(
        place.ground,
        AllRuns(premises.store, premises.clock, place.bus, is_free, is_kept=premises.is_cluster),
        lambda run: place.open_job(run, plan_of(run), policy),
        _card(number, slots, driver),
        slots=slots,
        manner=manner,
    )


def bus_of(*subscribers: Subscriber) -> LocalBus:
    """A bus with those who hear what happens."""
    bus = LocalBus()
    for subscriber in subscribers:
        bus.subscribe(subscriber)
    return bus


def _card(number: int, slots: int, driver: int | None = None) -> WorkerCard:
    pid, node, cpus = os.getpid(), socket.gethostname(), os.cpu_count() or 0
    name = f"worker {number} (pid {pid})" if driver is None else elastic_name(driver, number, pid)
    is_elastic = driver is not None
    return WorkerCard(name, node, pid, __version__, slots, cpus=cpus, is_elastic=is_elastic)
