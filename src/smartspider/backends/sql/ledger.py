"""Settling as one transaction, offers and acks in it; and what every ledger does with refused rows."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.backends.sql.connection import Connection, Database
from smartspider.backends.sql.settling import settle_run
from smartspider.core.failpoints import reach
from smartspider.core.verdict import Close, Settlement
from smartspider.interfaces.ledger import SettleReport


class SqlLedger:
    """See `interfaces/ledger.py`. `data_errors` is what the database refuses a row for, as opposed to what is
    wrong with the database.
    """

    def __init__(self, database: Database, data_errors: tuple[type[Exception], ...]) -> None:
        self._db = database
        self._data_errors: tuple[type[Exception], ...] = (*DATA_ERRORS, *data_errors)

    async def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        """Carry out verdicts; on a data error the batch is halved until the culprit stands alone."""
        if not settlements:
            return SettleReport()
        try:
            return await self._settle(settlements)
        except self._data_errors as error:
            if len(settlements) == 1:
                return await self._settle([buried(settlements[0], error)])
            middle = len(settlements) // 2
            first = await self.settle(settlements[:middle])
            return together(first, await self.settle(settlements[middle:]))

    async def _settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        def work(connection: Connection) -> SettleReport:
            by_run: dict[int, list[Settlement]] = {}
            for settlement in settlements:
                by_run.setdefault(settlement.lease.run_id, []).append(settlement)
            report = SettleReport()
            for run_id, group in by_run.items():
                now, clock_shift = self._db.now(), self._db.clock_shift()
                settled = settle_run(connection, run_id, group, now=now, clock_shift=clock_shift)
                report = together(report, settled)
            reach("settle.before_commit")
            return report

        report = await self._db.write(work)
        reach("settle.committed")
        return report


DATA_ERRORS = (
    UnicodeEncodeError,
    msgspec.MsgspecError,
    OverflowError,
    RecursionError,
    TypeError,
)
"""What a row can be refused for before the database sees it."""


def buried(settlement: Settlement, error: Exception) -> Settlement:
    """The same lease, ended with the reason why its page cannot be stored."""
    verdict = Close("broken", reason=_clean(f"not storable: {error}"[:500]))
    news = settlement.news
    if news is not None:
        news = msgspec.structs.replace(news, reason=_clean(news.reason))
    return msgspec.structs.replace(settlement, verdict=verdict, news=news)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", "�")


def together(one: SettleReport, other: SettleReport) -> SettleReport:
    """Both, in their order."""
    return SettleReport(
        one.closed + other.closed,
        one.late + other.late,
        one.new_urls + other.new_urls,
        one.items + other.items,
        one.events + other.events,
        one.stored + other.stored,
        one.continued + other.continued,
    )
