"""Who is there: a worker beats every two seconds, and one that is silent for ten is lost."""

from __future__ import annotations

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.moves import SQL
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.database import Connection, rows
from smartspider.store.nodes.workers import joining

LOST_S = 10.0
"""Five beats that did not come."""
KEPT_S = 300.0
"""How long one that is gone is remembered: its last leases have run out long before."""


class PostgresPresence:
    """See `interfaces/open_rows.py`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._db = database

    async def join(self, card: WorkerRegistration) -> int:
        """Register a worker; it is alive as long as it beats."""
        values = joining(card, self._db.now())

        def work(connection: Connection) -> int:
            ((worker_id,),) = rows(connection, SQL.add_worker, values)
            return int(worker_id)

        return await self._db.write_beside(work)

    async def leave(self, worker_id: int) -> None:
        """The worker is gone in good order; what of it is found nevertheless counts nothing."""

        def work(connection: Connection) -> None:
            connection.execute(SQL.leave, (self._db.now(), worker_id))
            connection.execute(SQL.unmirror, (worker_id, []))

        await self._db.write_beside(work)


async def lost(database: PostgresDatabase) -> list[int]:
    """Workers that are gone. Nothing is written unless one fell silent just now, or is to be forgotten."""
    now = database.now()
    found = await database.ask(SQL.gone, (now - LOST_S,))
    if any(gone_at is None or gone_at < now - KEPT_S for _, _, gone_at, _ in found):

        def work(connection: Connection) -> None:
            connection.execute(SQL.give_up, (now, now - LOST_S))
            connection.execute(SQL.forget_workers, (now - KEPT_S,))
            connection.execute(SQL.unmirror_gone)

        await database.write_beside(work)
    return [worker_id for worker_id, *_ in found]
