"""Store and frontier settled together: the only thing a worker writes to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from smartspider.core.events import Event
from smartspider.core.verdict import Settlement


class SettleReport(msgspec.Struct, frozen=True):
    """What a settle did."""

    closed: int = 0
    late: int = 0
    """Pages that were closed before, or whose run takes no more: nothing was added for them."""
    new_urls: int = 0
    items: int = 0
    events: list[Event] = []
    """What became of the pages, and the holds and guards that followed."""
    stored: list[int] = []
    """Rows (of the leases) whose children are in the store now; the links of others may not be there."""


class Ledger(Protocol):
    """1. Settle is atomic: a page's state, items and children are all there or none is.
    2. The first commit of a page wins; a later one adds nothing.
    3. Children that are new are queued, known ones are not; what settle returned is never lost.
    4. `done` replaces open, dead and skipped; dead never replaces done.
    5. A retry comes back after its delay and not before; only counted failures use up attempts.
    6. Limits are exact on stored pages and items; what is left closes as skipped.
    7. A redirect that landed closes both rows at once; items belong to the landing page, and are added once.
    8. A run is complete when it has rows and none is open.
    9. One bad row never poisons a batch: it is buried with its reason, the rest is stored.
    10. A run that takes no pages is never added to.
    """

    async def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        """Carry out verdicts."""
