"""Build workers and their jobs."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from typing import Protocol

import msgspec

from smartspider import __version__
from smartspider.backends.sqlite.worker_locks import is_alive
from smartspider.core.frontier.lease import Lease
from smartspider.core.redaction.redactor import Redactor
from smartspider.core.requests.addresses import AddressPolicy
from smartspider.core.requests.origins import UNNAMED
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import VAULT, Run, secret_capability
from smartspider.core.workers import activity
from smartspider.core.workers.worker import WorkerRegistration, elastic_worker_name
from smartspider.engine.answer_reader import AnswerReader, ReadTimeout
from smartspider.engine.context import WorkerContext, WorkerOptions
from smartspider.engine.cookies.given import GivenCookies
from smartspider.engine.cookies.lending import CookieLending, LendingOptions
from smartspider.engine.file_folder import FileFolder
from smartspider.engine.in_flight import Job
from smartspider.engine.link_filter import LinkFilter, RobotsCheck
from smartspider.engine.outage import OutageRetry, OutageRetryGate, OutageRetryRobotsCache
from smartspider.engine.permits import GatePermit, PermitSource
from smartspider.engine.processor import Processor, Reader
from smartspider.engine.run_source import AllRuns, GivenRuns
from smartspider.engine.runtime import LocalBus
from smartspider.engine.session import Lending, RunCookies, Session
from smartspider.engine.worker import Worker
from smartspider.fetch.headers import HeaderPlan
from smartspider.fetch.layers import LayerContext, layers_around
from smartspider.fetch.page_transports import open_transport
from smartspider.fetch.proxies import OneProxy, PooledProxies, ProxyPool
from smartspider.fetch.stack import build_fetcher, build_robots
from smartspider.installation.data_folder import run_lock_file
from smartspider.installation.installation import Installation
from smartspider.installation.settings import Settings
from smartspider.interfaces.event_bus import EventBus, Subscriber
from smartspider.interfaces.extractor import Extractor
from smartspider.interfaces.fetcher import Proxies, Proxy, TransportContext
from smartspider.interfaces.robots_cache import RobotsCache
from smartspider.interfaces.secret_source import NOBODY, SecretUse
from smartspider.plugins.kinds import TRANSPORT
from smartspider.plugins.registry import available
from smartspider.services.identities.cookies import find_signed_out, vault_with_cookies
from smartspider.services.identities.proxies import vault_with_pool
from smartspider.services.plans import CompiledPlan, compile_plan, run_plan, with_tuning
from smartspider.services.secrets import read_secrets, register_secrets
from smartspider.wiring.dedup import ProcessDedup


def proxy_of_settings(settings: Settings) -> Proxies | None:
    """Return the proxy of the settings, for all requests; None: they are sent directly."""
    return OneProxy(Proxy(settings.proxy)) if settings.proxy else None


class RecordedExtractor(Extractor, Protocol):
    """An extractor that records its pages."""

    def record_reader(self, reader: AnswerReader, links: LinkFilter) -> Reader:
        """Return the reader, recorded as well."""


Recorder = Callable[[Extractor], RecordedExtractor]


class JobFactory(msgspec.Struct, frozen=True):
    """Opens the jobs of a worker."""

    installation: Installation
    bus: EventBus
    recorder: Recorder | None = None
    redactor: Redactor | None = None
    """Receives the secrets of each task."""
    outage: OutageRetry | None = None
    """Retries while a server of the cluster is unavailable."""
    dedup: ProcessDedup = msgspec.field(default_factory=ProcessDedup)
    """URLs that are already stored."""
    is_local: bool = False
    """The worker belongs to a local command, which may run functions of Python files."""
    given_cookies: GivenCookies | None = None
    """Cookies of the vault that were borrowed for it."""

    @property
    def context(self) -> WorkerContext:
        """The context of a worker with these jobs."""
        own = self.installation
        ledger = self.dedup.ledger or own.ledger
        return WorkerContext(own.store, own.frontier, ledger, own.workers, own.clock, self.bus, self.outage)

    @asynccontextmanager
    async def open_session(self, run: Run, plan: Plan, policy: AddressPolicy) -> AsyncIterator[Session]:
        """Open the session of a run: its transport, and its cookies with those that are stored."""
        store, clock = self.installation.store, self.installation.clock
        cookies = None
        if plan.fetch.cookies:
            cookies = RunCookies(lambda after: store.cookies(run.id, after=after), clock)
        async with (
            self._open_proxies(run, plan) as proxies,
            open_transport(plan.fetch, TransportContext(clock, policy)) as transport,
            self._open_lending(run, plan) as lending,
        ):
            yield Session(transport=transport, cookies=cookies, proxies=proxies, lending=lending)

    @asynccontextmanager
    async def _open_lending(self, run: Run, plan: Plan) -> AsyncIterator[Lending | None]:
        """Open what lends cookies of the vault to a run, if its task uses them."""
        if plan.vault_cookies is None or self.given_cookies is not None:
            yield self.given_cookies
            return
        own, owner = self.installation, None if self.is_local else await self.owner(run)
        with own.open_vaults(is_local=self.is_local) as vaults:
            vault, found = await vault_with_cookies(vaults, plan, owner)
            options = LendingOptions(f"run:{run.id}", owner, longest_s=own.settings.watch.stall_s)
            if found is not None:
                name = found.name if found.name == plan.vault_cookies else ""
                options = msgspec.structs.replace(options, set_id=found.id, domain=found.domain, name=name)
            redact = self.redactor.add if self.redactor is not None else None
            lending = CookieLending(vault, options, own.clock, find_signed_out, redact=redact)
            async with lending.opened():
                yield lending

    @asynccontextmanager
    async def _open_proxies(self, run: Run, plan: Plan) -> AsyncIterator[Proxies | None]:
        """Open the pools of a run: those of the installation, or of the vault of a person's commands."""
        own = self.installation
        default, pools = proxy_of_settings(own.settings), plan.fetch.proxy_pools
        if not pools:
            yield default
            return
        with own.open_vaults(is_local=self.is_local) as vaults:
            opened = {}
            for pool in pools:
                vault = await vault_with_pool(vaults, pool)
                open_urls = partial(vault.open_proxies, opened_by=f"run:{run.id}")
                redact = self.redactor.add if self.redactor is not None else None
                opened[pool] = ProxyPool(pool, vault.proxies, open_urls, own.clock, redact=redact)
            try:
                yield PooledProxies(plan.fetch, opened, default)
            finally:
                for each in opened.values():
                    await each.flush()

    async def owner(self, run: Run) -> str:
        """Return the owner of the task of a run; nobody for a run without one, and for local commands."""
        if self.is_local or not run.task_id:
            return NOBODY
        return (await self.installation.tasks.get(run.task_id)).owner

    async def _secret_use(self, run: Run) -> SecretUse:
        """Return whose secrets a run may use: those of the owner of its task."""
        return SecretUse(None if self.is_local else await self.owner(run), f"run:{run.id}")

    @asynccontextmanager
    async def open_job(
        self, run: Run, plan: Plan, policy: AddressPolicy, session: Session
    ) -> AsyncIterator[Job]:
        """Open the job of a run: compile its plan and build its fetcher."""
        settings, clock = self.installation.settings, self.installation.clock
        secrets = await read_secrets(self.installation.secrets, plan, await self._secret_use(run))
        if self.redactor is not None:
            register_secrets(self.redactor, plan, secrets)
        activity.begin_run(run.id)
        try:
            compiled = compile_plan(plan, is_local=self.is_local, secrets=secrets)
        finally:
            activity.end()
        transport = session.transport
        trust = plan.trust if plan.sends_own_parts else None
        headers = HeaderPlan(plan.fetch, settings.contact or None, trust=trust)
        around = LayerContext(
            clock,
            settings.watch.stall_s,
            plan.trust if compiled.layers else UNNAMED,
            str if self.redactor is None else self.redactor.add,
        )
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
                secrets=secrets if plan.sends_own_parts else None,
                layers=layers_around(compiled.layers, plan.fetch, around),
            )
            reader = self._reader(run, plan, compiled, links)
            redact = str if self.redactor is None else self.redactor.text
            bounded = ReadTimeout(reader, settings.watch.stall_s)
            processor = Processor(
                plan,
                fetcher,
                bounded,
                self._permit_for,
                clock,
                session=session,
                lend=None if session.lending is None else session.lending.lend,
                redact=redact,
            )
            yield Job(plan, processor, links)

    @contextmanager
    def _links(self, run: Run, plan: Plan, robots: RobotsCheck) -> Iterator[LinkFilter]:
        """Open the link filter of a run with its URL memory."""
        with self.dedup.run_memory(run.id) as memory:
            links = LinkFilter(plan, robots, memory)
            with self.dedup.deduplicating(run, plan, links):
                yield links

    def _reader(self, run: Run, plan: Plan, compiled: CompiledPlan, links: LinkFilter) -> Reader:
        recorded = None if self.recorder is None else self.recorder(compiled.extractor)
        extractor = recorded or compiled.extractor
        files = FileFolder(self.installation.require_files_path()) if plan.downloads else None
        reader = AnswerReader(run.id, plan, extractor, compiled.pipeline, links, bus=self.bus, files=files)
        return reader if recorded is None else recorded.record_reader(reader, links)

    def _permit_for(self, lease: Lease) -> GatePermit:
        own = self.installation
        host, window = lease.request.host, lease.window
        return GatePermit(self._gate(), own.clock, host, window, others=own.other_crawls)

    def _gate(self) -> PermitSource:
        frontier = self.installation.frontier
        return frontier if self.outage is None else OutageRetryGate(frontier, self.outage)

    def _robots(self) -> RobotsCache:
        store = self.installation.store
        return store if self.outage is None else OutageRetryRobotsCache(store, self.outage)


