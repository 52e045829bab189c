"""What the store says about requests that layers in front of it call known."""

from __future__ import annotations

from collections.abc import Sequence

from smartspider.backends.sql import statements
from smartspider.backends.sql.connection import Connection, Database

SQL = statements.load("seen.sql")


class SqlSeenRows:
    """See `interfaces/seen.py`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def stored(self, run_id: int, fingerprints: Sequence[bytes]) -> set[bytes]:
        """Those of them that have a row in the run."""
        keys = [(run_id, fingerprint) for fingerprint in fingerprints]

        def look(connection: Connection) -> set[bytes]:
            return {bytes(found) for (found,) in connection.executemany(SQL.stored, keys)}

        return await self._db.read(look)

    async def totals(self, run_ids: Sequence[int]) -> dict[int, int]:
        """How many rows the runs have; runs that are not there are left out."""
        keys = [(run_id,) for run_id in run_ids]

        def look(connection: Connection) -> dict[int, int]:
            return dict(connection.executemany(SQL.total, keys).fetchall())

        return await self._db.read(look)

    async def epoch(self) -> str:
        """The epoch of the store, see `SeenKey`."""
        ((epoch,),) = await self._db.ask(SQL.epoch)
        return str(epoch)
