"""The store's part of settling on PostgreSQL: one transaction per run, and what it means for the frontier."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import psycopg

from smartspider.backends.postgres.connection import PostgresConnection
from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.rows import PostgresOpenRows
from smartspider.backends.sql.ledger import DATA_ERRORS, buried, together
from smartspider.backends.sql.settling import settle_run
from smartspider.core.errors import OutcomeUnknown
from smartspider.core.failpoints import reach
from smartspider.core.lease import Token
from smartspider.core.placing import Moves
from smartspider.core.verdict import Settlement
from smartspider.interfaces.ledger import SettleReport

REFUSED = (*DATA_ERRORS, psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded)
"""What a row can be refused for: text with NUL, numbers out of range, values too long for an index."""
TRIES = 5
PAUSE_S = 0.2

Settled = tuple[SettleReport, Moves]


class PostgresLedger:
    """See `interfaces/store_ledger.py`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._db = database
        self._rows = PostgresOpenRows(database)

    async def settle(self, settlements: Sequence[Settlement], held: set[Token] | None) -> Settled:
        """Carry out verdicts, run by run."""
        by_run: dict[int, list[Settlement]] = {}
        for settlement in settlements:
            by_run.setdefault(settlement.lease.run_id, []).append(settlement)
        known = None if held is None else frozenset(held)
        report, moves = SettleReport(), Moves()
        for group in by_run.values():
            settled, moved = await self._settle(group, known)
            if settled.late:
                moved.offered += await self._rows.open_children([lease.url_id for lease in moved.ended])
            report, moves = together(report, settled), joined(moves, moved)
        reach("settle.committed")
        return report, moves

    async def _settle(self, group: Sequence[Settlement], held: frozenset[Token] | None) -> Settled:
        """One run's; on a data error the group is halved until the culprit stands alone."""
        try:
            return await self._until_known(group, held)
        except REFUSED as error:
            if len(group) == 1:
                return await self._until_known([buried(group[0], error)], held)
            middle = len(group) // 2
            first, moves = await self._settle(group[:middle], held)
            second, more = await self._settle(group[middle:], held)
            return together(first, second), joined(moves, more)

    async def _until_known(self, group: Sequence[Settlement], held: frozenset[Token] | None) -> Settled:
        """Settle again when nobody knows whether it was kept: the first commit of a page wins.

        What was kept is late then, and what it led to is offered as for any page that was closed before.
        """
        for _ in range(TRIES):
            try:
                return await self._once(group, held)
            except OutcomeUnknown:
                await asyncio.sleep(PAUSE_S)
        return await self._once(group, held)

    async def _once(self, group: Sequence[Settlement], held: frozenset[Token] | None) -> Settled:
        def work(connection: PostgresConnection) -> SettleReport:
            connection.moves.held = held
            now, shift = self._db.now(), self._db.clock_shift()
            report = settle_run(connection, group[0].lease.run_id, group, now=now, clock_shift=shift)
            reach("settle.before_commit")
            return report

        return await self._db.write_moves(work)


def joined(one: Moves, other: Moves) -> Moves:
    """Both, in their order."""
    return Moves(
        one.hosts + other.hosts,
        one.offered + other.offered,
        one.postponed + other.postponed,
        one.released + other.released,
        one.ended + other.ended,
    )
