"""A worker for one run, put together."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Protocol

from smartspider.core.lease import Lease
from smartspider.core.plan import Plan
from smartspider.core.runs import Run
from smartspider.engine.bus import LocalBus
from smartspider.engine.in_time import InTime
from smartspider.engine.links import LinkFilter
from smartspider.engine.permits import GatePermit
from smartspider.engine.processor import Processor, Reads
from smartspider.engine.reader import PageReader
from smartspider.engine.worker import Ground, Worker
from smartspider.fetch.addresses import AddressPolicy
from smartspider.fetch.headers import HeaderPlan
from smartspider.fetch.stack import build_fetcher, build_robots
from smartspider.fetch.transport import AiohttpTransport, ChooseProxy
from smartspider.interfaces.extractor import Extractor
from smartspider.services.compiled import compile_plan
from smartspider.telemetry.logs import EventLog
from smartspider.wiring.folder import DataFolder
from smartspider.wiring.settings import Settings


def address_policy(plan: Plan, settings: Settings) -> AddressPolicy:
    """Private addresses that are open to a run: those of the installation, and the entries a person gave."""
    return AddressPolicy.parse(settings.allow_private, [entry.url for entry in plan.entries])


def choose_proxy(settings: Settings) -> ChooseProxy | None:
    """Which proxy a request goes through: the installation's, for all of them."""
    return (lambda _request: settings.proxy) if settings.proxy else None


class Watched(Extractor, Protocol):
    """An extractor whose reader is watched, too."""

    def reads(self, reader: PageReader, links: LinkFilter) -> Reads:
        """Somebody between the processor and its reader who sees what is read."""


Watch = Callable[[Extractor], Watched]


@asynccontextmanager
async def open_worker(
    folder: DataFolder,
    run: Run,
    plan: Plan,
    settings: Settings,
    *,
    number: int = 0,
    watch: Watch | None = None,
) -> AsyncIterator[Worker]:
    """A worker that is ready to run."""
    clock = folder.clock
    compiled = compile_plan(plan)
    policy = address_policy(plan, settings)
    bus = LocalBus()
    async with AsyncExitStack() as stack:
        log = EventLog(folder.path, f"run-{run.id}-worker-{number}", settings.log_level)
        stack.callback(log.close)
        bus.subscribe(log)
        transport = await stack.enter_async_context(
            AiohttpTransport(plan.fetch, policy=policy, clock=clock, choose_proxy=choose_proxy(settings))
        )
        headers = HeaderPlan(plan.fetch, settings.contact or None)
        robots = None
        if plan.politeness.obey_robots:
            robots = build_robots(transport, policy=policy, headers=headers, cache=folder.store, clock=clock)
        links = LinkFilter(plan, robots.allowed_if_known if robots else lambda _url: None)
        fetcher = build_fetcher(
            plan.fetch,
            transport,
            policy=policy,
            headers=headers,
            robots=robots,
            refuse=links.redirect_refusal,
        )

        def permit_for(lease: Lease) -> GatePermit:
            return GatePermit(folder.frontier, clock, lease.request.host, lease.window)

        watched = None if watch is None else watch(compiled.extractor)
        extractor = watched or compiled.extractor
        reader = PageReader(run.id, plan, extractor, compiled.pipeline, links, bus=bus)
        reads = reader if watched is None else watched.reads(reader, links)
        processor = Processor(plan, fetcher, InTime(reads), permit_for, clock)
        ground = Ground(folder.store, folder.frontier, folder.ledger, clock, bus)
        name = f"worker {number} (pid {os.getpid()})"
        yield Worker(ground, run.id, processor, links, name=name, slots=plan.concurrency)