class RunsOfPlans(msgspec.Struct, frozen=True):
    """Opens the runs of a worker: `plan_of` returns the plan of a run, as it is tuned now."""

    factory: JobFactory
    plan_of: Callable[[Run], Plan]
    policy: AddressPolicy

    async def owner(self, run: Run) -> str:
        """Return the owner of a run."""
        return await self.factory.owner(run)

    def open_session(self, run: Run) -> AbstractAsyncContextManager[Session]:
        """Open the connections and the cookies of a run."""
        return self.factory.open_session(run, self.plan_of(run), self.policy)

    def open_job(self, run: Run, session: Session) -> AbstractAsyncContextManager[Job]:
        """Open the job of a run."""
        return self.factory.open_job(run, self.plan_of(run), self.policy, session)


def run_worker(
    factory: JobFactory, run: Run, plan: Plan, policy: AddressPolicy, *, number: int = 0
) -> Worker:
    """Build the worker of a command for one run; it exits when the run ends."""
    return Worker(
        factory.context,
        GivenRuns(factory.installation.store, [run.id]),
        RunsOfPlans(factory, lambda now: with_tuning(plan, now), policy),
        # Its secrets were found before the run was created.
        _registration(
            factory.installation, number, plan.concurrency, has=map(secret_capability, plan.secrets)
        ),
    )


