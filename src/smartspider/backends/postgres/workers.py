"""Workers and leadership of a cluster: heartbeats show which workers are alive, and their leases are mirrored
for views; renewing a term is one statement.
"""

from __future__ import annotations

import msgspec

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.frontier_updates import SQL as FRONTIER
from smartspider.core.workers.worker import WorkerHealth, WorkerRegistration
from smartspider.interfaces.leadership import Term
from smartspider.interfaces.worker_registry import HeartbeatReply, HeartbeatReport
from smartspider.store.database import Connection, Row, rows
from smartspider.store.nodes.leadership import SqlLeadership
from smartspider.store.nodes.workers import SQL, SqlWorkerRegistry, encode_health, registration_values
from smartspider.store.statements import load

LOST_S = 10.0
"""Five missed heartbeats."""
REMEMBER_S = 300.0
"""Time that a lost worker is remembered: its last leases have expired long before."""


class PostgresWorkerRegistry(SqlWorkerRegistry):
    """See `interfaces/worker_registry.py`. Every heartbeat is written, since a missing one means death."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database, lambda _worker_id, seen_at: database.now() - seen_at <= LOST_S)
        self._write_concurrently = database.write_concurrently
        self._holding: set[int] = set()
        """Workers with mirrored leases."""

    async def beat(self, worker_id: int, beat: HeartbeatReport) -> HeartbeatReply:
        """Store a heartbeat with the leases of the worker, and return the reply."""
        # After a loss of the frontier, a worker may be given a request that it is still working on.
        by_request = {lease.url_id: lease for lease in sorted(beat.held, key=lambda lease: lease.token)}
        url_ids = sorted(by_request)
        held = [by_request[url_id] for url_id in url_ids]
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
            return _reply(await self._db.fetch(SQL.beat, values), worker_id, beat.health)

        def work(connection: Connection) -> HeartbeatReply:
            reply = _reply(rows(connection, SQL.beat, values), worker_id, beat.health)
            if reply.is_unknown:
                return reply
            connection.execute(FRONTIER.unmirror, (worker_id, url_ids))
            if held:
                columns = (
                    [lease.token.counter for lease in held],
                    [lease.deadline_at for lease in held],
                    [lease.is_alone for lease in held],
                )
                connection.execute(FRONTIER.mirror, (worker_id, url_ids, *columns))
            return reply

        self._holding.add(worker_id)
        reply = await self._write_concurrently(work)
        if not held:
            self._holding.discard(worker_id)
        return reply


def _reply(found: list[Row], worker_id: int, health: WorkerHealth) -> HeartbeatReply:
    if not found:
        return HeartbeatReply(is_unknown=True)
    ((slots, is_draining, peers),) = found
    return HeartbeatReply(slots, bool(is_draining), peers=_peers(peers, worker_id, health))


def _peers(stored: str | None, worker_id: int, health: WorkerHealth) -> dict[int, WorkerHealth]:
    """Return the workers that stay, with their last health; the worker's own is the present one."""
    peers = msgspec.json.decode(stored or "{}", type=dict[int, WorkerHealth])
    return peers | {worker_id: health} if worker_id in peers else peers


class PostgresMembership:
    """See `interfaces/open_rows.py`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._db = database

    async def join(self, registration: WorkerRegistration) -> int:
        """Register a worker; it is alive as long as it sends heartbeats."""
        values = registration_values(registration, self._db.now())

        def work(connection: Connection) -> int:
            ((worker_id,),) = rows(connection, FRONTIER.add_worker, values)
            return int(worker_id)

        return await self._db.write_concurrently(work)

    async def leave(self, worker_id: int) -> None:
        """Deregister a worker. Leases of it that are found later are not counted as lost."""

        def work(connection: Connection) -> None:
            connection.execute(FRONTIER.leave, (self._db.now(), worker_id))
            connection.execute(FRONTIER.unmirror, (worker_id, []))

        await self._db.write_concurrently(work)


async def lost(database: PostgresDatabase) -> list[int]:
    """Return lost workers. Writes only if one became silent just now, or is to be forgotten."""
    now = database.now()
    found = await database.fetch(FRONTIER.gone, (now - LOST_S,))
    if any(gone_at is None or gone_at < now - REMEMBER_S for _, _, gone_at, _ in found):

        def work(connection: Connection) -> None:
            connection.execute(FRONTIER.give_up, (now, now - LOST_S))
            connection.execute(FRONTIER.forget_workers, (now - REMEMBER_S,))
            connection.execute(FRONTIER.unmirror_gone)

        await database.write_concurrently(work)
    return [worker_id for worker_id, *_ in found]


TERMS = load("sql/terms.sql", __package__)


class PostgresLeadership(SqlLeadership):
    """See `interfaces/leadership.py`."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database)
        self._postgres = database

    async def take(self, owner: str, term_s: float) -> Term | None:
        """Take or renew a term of `term_s` seconds. Return None while another process leads."""
        now = self.now()
        until = now + term_s
        # Idempotent: sent again after an error, it sets the same end.
        for (epoch,) in await self._postgres.fetch(TERMS.prolong, (until, owner, now)):
            return Term(owner, epoch, until)
        return await super().take(owner, term_s)
