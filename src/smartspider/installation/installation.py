"""One installation of SmartSpider, on a data folder or on a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from smartspider.core.errors import FrontierUnavailable, NotArmed, NotBuilt, SettingInvalid, StoreUnavailable
from smartspider.core.frontier.lease import GateClosed, SendWindow
from smartspider.core.requests.addresses import AddressPolicy
from smartspider.core.runs.plan import Plan
from smartspider.core.tasks import SYSTEM
from smartspider.dedup.url_filter import FilterStack, StoredUrls
from smartspider.engine.permits import LastLook
from smartspider.installation.keys import KeyRing, Keys, open_keys
from smartspider.installation.settings import Settings
from smartspider.installation.thread_offload import ThreadOffload
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.frontier import Demand, Frontier, FrontierReplay
from smartspider.interfaces.frontier_index import LAPSE_S, Index, RefusalCounts
from smartspider.interfaces.leadership import Leadership
from smartspider.interfaces.ledger import Ledger
from smartspider.interfaces.offload import Offload
from smartspider.interfaces.open_rows import OpenRows
from smartspider.interfaces.secret_source import SecretSource
from smartspider.interfaces.store_clock import StoreClock
from smartspider.interfaces.worker_registry import WorkerRegistry
from smartspider.store.database import Database
from smartspider.store.nodes.leadership import SqlLeadership
from smartspider.store.runs.store import RunStore

if TYPE_CHECKING:
    from smartspider.installation.vault import Vault
    from smartspider.store.access.users import UserStore
    from smartspider.store.audit import AuditLog
    from smartspider.store.diagnostics.store import Diagnostics
    from smartspider.store.events import EventFeed
    from smartspider.store.hosts.store import HostStore
    from smartspider.store.idempotency import IdempotencyStore
    from smartspider.store.logs.store import LogStore
    from smartspider.store.metrics import MetricStore
    from smartspider.store.nodes.workers import ScalingStore
    from smartspider.store.notifications import NotificationStore
    from smartspider.store.quotas import QuotaStore
    from smartspider.store.results.store import ResultStore
    from smartspider.store.schedules import ScheduleStore
    from smartspider.store.tasks import TaskStore

BORROWERS = "borrowers"
"""The folder of the lock files of those who borrow cookies."""
NO_KEY = "SMARTSPIDER_MASTER_KEY is not set; all machines of a cluster need the same key"
KEY_HINT = "create one with `openssl rand -hex 32` and give it to every api and keeper"


class Permits(Protocol):
    """Send windows for requests that belong to no run, such as previews."""

    async def reserve(self, host: str, delay_s: float) -> SendWindow | GateClosed:
        """Reserve the next send window of a host, at least `delay_s` after the one before."""


class CheckFrontier(Protocol):
    """Checks a remote frontier."""

    async def __call__(self, runs: Sequence[int], *, repair: bool = False) -> list[str]:
        """Return a sentence for each inconsistency."""


async def single_history() -> str:
    """Return the same history always: for a store that never loses a commit."""
    return ""


class RemoteFrontier(msgspec.Struct, frozen=True):
    """The index of a frontier, and the open rows that the keeper fills it from."""

    index: Index
    rows: OpenRows
    leadership: Leadership
    store_now: Callable[[], float]
    lapse_s: float = LAPSE_S
    history: Callable[[], Awaitable[str]] = single_history
    """The id of the store's history; another one means that commits sent to the index may be lost (ADR 29).
    """


class Installation(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything an installation offers: stores, frontier, ledger, clock, settings, keys, address policy.

    The same on a data folder and on a cluster. Services take it; `wiring` opens it.
    """

    path: Path
    """The folder for files of this machine: logs, exports, locks."""
    settings: Settings = Settings()
    database: Database
    store: RunStore
    frontier: Frontier
    ledger: Ledger
    workers: WorkerRegistry
    permits: Permits
    leadership: SqlLeadership
    demand: Demand
    stored_urls: StoredUrls
    """Lookups of stored URLs, which confirm what a URL filter reports."""
    check_writable: Callable[[], Awaitable[None]]
    """Raise `StoreUnavailable` unless the store accepts writes."""
    check_room: Callable[[], Awaitable[None]]
    """Raise `StoreFull` if its disk is full; cheaper than `check_writable`."""
    clock: Clock
    """Its `now` is store time."""
    store_clock: StoreClock
    actor: str = SYSTEM
    filters: FilterStack = FilterStack()
    """URL filters that the machines of a cluster share, for reading."""
    replay: FrontierReplay | None = None
    """Set if the frontier is part of the store."""
    remote_frontier: RemoteFrontier | None = None
    """Set if the frontier is a separate server."""
    end_stopped_clients: Callable[[], Awaitable[int]] | None = None
    """End the sessions of processes that stopped while they sent statements; set if the store is a server."""
    open_user_vault: Callable[[], AbstractContextManager[Vault | None]] | None = None
    """Opens the vault of another data folder, for commands that a person runs in folders of their own."""
    other_crawls: LastLook | None = None
    """Crawls of this machine with other data folders; None if the gates are on a server."""
    offload: Offload = ThreadOffload()
    """Runs work on what users sent; a server has processes for it."""
    check_frontier: CheckFrontier | None = None
    """Find, and on request repair, inconsistencies of a remote frontier."""

    @property
    def is_cluster(self) -> bool:
        """True if several machines share store and frontier; files in `path` are this machine's alone."""
        return self.remote_frontier is not None

    @cached_property
    def tasks(self) -> TaskStore:
        """Tasks and their versions."""
        from smartspider.store.tasks import TaskStore

        return TaskStore(self.database)

    @cached_property
    def results(self) -> ResultStore:
        """Rows of runs."""
        from smartspider.store.results.store import ResultStore

        return ResultStore(self.database)

    @cached_property
    def audit(self) -> AuditLog:
        """The audit log."""
        from smartspider.store.audit import AuditLog

        return AuditLog(self.database)

    @cached_property
    def hosts(self) -> HostStore:
        """Hosts and their gates."""
        from smartspider.store.hosts.store import HostStore

        return HostStore(self.database)

    @cached_property
    def events(self) -> EventFeed:
        """Events of runs."""
        from smartspider.store.events import EventFeed

        return EventFeed(self.database)

    @cached_property
    def logs(self) -> LogStore:
        """Log lines."""
        from smartspider.store.logs.store import LogStore

        return LogStore(self.database)

    @cached_property
    def metrics(self) -> MetricStore:
        """Totals for monitoring."""
        from smartspider.store.metrics import MetricStore

        return MetricStore(self.database)

    @cached_property
    def users(self) -> UserStore:
        """Users, tokens and sessions."""
        from smartspider.store.access.users import UserStore

        return UserStore(self.database)

    @cached_property
    def idempotency(self) -> IdempotencyStore:
        """Answers to calls with an Idempotency-Key."""
        from smartspider.store.idempotency import IdempotencyStore

        return IdempotencyStore(self.database)

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """Progress of runs and details of requests."""
        from smartspider.store.diagnostics.store import Diagnostics

        return Diagnostics(self.database)

    @cached_property
    def schedules(self) -> ScheduleStore:
        """Schedules and their firings."""
        from smartspider.store.schedules import ScheduleStore

        return ScheduleStore(self.database)

    @cached_property
    def quotas(self) -> QuotaStore:
        """Counts of what users own."""
        from smartspider.store.quotas import QuotaStore

        return QuotaStore(self.database)

    @cached_property
    def notifications(self) -> NotificationStore:
        """Notification targets and the outbox."""
        from smartspider.store.notifications import NotificationStore

        return NotificationStore(self.database)

    @cached_property
    def scaling(self) -> ScalingStore:
        """The desired number of workers."""
        from smartspider.store.nodes.workers import ScalingStore

        return ScalingStore(self.database)

    @cached_property
    def policy(self) -> AddressPolicy:
        """The private addresses that the settings open, whatever a task names."""
        return AddressPolicy.parse(self.settings.allow_private)

    @property
    def files_path(self) -> Path | None:
        """The folder of downloaded files; None if the machines of a cluster share none."""
        if self.settings.files_folder:
            return Path(self.settings.files_folder)
        return None if self.is_cluster else self.path

    def require_files_path(self) -> Path:
        """Return the folder of downloaded files; raise `NotBuilt` if there is none."""
        path = self.files_path
        if path is None:
            raise NotBuilt(
                "the task downloads files, but the machines of this cluster share no folder for them",
                hint="set SMARTSPIDER_FILES_FOLDER to a shared folder, for the api, keeper and every worker",
            )
        return path

    @cached_property
    def vault(self) -> Vault:
        """Named secrets, cookies and proxies, encrypted with the master key."""
        from smartspider.installation.vault import Vault

        has_own_key = not self.is_cluster and not self.settings.master_key
        return Vault(
            self.database,
            self.path if has_own_key else None,
            self._open_keys,
            borrowers=None if self.is_cluster else self.path / BORROWERS,
        )

    @contextlib.contextmanager
    def open_vaults(self, *, is_local: bool) -> Iterator[list[Vault]]:
        """Open its vault, and for the commands of a person (`is_local`) that of the server."""
        vaults = [self.vault]
        with contextlib.ExitStack() as opening:
            if is_local and self.open_user_vault is not None:
                other = opening.enter_context(self.open_user_vault())
                vaults += [] if other is None else [other]
            yield vaults

    @cached_property
    def secrets(self) -> SecretSource:
        """The secrets that tasks refer to."""
        from smartspider.installation.secrets import InstalledSecrets

        return InstalledSecrets(self.settings, self.vault, self.open_user_vault)

    def policy_for(self, plan: Plan) -> AddressPolicy:
        """Return the policy of a command that a person runs: it opens the addresses of the task's entries as
        well.
        """
        return AddressPolicy.parse(self.settings.allow_private, [entry.url for entry in plan.entries])

    @cached_property
    def keys(self) -> Keys:
        """The keys derived from the master key of the settings, or from the data folder's own."""
        return self._open_keys().current

    def _open_keys(self) -> KeyRing:
        if self.is_cluster and not self.settings.master_key:
            raise SettingInvalid(NO_KEY, hint=KEY_HINT)
        return open_keys(self.path, self.settings.master_key, self.settings.master_key_old)

    async def check_keys(self) -> None:
        """Raise `SettingInvalid` unless there is a usable master key, which opens the vault."""
        await self.vault.check()
        _ = self.keys

    async def count_serving(self) -> tuple[int, int]:
        """Return how many shards of the frontier are ready, and how many there are."""
        if self.remote_frontier is None:
            return 1, 1
        states = await self.remote_frontier.index.shard_states()
        return sum(state is not None and state.is_armed for state in states), len(states)

    async def frontier_error(self) -> FrontierUnavailable | None:
        """Return why a shard that is not ready cannot be used; None if it only waits for the keeper."""
        if self.remote_frontier is None:
            return None
        states = await self.remote_frontier.index.shard_states()
        waiting = [shard for shard, state in enumerate(states) if state is None or not state.is_armed]
        for shard in sorted(waiting, key=lambda shard: states[shard] is not None)[:1]:
            try:
                await self.remote_frontier.index.check(shard)
            except NotArmed:
                return None
            except FrontierUnavailable as error:
                return error
        return None

    async def refusals(self) -> RefusalCounts:
        """Sum what the shards of a remote frontier refused; shards that do not answer are left out."""
        found = []
        if self.remote_frontier is not None:
            for shard in range(self.remote_frontier.index.shards):
                with contextlib.suppress(StoreUnavailable):
                    found.append(await self.remote_frontier.index.refusals(shard))
        return RefusalCounts(sum(one.stale for one in found), sum(one.old_epoch for one in found))
