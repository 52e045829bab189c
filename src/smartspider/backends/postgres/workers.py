"""The workers of a cluster: beats tell which are alive, and what they hold is mirrored for those who look."""

from __future__ import annotations

import msgspec

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.frontier_updates import SQL as FRONTIER
from smartspider.core.workers.worker import WorkerHealth, WorkerRegistration
from smartspider.interfaces.worker_registry import HeartbeatReply, HeartbeatReport
from smartspider.store.database import Connection, Row, rows
from smartspider.store.nodes.workers import SQL, SqlWorkerRegistry, encode_health, registration_values

LOST_S = 10.0
"""Five beats that did not come."""
KEPT_S = 300.0
"""How long one that is gone is remembered: its last leases have run out long before."""


class PostgresWorkerRegistry(SqlWorkerRegistry):
    """See `interfaces/worker_registry.py`. Every beat is written: silence is what tells of the dead."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database, lambda _worker_id, seen_at: database.now() - seen_at <= LOST_S)
        self._beside = database.write_concurrently
        self._holding: set[int] = set()
        """Workers of which something is mirrored."""

    async def beat(self, worker_id: int, beat: HeartbeatReport) -> HeartbeatReply:
        """Keep it, with what the worker holds; what the worker should do."""
        held = sorted(beat.held, key=lambda lease: lease.url_id)
        url_ids = [lease.url_id for lease in held]
        now = self._db.now()
        values = (
            beat.slots,
            beat.cpu_s,
            beat.memory,
            encode_health(beat.health),
            now,
            worker_id,
            now - LOST_S,
        )
        if not held and worker_id not in self._holding:
            return _orders(await self._db.fetch(SQL.beat, values), worker_id, beat.health)

        def work(connection: Connection) -> HeartbeatReply:
            orders = _orders(rows(connection, SQL.beat, values), worker_id, beat.health)
            if orders.is_unknown:
                return orders
            connection.execute(FRONTIER.unmirror, (worker_id, url_ids))
            if held:
                columns = (
                    [lease.token.counter for lease in held],
                    [lease.deadline_at for lease in held],
                    [lease.is_alone for lease in held],
                )
                connection.execute(FRONTIER.mirror, (worker_id, url_ids, *columns))
            return orders

        self._holding.add(worker_id)
        orders = await self._beside(work)
        if not held:
            self._holding.discard(worker_id)
        return orders


def _orders(found: list[Row], worker_id: int, form: WorkerHealth) -> HeartbeatReply:
    if not found:
        return HeartbeatReply(is_unknown=True)
    ((slots, is_draining, peers),) = found
    return HeartbeatReply(slots, bool(is_draining), peers=_peers(peers, worker_id, form))


def _peers(told: str | None, worker_id: int, form: WorkerHealth) -> dict[int, WorkerHealth]:
    """Those who stay, with what they said last; of itself a worker knows better."""
    peers = msgspec.json.decode(told or "{}", type=dict[int, WorkerHealth])
    return peers | {worker_id: form} if worker_id in peers else peers


class PostgresMembership:
    """See `interfaces/open_rows.py`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._db = database

    async def join(self, card: WorkerRegistration) -> int:
        """Register a worker; it is alive as long as it beats."""
        values = registration_values(card, self._db.now())

        def work(connection: Connection) -> int:
            ((worker_id,),) = rows(connection, FRONTIER.add_worker, values)
            return int(worker_id)

        return await self._db.write_concurrently(work)

    async def leave(self, worker_id: int) -> None:
        """The worker is gone in good order; what of it is found nevertheless counts nothing."""

        def work(connection: Connection) -> None:
            connection.execute(FRONTIER.leave, (self._db.now(), worker_id))
            connection.execute(FRONTIER.unmirror, (worker_id, []))

        await self._db.write_concurrently(work)


async def lost(database: PostgresDatabase) -> list[int]:
    """Workers that are gone. Nothing is written unless one fell silent just now, or is to be forgotten."""
    now = database.now()
    found = await database.fetch(FRONTIER.gone, (now - LOST_S,))
    if any(gone_at is None or gone_at < now - KEPT_S for _, _, gone_at, _ in found):

        def work(connection: Connection) -> None:
            connection.execute(FRONTIER.give_up, (now, now - LOST_S))
            connection.execute(FRONTIER.forget_workers, (now - KEPT_S,))
            connection.execute(FRONTIER.unmirror_gone)

        await database.write_concurrently(work)
    return [worker_id for worker_id, *_ in found]
