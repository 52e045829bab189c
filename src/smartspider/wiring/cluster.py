"""Open a cluster: the store on PostgreSQL, the frontier on Redis, and the files of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from smartspider.backends.cluster_ledger import ClusterLedger
from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.ledger import PostgresLedger
from smartspider.backends.postgres.open_rows import PostgresOpenRows
from smartspider.backends.postgres.schema import prepare
from smartspider.backends.postgres.store import PostgresHealth, PostgresStore
from smartspider.backends.postgres.store_clock import PostgresStoreClock
from smartspider.backends.postgres.workers import (
    PostgresLeadership,
    PostgresMembership,
    PostgresWorkerRegistry,
)
from smartspider.backends.redis.address import RedisAddress, read_url
from smartspider.backends.redis.dedup.opening import open_filters
from smartspider.backends.redis.demand import RedisDemand
from smartspider.backends.redis.frontier import RedisFrontier
from smartspider.backends.redis.frontier_index import RedisIndex
from smartspider.backends.redis.shards import Shards
from smartspider.core.errors import StoreUnavailable
from smartspider.core.frontier.lease import GateClosed, SendWindow
from smartspider.core.tasks import SYSTEM
from smartspider.engine.runtime import SystemClock
from smartspider.installation.database_clock import DatabaseClock
from smartspider.installation.installation import Installation, RemoteFrontier
from smartspider.installation.settings import Settings
from smartspider.store.requests import SqlStoredUrls
from smartspider.wiring import fault_injection


class RedisPermits:
    """See `Permits`: send windows of the gates that all runs share."""

    def __init__(self, frontier: RedisFrontier) -> None:
        self._frontier = frontier

    async def reserve(self, host: str, delay_s: float) -> SendWindow | GateClosed:
        """See `Permits.reserve`."""
        return await self._frontier.permit(host, delay_s)


@asynccontextmanager
async def open_cluster(
    settings: Settings, path: Path, *, actor: str = SYSTEM, connections: int = 4
) -> AsyncIterator[Installation]:
    """Open the cluster of the settings, tables created or migrated if needed; close it at the end."""
    _create(path)
    address = read_url(settings.frontier_url)
    await asyncio.to_thread(prepare, settings.store_url)
    database = PostgresDatabase(settings.store_url, SystemClock(), size=connections)
    # Renewing a term must not wait for a connection that a slow duty uses.
    terms = PostgresDatabase(settings.store_url, database.clock, database.times, size=2)
    try:
        async with (
            _open_shards(address, database) as shards,
            open_filters(address, max_bytes=settings.dedup_memory) as filters,
        ):
            installation = _installation(database, terms, shards, path, actor)
            yield msgspec.structs.replace(installation, settings=settings, filters=filters)
    finally:
        terms.close()
        database.close()


@asynccontextmanager
async def _open_shards(address: RedisAddress, database: PostgresDatabase) -> AsyncIterator[Shards]:
    """Open the frontier of the installation that the store belongs to."""
    shards = Shards(address, installation=await PostgresOpenRows(database).installation())
    try:
        yield shards
    finally:
        await shards.close()


def _installation(
    database: PostgresDatabase, terms: PostgresDatabase, shards: Shards, path: Path, actor: str
) -> Installation:
    clock, rows, leadership = database.clock, PostgresOpenRows(database), PostgresLeadership(terms)
    frontier = RedisFrontier(shards, rows, PostgresMembership(database), rows, clock)
    frontier.lease_s = fault_injection.lease_s() or frontier.lease_s
    health = PostgresHealth(database)
    return Installation(
        path=path,
        database=database,
        store=PostgresStore(database, frontier),
        frontier=frontier,
        ledger=ClusterLedger(PostgresLedger(database), frontier),
        workers=PostgresWorkerRegistry(database),
        check_writable=health.check_writable,
        check_room=health.check_room,
        permits=RedisPermits(frontier),
        leadership=leadership,
        demand=RedisDemand(shards, leadership.now),
        stored_urls=SqlStoredUrls(database),
        remote_frontier=RemoteFrontier(
            RedisIndex(shards), rows, leadership, leadership.now, history=SqlStoredUrls(terms).epoch
        ),
        end_stopped_clients=health.end_stopped_clients,
        check_frontier=frontier.check,
        clock=DatabaseClock(database, clock),
        store_clock=PostgresStoreClock(database),
        actor=actor,
    )


def _create(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(
            f"cannot create {path} for logs and exports of this machine: {error.strerror or error}",
            hint="choose another folder with --data",
        ) from error
