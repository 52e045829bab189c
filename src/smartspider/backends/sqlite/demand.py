"""Queued work of runs by host, in a data folder."""

from __future__ import annotations

from collections.abc import Sequence

from smartspider.backends.sqlite.database import SqliteDatabase
from smartspider.core.workers.scaling import LaneDemand
from smartspider.store import statements
from smartspider.store.database import Connection, rows

SQL = statements.load("sql/demand.sql", __package__)

COUNTED = 5_000
"""Upper bound for counting lanes."""
SOON_S = 10.0
"""A host held no longer than this counts as open: a worker needs some time to start."""


class SqliteDemand:
    """See `interfaces/frontier.py`."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._db = database

    async def lanes(self, runs: Sequence[int], limit: int) -> dict[int, tuple[int, list[LaneDemand]]]:
        """Return the number of hosts of each run, and some of them."""
        soon = self._db.now() + SOON_S

        def work(connection: Connection) -> dict[int, tuple[int, list[LaneDemand]]]:
            return {run_id: _lanes(connection, run_id, limit, soon) for run_id in runs}

        return await self._db.read(work)


def _lanes(connection: Connection, run_id: int, limit: int, soon: float) -> tuple[int, list[LaneDemand]]:
    ((still_open, closed),) = rows(connection, SQL.count, (run_id, COUNTED))
    limits = max(limit // 2, limit - closed), max(limit // 2, limit - still_open)
    looked = [
        LaneDemand(host, domain, queued, flying, delay_s, per_host, per_domain, bool(is_held))
        for host, domain, queued, flying, delay_s, per_host, per_domain, is_held in rows(
            connection, SQL.looked, (run_id, *limits, soon)
        )
    ]
    return max(still_open + closed, len(looked)), looked
