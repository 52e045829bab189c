"""The desired number of workers."""

from __future__ import annotations

import msgspec

from smartspider.core.workers.scaling import RunDemand, ScalingDecision
from smartspider.store import statements
from smartspider.store.database import Connection, Database
from smartspider.store.nodes.leadership import check

SQL = statements.load("scaling.sql", __package__)

COUNTED = 1_000
"""Runs that are read."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ScalingDecision).decode


class ScalingStore:
    """1. Only the leader of the newest term can store a decision (`LeadershipLost` for any other).
    2. The last stored decision is returned, also in other processes.
    3. All runs that are running or queued are returned with their open requests; paused ones are not.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def runs(self) -> list[RunDemand]:
        """Return the runs that want workers, without their lanes."""
        return [RunDemand(*found) for found in await self._db.fetch(SQL.runs, (COUNTED,))]

    async def save(self, epoch: int, decision: ScalingDecision) -> None:
        """Store the present decision."""
        values = (decision.desired, decision.at, _encode(decision).decode())

        def work(connection: Connection) -> None:
            check(connection, epoch)
            connection.execute(SQL.keep, values)

        await self._db.write_concurrently(work)

    async def decision(self) -> ScalingDecision | None:
        """Return the last decision; None if there is none."""
        for (decision,) in await self._db.fetch(SQL.decision):
            return _decode(decision) if decision else None
        return None