def fleet_worker(
    factory: JobFactory,
    *,
    number: int,
    slots: int,
    options: WorkerOptions = WorkerOptions(),
    driver: int | None = None,
) -> Worker:
    """Build a worker of a server: it works on all runs that no command has locked, until it is stopped."""
    installation, policy = factory.installation, factory.installation.policy

    def is_available(run_id: int) -> bool:
        return installation.is_cluster or not is_alive(run_lock_file(installation.path, run_id))

    return Worker(
        factory.context,
        AllRuns(
            installation.store,
            installation.clock,
            factory.bus,
            is_available,
            has_keeper=installation.is_cluster,
        ),
        RunsOfPlans(factory, run_plan, policy),
        _registration(installation, number, slots, driver),
        slots=slots,
        options=options,
    )


def build_bus(*subscribers: Subscriber) -> LocalBus:
    """Build an event bus with these subscribers."""
    bus = LocalBus()
    for subscriber in subscribers:
        bus.subscribe(subscriber)
    return bus


def _registration(
    installation: Installation, number: int, slots: int, driver: int | None = None, *, has: Iterable[str] = ()
) -> WorkerRegistration:
    settings = installation.settings
    vault = [VAULT] if settings.master_key or not installation.is_cluster else []
    pid, node, cpus = os.getpid(), socket.gethostname(), os.cpu_count() or 0
    name = f"worker {number} (pid {pid})" if driver is None else elastic_worker_name(driver, number, pid)
    return WorkerRegistration(
        name,
        node,
        pid,
        __version__,
        slots,
        cpus=cpus,
        is_elastic=driver is not None,
        capabilities=frozenset(
            (*available(TRANSPORT), *map(secret_capability, settings.variables), *vault, *has)
        ),
    )
