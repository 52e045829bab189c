"""The store's part of settling on PostgreSQL: one transaction per run, and the update for the frontier."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import psycopg

from smartspider.backends.postgres.connection import PostgresConnection
from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.open_rows import PostgresOpenRows
from smartspider.core.errors import OutcomeUnknown
from smartspider.core.failpoints import reach
from smartspider.core.frontier.lease import FencingToken
from smartspider.core.frontier.updates import FrontierUpdate
from smartspider.core.frontier.verdict import Settlement
from smartspider.interfaces.ledger import SettleReport
from smartspider.store.settle.batches import DATA_ERRORS, by_run, merge_reports, settle_halving
from smartspider.store.settle.settle import settle_run

REFUSED = (*DATA_ERRORS, psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded)
"""Errors of a row: text with NUL, numbers out of range, values too long for an index."""
TRIES = 5
PAUSE_S = 0.2

Settled = tuple[SettleReport, FrontierUpdate]


class PostgresLedger:
    """See `interfaces/ledger.py`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._db = database
        self._rows = PostgresOpenRows(database)

    async def settle(self, settlements: Sequence[Settlement], held: set[FencingToken] | None) -> Settled:
        """Apply verdicts, run by run."""
        known = None if held is None else frozenset(held)
        report, update = SettleReport(), FrontierUpdate()
        for group in by_run(settlements).values():
            settled, moved = await settle_halving(
                group, partial(self._until_known, held=known), REFUSED, _both
            )
            if settled.late:
                moved.offered += await self._rows.open_children([lease.url_id for lease in moved.ended])
            report, update = _both((report, update), (settled, moved))
        reach("settle.committed")
        return report, update

    async def _until_known(
        self, group: Sequence[Settlement], held: frozenset[FencingToken] | None
    ) -> Settled:
        """Settle again if it is unknown whether the first try was committed: the first commit of a page wins.

        A page committed before is late then, and its children are offered as for any page closed before.
        """
        for _ in range(TRIES):
            try:
                return await self._once(group, held)
            except OutcomeUnknown:
                await asyncio.sleep(PAUSE_S)
        return await self._once(group, held)

    async def _once(self, group: Sequence[Settlement], held: frozenset[FencingToken] | None) -> Settled:
        def work(connection: PostgresConnection) -> SettleReport:
            connection.frontier.held = held
            now, shift = self._db.now(), self._db.clock_shift()
            report = settle_run(connection, group[0].lease.run_id, group, now=now, clock_shift=shift)
            reach("settle.before_commit")
            return report

        return await self._db.write_with_updates(work)


def _both(one: Settled, other: Settled) -> Settled:
    """Concatenate two results."""
    (report, update), (more, after) = one, other
    return merge_reports(report, more), FrontierUpdate(
        update.hosts + after.hosts,
        update.offered + after.offered,
        update.postponed + after.postponed,
        update.released + after.released,
        update.ended + after.ended,
    )
