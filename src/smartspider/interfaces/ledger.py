"""Store and frontier settled together: the only thing a worker writes to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from smartspider.core.events import Event
from smartspider.core.frontier.lease import FencingToken, Lease
from smartspider.core.frontier.updates import FrontierUpdate
from smartspider.core.frontier.verdict import Settlement


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
    continued: list[int] = []
    """Those of them whose next pages are in the store as well."""


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
    11. Where items are compared, stored ones have no key in common. `first`: a later one is dropped, its
        `update` fields go to the one that stays, whichever run that is of. `last`: a later one takes the
        place of those of its run; other runs keep theirs. This holds within a page and a settle as well.
    12. `duplicates` counts the items that are not there because of that, `updated` how often a later one
        changed what is stored; limits count what is stored.
    13. Next pages are added only when an item of their page was new, or its items are not compared.
    14. Every rejected item is counted and the first ten thousand of a run are kept, changes of values up to a
        million; what steps did is summed. None of it is ever a reason not to store a page.
    15. A run that looks back remembers pages it closes as done, redirect or missing, with their settle. Found
        by a link again before its time, a page closes as skipped with the reason; entries, next pages and
        what a redirect leads to are always fetched, and nothing that a cancelled run saw is held back.
    16. Where changes are asked for, a request has the version that is remembered of its page, if task and
        request would read it alike. Unchanged, it gives the items and children it gave then, compared and
        limited like any; when that is not known any more it comes back without version, as if never sent.
    17. What was remembered by a run that is deleted is forgotten.
    """

    async def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        """Carry out verdicts."""


class StoreLedger(Protocol):
    """1. What `Ledger` promises, as far as rows go. 2. What the moves say is committed."""

    async def settle(
        self, settlements: Sequence[Settlement], held: set[FencingToken] | None
    ) -> tuple[SettleReport, FrontierUpdate]:
        """Carry out verdicts; failures count of leases in `held`, and of all when it is None."""


class FrontierUpdater(Protocol):
    """1. Moves are carried out in order: gates, offers, leases. An ack never overtakes an offer
       to a frontier that answers; links for a part of it that is away are left to the keeper.
    2. Carried out twice they do no harm. What cannot be carried out in a lease time is given up: the keeper
       offers open rows, and leases run out.
    """

    async def apply(self, update: FrontierUpdate) -> None:
        """Tell the frontier what was committed."""

    async def held(self, leases: Sequence[Lease]) -> set[FencingToken]:
        """Those of the leases that are still held."""
