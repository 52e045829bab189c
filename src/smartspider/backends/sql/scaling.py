"""How many workers are wanted, kept in SQL."""

from __future__ import annotations

import msgspec

from smartspider.backends.sql import statements
from smartspider.backends.sql.connection import Connection, Database
from smartspider.backends.sql.leadership import check
from smartspider.core.scaling import Figure, RunDemand

SQL = statements.load("scaling.sql")

COUNTED = 1_000
"""Runs that are looked at."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Figure).decode


class SqlScalingStore:
    """See `interfaces/scaling.py`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def runs(self) -> list[RunDemand]:
        """Runs that workers are wanted for."""
        return [RunDemand(*found) for found in await self._db.ask(SQL.runs, (COUNTED,))]

    async def keep(self, epoch: int, figure: Figure) -> None:
        """This is wanted now."""
        values = (figure.desired, figure.at, _encode(figure).decode())

        def work(connection: Connection) -> None:
            check(connection, epoch)
            connection.execute(SQL.keep, values)

        await self._db.write_beside(work)

    async def figure(self) -> Figure | None:
        """What was wanted last."""
        for (figure,) in await self._db.ask(SQL.figure):
            return _decode(figure) if figure else None
        return None
