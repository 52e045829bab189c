"""The workers of a cluster: beats tell which are alive, and what they hold is mirrored for those who look."""

from __future__ import annotations

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.moves import SQL as MIRROR
from smartspider.backends.postgres.presence import LOST_S
from smartspider.backends.sql.connection import Connection, row
from smartspider.backends.sql.workers import SQL, SqlWorkerRegistry
from smartspider.interfaces.worker_registry import Beat, Orders


class PostgresWorkerRegistry(SqlWorkerRegistry):
    """See `interfaces/worker_registry.py`. Every beat is written: silence is what tells of the dead."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database, lambda _worker_id, seen_at: database.now() - seen_at <= LOST_S)
        self._beside = database.write_beside

    async def beat(self, worker_id: int, beat: Beat) -> Orders:
        """Keep it, with what the worker holds; what the worker should do."""
        held = sorted(beat.held, key=lambda lease: lease.url_id)
        url_ids = [lease.url_id for lease in held]

        def work(connection: Connection) -> Orders:
            values = (beat.slots, beat.cpu_s, beat.memory, self._db.now(), worker_id)
            found = row(connection, SQL.beat, values)
            if found is None:
                return Orders(is_unknown=True)
            connection.execute(MIRROR.unmirror, (worker_id, url_ids))
            if held:
                columns = (
                    [lease.token.counter for lease in held],
                    [lease.deadline_at for lease in held],
                    [lease.is_alone for lease in held],
                )
                connection.execute(MIRROR.mirror, (worker_id, url_ids, *columns))
            return Orders(found[0], bool(found[1]))

        return await self._beside(work)
