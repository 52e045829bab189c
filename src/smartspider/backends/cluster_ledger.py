"""The ledger of a store with a frontier outside of it: commit, then offer, then ack."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from smartspider.core.errors import FrontierUnavailable
from smartspider.core.failpoints import reach
from smartspider.core.frontier.lease import FencingToken
from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.interfaces.ledger import FrontierUpdater, SettleReport, StoreLedger

log = logging.getLogger(__name__)


class ClusterLedger:
    """See `interfaces/ledger.py`. A commit is never undone: while the frontier is unavailable, the keeper
    offers the open rows and leases expire.
    """

    def __init__(self, store: StoreLedger, frontier: FrontierUpdater) -> None:
        self._store = store
        self._frontier = frontier

    async def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        """Commit verdicts, then update the frontier. Returns also if the frontier is unavailable."""
        held = await self._held(settlements)
        report, update = await self._store.settle(settlements, held)
        reach("ledger.committed")
        if not update.is_empty:
            await self._frontier.apply(update)
        reach("ledger.acked")
        return report

    async def _held(self, settlements: Sequence[Settlement]) -> set[FencingToken] | None:
        """Return the tokens of leases that may fail their rows; None if unknown, and then all may.

        A fetched page is accepted from any lease, so only the other verdicts are checked.
        """
        doubtful = [one.lease for one in settlements if not _is_page(one)]
        if not doubtful:
            return None
        try:
            held = await self._frontier.held(doubtful)
        except FrontierUnavailable as error:
            log.info(
                "failures are counted without asking the frontier, which is unavailable: %s", error.message
            )
            return None
        return held | {one.lease.token for one in settlements if _is_page(one)}


def _is_page(settlement: Settlement) -> bool:
    verdict = settlement.verdict
    return isinstance(verdict, Close) and verdict.state in ("done", "redirect") and not verdict.is_unchanged
