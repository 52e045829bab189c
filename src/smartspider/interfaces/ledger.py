"""The ledger settles store and frontier together. Workers write to nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from smartspider.core.events import Event
from smartspider.core.frontier.lease import FencingToken, Lease
from smartspider.core.frontier.updates import FrontierUpdate
from smartspider.core.frontier.verdict import Settlement


class SettleReport(msgspec.Struct, frozen=True):
    """The effects of a settle."""

    closed: int = 0
    late: int = 0
    """Pages that were closed before, or whose run accepts no pages: nothing was added for them."""
    new_urls: int = 0
    items: int = 0
    events: list[Event] = []
    """The outcome of each page, and the holds and guards that followed."""
    stored: list[int] = []
    """Rows of the leases whose children are in the store now. The links of other rows may be missing."""
    continued: list[int] = []
    """Rows of `stored` whose next pages are in the store as well."""
    cookies: dict[int, int] = {}
    """The version of the cookies of each run whose cookies were stored."""


class Ledger(Protocol):
    """1. Settle is atomic: the state, items and children of a page are all stored, or none is.
    2. The first commit of a page wins; a later one adds nothing.
    3. New children are queued, known ones are not; what a settle has stored is never lost.
    4. `done` replaces open, dead and skipped; dead never replaces done.
    5. A retry returns after its delay and not before; only counted failures use up attempts.
    6. Limits are exact on stored pages and items; the rest closes as skipped.
    7. A redirect that landed closes both rows at once; items belong to the landing page and are added
       once.
    8. A run is complete when it has rows and none is open.
    9. One bad row never fails a batch: it closes with its reason, the rest is stored.
    10. Nothing is added to a run that accepts no pages.
    11. Where items are compared, no two stored items share a key. `first`: a later item is dropped and its
       `update` fields go to the stored one, in whichever run that is. `last`: a later item replaces those
       of its run; other runs keep theirs. This also holds within a page and within a settle.
    12. `duplicates` counts the items dropped or replaced by that, `updated` the times a later item changed
       a stored one; limits count stored items.
    13. Next pages are added only if an item of their page was new, or if items are not compared.
    14. Every rejected item is counted and the first ten thousand of a run are kept, changed values up to a
       million; the counts of steps are summed. None of this ever prevents a page from being stored.
    15. A run with a recrawl policy remembers pages that it closes as done, redirect or missing, in their
       settle. A link to such a page before its recrawl time closes as skipped with the reason. Entries,
       next pages and redirect targets are always fetched, and pages seen by a cancelled run hold nothing
       back.
    16. Where the policy asks for changes only, a request carries the remembered version of its page, if
       task and request would read it alike. An unchanged page yields the items and children it yielded
       then, compared and limited like any other; if those are no longer stored, it is requested again
       without a version, as if never sent.
    17. Pages remembered by a deleted run are forgotten.
    18. A link that becomes no request is stored with its reason in the settle of its page, once per run
       whatever is repeated, and is no longer left out when it becomes a request. Skipped requests are
       counted by the same reasons; a count that misses links says so.
    19. A run knows the fields of its items that have no value in any stored row.
    20. Cookies of a settlement are stored in its settle, whatever its verdict, as the next version of the
       cookies of its run.
    21. A run knows how many pages of each type brought items and values, and which requests brought something
       else than they were followed for.
    22. A page found by pagination that brings what an earlier page of its list brought (`list_digest`) adds
       no items, and its next pages are left out as `repeated` unless they are requests already. A list
       begins with a page that pagination did not lead to.
    """

    async def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        """Apply verdicts."""


class StoreLedger(Protocol):
    """1. The promises of `Ledger`, as far as rows are concerned. 2. The returned update is committed."""

    async def settle(
        self, settlements: Sequence[Settlement], held: set[FencingToken] | None
    ) -> tuple[SettleReport, FrontierUpdate]:
        """Apply verdicts. Failures count for the leases in `held`, or for all if it is None."""


class FrontierUpdater(Protocol):
    """1. Updates are applied in order: gates, offers, leases. For a frontier that answers, no ack overtakes
       an offer; offers to an unreachable shard are left to the keeper.
    2. Applying an update twice does no harm. What cannot be applied within a lease time is dropped: the
       keeper offers open rows, and leases expire.
    """

    async def apply(self, update: FrontierUpdate) -> None:
        """Apply a committed update to the frontier."""

    async def held(self, leases: Sequence[Lease]) -> set[FencingToken]:
        """Return the tokens of those leases that are still held."""
