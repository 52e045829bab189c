"""What every ledger does with settlements: one group per run, and one bad row never poisons a batch."""

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
"""What a row can be refused for before the database sees it."""


def by_run(settlements: Iterable[Settlement]) -> dict[int, list[Settlement]]:
    """The settlements of each run, in their order."""
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
    """Settle all at once; when one is refused they are halved until the culprit stands alone, and is buried.

    `refused` is what the database refuses a row for, as opposed to what is wrong with the database.
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
    """The same lease, ended with the reason why its page cannot be stored."""
    verdict = Close("broken", reason=_clean(f"not storable: {error}"[:500]))
    news = tuple(msgspec.structs.replace(one, reason=_clean(one.reason)) for one in settlement.news)
    return msgspec.structs.replace(settlement, verdict=verdict, news=news)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", "�")


def merge_reports(one: SettleReport, other: SettleReport) -> SettleReport:
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
