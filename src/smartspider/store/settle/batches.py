"""Batches of settlements: grouped by run, and split so that one bad row never fails the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.interfaces.ledger import SettleReport

T = TypeVar("T")

DATA_ERRORS = (
    UnicodeEncodeError,
    msgspec.MsgspecError,
    OverflowError,
    RecursionError,
    TypeError,
)
"""Errors of a row before the database sees it."""


def by_run(settlements: Iterable[Settlement]) -> dict[int, list[Settlement]]:
    """Group settlements by run, in their order."""
    groups: dict[int, list[Settlement]] = {}
    for settlement in settlements:
        groups.setdefault(settlement.lease.run_id, []).append(settlement)
    return groups


async def settle_halving(
    settlements: Sequence[Settlement],
    settle: Callable[[Sequence[Settlement]], Awaitable[T]],
    refused: tuple[type[Exception], ...],
    add: Callable[[T, T], T],
) -> T:
    """Settle all at once. If a row is refused, halve the batch until the row is alone, and close it as
    broken.

    `refused` are the errors of a row, as opposed to those of the database.
    """
    try:
        return await settle(settlements)
    except refused as error:
        if len(settlements) == 1:
            return await settle([_buried(settlements[0], error)])
        middle = len(settlements) // 2
        first = await settle_halving(settlements[:middle], settle, refused, add)
        return add(first, await settle_halving(settlements[middle:], settle, refused, add))


def _buried(settlement: Settlement, error: Exception) -> Settlement:
    """Return the settlement with a verdict that says why its page cannot be stored."""
    verdict = Close("broken", _clean(f"not storable: {error}"[:500]), cause="not_storable")
    news = tuple(msgspec.structs.replace(one, reason=_clean(one.reason)) for one in settlement.news)
    return msgspec.structs.replace(settlement, verdict=verdict, news=news)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", "�")


def merge_reports(one: SettleReport, other: SettleReport) -> SettleReport:
    """Concatenate two reports."""
    return SettleReport(
        one.closed + other.closed,
        one.late + other.late,
        one.new_urls + other.new_urls,
        one.items + other.items,
        one.events + other.events,
        one.stored + other.stored,
        one.continued + other.continued,
        one.cookies | other.cookies,
    )
