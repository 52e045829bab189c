"""The ledger on SQLite: settle, offer and ack are one transaction."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from smartspider.backends.sqlite.database import SqliteDatabase
from smartspider.core.failpoints import reach
from smartspider.core.frontier.verdict import Settlement
from smartspider.interfaces.ledger import SettleReport
from smartspider.store.database import Connection
from smartspider.store.settle.batches import DATA_ERRORS, by_run, merge_reports, settle_halving
from smartspider.store.settle.settle import settle_run

REFUSED = (*DATA_ERRORS, apsw.TooBigError, apsw.ConstraintError, apsw.MismatchError)


class SqliteLedger:
    """See `interfaces/ledger.py`."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._db = database

    async def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        """Apply verdicts, all runs in one transaction."""
        if not settlements:
            return SettleReport()
        return await settle_halving(settlements, self._settle, REFUSED, merge_reports)

    async def _settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        def work(connection: Connection) -> SettleReport:
            report = SettleReport()
            for run_id, group in by_run(settlements).items():
                now, clock_shift = self._db.now(), self._db.clock_shift()
                settled = settle_run(connection, run_id, group, now=now, clock_shift=clock_shift)
                report = merge_reports(report, settled)
            reach("settle.before_commit")
            return report

        report = await self._db.write(work)
        reach("settle.committed")
        return report
