"""How many workers are wanted, kept in SQL."""

from __future__ import annotations

import msgspec

from smartspider.core.workers.scaling import RunDemand, ScalingDecision
from smartspider.store import statements
from smartspider.store.database import Connection, Database
from smartspider.store.nodes.leadership import check

SQL = statements.load("scaling.sql", __package__)

COUNTED = 1_000
"""Runs that are looked at."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ScalingDecision).decode


class ScalingStore:
    """1. A figure is kept only for the leader of the newest term (`TermOver` for any other).
    2. The last one that was kept is told, also by other processes.
    3. All runs that are worked on, or wait to be, are told with what is open in them; none that is paused.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def runs(self) -> list[RunDemand]:
        """Runs that workers are wanted for, without their lanes."""
        return [RunDemand(*found) for found in await self._db.fetch(SQL.runs, (COUNTED,))]

    async def keep(self, epoch: int, figure: ScalingDecision) -> None:
        """This is wanted now."""
        values = (figure.desired, figure.at, _encode(figure).decode())

        def work(connection: Connection) -> None:
            check(connection, epoch)
            connection.execute(SQL.keep, values)

        await self._db.write_concurrently(work)

    async def figure(self) -> ScalingDecision | None:
        """What was wanted last; None: nobody has said yet."""
        for (figure,) in await self._db.fetch(SQL.figure):
            return _decode(figure) if figure else None
        return None
