"""A run as settling sees it: its limits and guards, judged together with what the settle adds."""

from __future__ import annotations

import msgspec

from smartspider.backends.sql import statements
from smartspider.backends.sql.connection import Connection, row
from smartspider.backends.sql.policies import Policies, decode_policies
from smartspider.backends.sql.sums import Sums
from smartspider.core.runs import GUARD, LIMIT
from smartspider.core.verdict import Close

SQL = statements.load("ledger.sql")


NOTHING = Sums()


class LedgerRun(msgspec.Struct):
    """The columns of a run that settling reads, in the order of the statement."""

    run_id: int
    state: str
    next_url: int
    next_item: int
    failures_row: int
    done: int
    items: int
    dead: int
    broken: int
    missing: int
    max_pages: int | None
    max_items: int | None
    max_errors: int | None
    max_host_urls: int | None
    guard_row: int | None
    guard_rate: float | None
    guard_after: int
    guard_pauses: int
    adaptive: int
    active_s: float
    resumed_at: float | None
    stored_policies: bytes | None
    task_id: int | None
    """Known where there are policies."""
    told_at: float

    @property
    def policies(self) -> Policies:
        """How items are compared and pages revisited."""
        return decode_policies(self.stored_policies)

    def within_limits(self, verdict: Close, sums: Sums) -> Close:
        """The verdict as the limits allow it: a page beyond them closes as skipped."""
        if verdict.state != "done":
            return verdict
        if self.max_pages is not None and self.done + sums.done >= self.max_pages:
            return Close("skipped", reason=f"{LIMIT}max_pages", status=verdict.status)
        if self.max_items is not None and self.items + sums.items >= self.max_items:
            return Close("skipped", reason=f"{LIMIT}max_items", status=verdict.status)
        return verdict

    def item_room(self, sums: Sums) -> int | None:
        """How many more items may be stored; None: any number."""
        return None if self.max_items is None else self.max_items - self.items - sums.items

    def limit_reason(self, sums: Sums = NOTHING) -> str:
        """Which limit is reached with these sums, in words; empty when none is."""
        reached = (
            ("max_pages", self.max_pages, self.done + sums.done),
            ("max_items", self.max_items, self.items + sums.items),
            ("max_errors", self.max_errors, self._failed(sums)),
        )
        for name, limit, count in reached:
            if limit is not None and count >= limit:
                return f"{LIMIT}{name} {limit} reached"
        return ""

    def guard_reason(self, sums: Sums) -> str:
        """What a guard has to say about the run with these sums; empty when nothing."""
        if self.guard_row is not None and self.failures_row >= self.guard_row:
            return f"{GUARD}{self.failures_row} failures in a row"
        failed = self._failed(sums)
        finished = self.done + sums.done + self.missing + sums.missing + failed
        is_telling = self.guard_rate is not None and finished >= self.guard_after
        if is_telling and self.guard_rate is not None and failed > self.guard_rate * finished:
            return f"{GUARD}{failed} of {finished} requests failed"
        return ""

    def _failed(self, sums: Sums) -> int:
        return self.dead + self.broken + sums.dead + sums.broken


def read(connection: Connection, run_id: int) -> LedgerRun | None:
    """A run by its id; None when it is gone."""
    found = row(connection, SQL.run, (run_id,))
    return LedgerRun(*found) if found else None
