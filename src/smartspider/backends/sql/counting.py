"""What a settle means for its run: sums, limits and guards. Runs inside a transaction."""

from __future__ import annotations

from smartspider.backends.sql import events, statements
from smartspider.backends.sql.connection import Connection
from smartspider.backends.sql.ledger_run import LedgerRun
from smartspider.backends.sql.sums import Sums
from smartspider.core.events import Event, GuardTripped
from smartspider.core.live import PROGRESS_EVERY_S
from smartspider.core.runs import RunState

SQL = statements.load("ledger.sql")


class RunCount:
    """Keeps the sums of a run, and stops or pauses it where a limit is reached or a guard trips."""

    def __init__(self, connection: Connection, run: LedgerRun, now: float) -> None:
        self._connection = connection
        self._run = run
        self._now = now
        self._guard_before = run.guard_reason(Sums())

    def keep(self, sums: Sums, happened: list[Event]) -> None:
        """Add the sums; what follows is told, and joins what happened."""
        run = self._run
        self._connection.execute(
            SQL.settle_run,
            (
                *(run.next_url, run.next_item, run.failures_row, sums.total, sums.done, sums.redirect),
                *(sums.missing, sums.skipped, sums.dead, sums.broken, sums.items, sums.rejected),
                *(sums.duplicates, sums.updated, sums.duplicate_urls, sums.retries, sums.late),
                *(sums.bytes_read, run.run_id),
            ),
        )
        state: RunState = "stopping"
        reason = run.limit_reason(sums)
        if not reason:
            state, reason = "paused", self._guard(sums, happened)
        events.tell(self._connection, happened, self._now)
        if reason and run.state == "running":
            active_s = run.active_s + (self._now - (run.resumed_at or self._now))
            self._connection.execute(SQL.set_run_state, (state, reason, active_s, None, run.run_id))
            events.tell_state(self._connection, run.run_id, ("running", state, reason), self._now)
        elif self._now - run.told_at >= PROGRESS_EVERY_S:
            events.tell_progress(self._connection, run.run_id, self._now)

    def _guard(self, sums: Sums, happened: list[Event]) -> str:
        """Why a guard pauses the run; that it would is told once, also where it only tells."""
        reason = self._run.guard_reason(sums)
        if reason and not self._guard_before:
            happened.append(GuardTripped(self._run.run_id, reason))
        return reason if self._run.guard_pauses else ""
