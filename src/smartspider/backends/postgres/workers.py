"""The workers of a cluster: beats tell which are alive, and what they hold is mirrored for those who look."""

from __future__ import annotations

import msgspec

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.moves import SQL as MIRROR
from smartspider.backends.postgres.presence import LOST_S
from smartspider.core.workers.worker import WorkerHealth
from smartspider.interfaces.worker_registry import Beat, Orders
from smartspider.store.database import Connection, Row, rows
from smartspider.store.nodes.workers import SQL, SqlWorkerRegistry, written


class PostgresWorkerRegistry(SqlWorkerRegistry):
    """See `interfaces/worker_registry.py`. Every beat is written: silence is what tells of the dead."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database, lambda _worker_id, seen_at: database.now() - seen_at <= LOST_S)
        self._beside = database.write_beside
        self._holding: set[int] = set()
        """Workers of which something is mirrored."""

    async def beat(self, worker_id: int, beat: Beat) -> Orders:
        """Keep it, with what the worker holds; what the worker should do."""
        held = sorted(beat.held, key=lambda lease: lease.url_id)
        url_ids = [lease.url_id for lease in held]
        now = self._db.now()
        values = (beat.slots, beat.cpu_s, beat.memory, written(beat.health), now, worker_id, now - LOST_S)
        if not held and worker_id not in self._holding:
            return _orders(await self._db.ask(SQL.beat, values), worker_id, beat.health)

        def work(connection: Connection) -> Orders:
            orders = _orders(rows(connection, SQL.beat, values), worker_id, beat.health)
            if orders.is_unknown:
                return orders
            connection.execute(MIRROR.unmirror, (worker_id, url_ids))
            if held:
                columns = (
                    [lease.token.counter for lease in held],
                    [lease.deadline_at for lease in held],
                    [lease.is_alone for lease in held],
                )
                connection.execute(MIRROR.mirror, (worker_id, url_ids, *columns))
            return orders

        self._holding.add(worker_id)
        orders = await self._beside(work)
        if not held:
            self._holding.discard(worker_id)
        return orders


def _orders(found: list[Row], worker_id: int, form: WorkerHealth) -> Orders:
    if not found:
        return Orders(is_unknown=True)
    ((slots, is_draining, peers),) = found
    return Orders(slots, bool(is_draining), peers=_peers(peers, worker_id, form))


def _peers(told: str | None, worker_id: int, form: WorkerHealth) -> dict[int, WorkerHealth]:
    """Those who stay, with what they said last; of itself a worker knows better."""
    peers = msgspec.json.decode(told or "{}", type=dict[int, WorkerHealth])
    return peers | {worker_id: form} if worker_id in peers else peers
