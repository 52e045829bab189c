"""A cluster, opened: the store on PostgreSQL, the frontier on Redis, and files of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from smartspider.backends.cluster.ledger import ClusterLedger
from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.health import PostgresHealth
from smartspider.backends.postgres.leadership import PostgresLeadership
from smartspider.backends.postgres.ledger import PostgresLedger
from smartspider.backends.postgres.migrations import prepare
from smartspider.backends.postgres.presence import PostgresPresence
from smartspider.backends.postgres.rows import PostgresOpenRows
from smartspider.backends.postgres.store import PostgresStore
from smartspider.backends.postgres.workers import PostgresWorkerRegistry
from smartspider.backends.redis.connecting import Address, read_url
from smartspider.backends.redis.demand import RedisDemand
from smartspider.backends.redis.frontier import RedisFrontier
from smartspider.backends.redis.index import RedisIndex
from smartspider.backends.redis.seen.opening import open_layers
from smartspider.backends.redis.shards import Shards
from smartspider.backends.sql.answers import SqlAnswerStore
from smartspider.backends.sql.audit import SqlAuditLog
from smartspider.backends.sql.events import SqlEventFeed
from smartspider.backends.sql.host_book import SqlHostBook
from smartspider.backends.sql.insight import SqlInsight
from smartspider.backends.sql.logs import SqlLogStore
from smartspider.backends.sql.metrics import SqlMetricStore
from smartspider.backends.sql.notices import SqlNoticeStore
from smartspider.backends.sql.results import SqlResultStore
from smartspider.backends.sql.scaling import SqlScalingStore
from smartspider.backends.sql.schedules import SqlScheduleStore
from smartspider.backends.sql.seen import SqlSeenRows
from smartspider.backends.sql.tasks import SqlTaskStore
from smartspider.backends.sql.users import SqlUserStore
from smartspider.core.errors import StoreUnavailable
from smartspider.core.lease import Later, Window
from smartspider.core.tasks import SYSTEM
from smartspider.engine.clock import SystemClock
from smartspider.keeper.frontier.watch import Apart
from smartspider.wiring import faults
from smartspider.wiring.premises import Premises
from smartspider.wiring.seen import memory_of, mode_of
from smartspider.wiring.settings import Settings


class RedisPermits:
    """See `Permits`: slots of the gates that all runs share."""

    def __init__(self, frontier: RedisFrontier) -> None:
        self._frontier = frontier

    async def reserve(self, host: str, delay_s: float) -> Window | Later:
        """The next slot of a host."""
        return await self._frontier.permit(host, delay_s)


@asynccontextmanager
async def open_cluster(
    settings: Settings, path: Path, *, actor: str = SYSTEM, connections: int = 4
) -> AsyncIterator[Premises]:
    """The cluster of the settings, its tables made or migrated when they must be, closed at the end."""
    _make(path)
    address = read_url(settings.frontier_url)
    await asyncio.to_thread(prepare, settings.store_url)
    database = PostgresDatabase(settings.store_url, SystemClock(), size=connections)
    # A leader's word about its term waits for no duty, however slow the store is.
    terms = PostgresDatabase(settings.store_url, database.clock, database.times, size=2)
    max_bytes = memory_of(settings.dedup_memory)
    try:
        async with (
            _open_shards(address, database) as shards,
            open_layers(address, mode_of(settings.dedup), max_bytes=max_bytes) as layers,
        ):
            premises = _premises(database, terms, shards, path, actor)
            yield msgspec.structs.replace(premises, layers=layers)
    finally:
        terms.close()
        database.close()


@asynccontextmanager
async def _open_shards(address: Address, database: PostgresDatabase) -> AsyncIterator[Shards]:
    """The frontier of the installation whose store this is."""
    shards = Shards(address, installation=await PostgresOpenRows(database).installation())
    try:
        yield shards
    finally:
        await shards.close()


def _premises(
    database: PostgresDatabase, terms: PostgresDatabase, shards: Shards, path: Path, actor: str
) -> Premises:
    clock, rows, leadership = database.clock, PostgresOpenRows(database), PostgresLeadership(terms)
    frontier = RedisFrontier(shards, rows, PostgresPresence(database), rows, clock)
    frontier.lease_s = faults.lease_s() or frontier.lease_s
    health = PostgresHealth(database)
    return Premises(
        path=path,
        store=PostgresStore(database, frontier),
        frontier=frontier,
        ledger=ClusterLedger(PostgresLedger(database), frontier),
        tasks=SqlTaskStore(database),
        results=SqlResultStore(database),
        audit=SqlAuditLog(database),
        workers=PostgresWorkerRegistry(database),
        hosts=SqlHostBook(database),
        events=SqlEventFeed(database),
        logs=SqlLogStore(database),
        metrics=SqlMetricStore(database),
        users=SqlUserStore(database),
        answers=SqlAnswerStore(database),
        check_writable=health.check_writable,
        check_room=health.check_room,
        permits=RedisPermits(frontier),
        insight=SqlInsight(database),
        schedules=SqlScheduleStore(database),
        leadership=leadership,
        notices=SqlNoticeStore(database),
        scaling=SqlScalingStore(database),
        demand=RedisDemand(shards, leadership.now),
        seen_rows=SqlSeenRows(database),
        apart=Apart(RedisIndex(shards), rows, leadership, leadership.now, history=SqlSeenRows(terms).epoch),
        check_frontier=frontier.check,
        clock=clock,
        actor=actor,
    )


def _make(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(
            f"{path}, where logs and exports of this machine go, cannot be made: {error.strerror or error}",
            hint="choose another folder with --data",
        ) from error
