"""Settling the pages of one run inside a transaction: the heart of the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import msgspec

from smartspider.backends.sql import events, statements
from smartspider.backends.sql.children import ChildRows
from smartspider.backends.sql.closing import closed_event, replaces
from smartspider.backends.sql.connection import Connection
from smartspider.backends.sql.items import item_storing
from smartspider.backends.sql.ledger_run import LedgerRun, read
from smartspider.backends.sql.notes import StepNotes
from smartspider.backends.sql.recrawl import FORGOTTEN, REMEMBERED, Memory
from smartspider.backends.sql.sums import Sums
from smartspider.backends.sql.trouble import HostTrouble
from smartspider.core.events import Event, FetchRetried, GuardTripped
from smartspider.core.failpoints import reach
from smartspider.core.lease import Lease
from smartspider.core.live import PROGRESS_EVERY_S
from smartspider.core.request import Request
from smartspider.core.runs import ACCEPTS_PAGES, RunState
from smartspider.core.verdict import Close, Retry, Settlement, UrlState
from smartspider.interfaces.ledger import SettleReport

SQL = statements.load("ledger.sql")


def settle_run(
    connection: Connection,
    run_id: int,
    settlements: Sequence[Settlement],
    *,
    now: float,
    clock_shift: float,
) -> SettleReport:
    """Carry out the verdicts on one run's leases."""
    run = read(connection, run_id)
    if run is None or run.state not in ACCEPTS_PAGES:
        return _refuse(connection, run, settlements, now)
    return RunSettling(connection, run, now, clock_shift).settle(settlements)


class RunSettling:
    """Carries out verdicts for a run that takes pages. One object per run and transaction."""

    def __init__(self, connection: Connection, run: LedgerRun, now: float, clock_shift: float) -> None:
        self._connection = connection
        self._run = run
        self._run_id = run.run_id
        self._now = now
        self._clock_shift = clock_shift
        self._sums = Sums()
        self._events: list[Event] = []
        self._stored: list[int] = []
        self._continued: list[int] = []
        self._states: dict[int, UrlState] = {}
        self._opened_again: set[int] = set()
        self._freed: set[int] = set()
        self._closes: list[tuple[object, ...]] = []
        self._notes = StepNotes(connection, run.run_id)
        self._items = item_storing(connection, run, self._sums)
        self._memory = self._page_memory()
        self._children = ChildRows(connection, run, self._sums, now, self._memory)
        self._guard_before = run.guard_reason(self._sums)

    def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        """All verdicts, then what follows from them for hosts and run."""
        connection = self._connection
        hosts: dict[int, int] = {}
        keys = [(settlement.lease.url_id,) for settlement in settlements]
        for url_id, state, host_id, visit in connection.executemany(SQL.row_state, keys):
            self._states[url_id] = state
            hosts[url_id] = host_id
            if visit:
                self._opened_again.add(url_id)
        trouble = HostTrouble(connection, self._run_id, self._now, is_adaptive=bool(self._run.adaptive))
        for settlement in settlements:
            host_id = hosts[settlement.lease.url_id]
            verdict = settlement.verdict
            late = self._sums.late
            match verdict:
                case Close():
                    self._close(settlement, verdict)
                case Retry():
                    self._retry(settlement, verdict)
                case _:
                    assert_never(verdict)
            self._sums.bytes_read += settlement.bytes_read
            self._sums.duplicate_urls += settlement.duplicate_urls
            self._freed.add(host_id)
            trouble.hear(host_id, settlement, is_late=self._sums.late > late)
        reach("settle.decided")
        connection.executemany(SQL.close, self._closes)
        reach("settle.closed")
        self._items.write()
        reach("settle.items")
        self._notes.write()
        self._note_sends(settlements)
        self._events += trouble.settle(self._sums)
        for host_id in self._freed:
            connection.moves.host_freed(host_id, self._now)
        self._keep_sums()
        reach("settle.counted")
        sums = self._sums
        return SettleReport(
            *(sums.closed, sums.late, sums.total, sums.items),
            *(self._events, self._stored, self._continued),
        )

    def _page_memory(self) -> Memory | None:
        run = self._run
        if run.stored_policies is None or not run.policies.recrawl.looks_back:
            return None
        return Memory(self._connection, self._run_id, run.policies, self._now)

    def _close(self, settlement: Settlement, verdict: Close) -> None:
        """Close a row, unless someone was first."""
        url_id = settlement.lease.url_id
        if self._is_of_earlier_visit(settlement.lease, verdict):
            self._sums.late += 1
            return
        is_first = replaces(verdict.state, self._states[url_id])
        if is_first and verdict.is_unchanged:
            recalled = self._memory.recall(settlement.lease.request, verdict) if self._memory else None
            if recalled is None:
                self._ask_in_full(settlement)
                return
            verdict = recalled
        self._connection.moves.end(settlement.lease)
        if not is_first:
            self._sums.late += 1
            return
        if verdict.landed is None:
            is_stored = self._store_page(url_id, verdict, settlement)
        else:
            is_stored = self._land(settlement, verdict, verdict.landed)
        if is_stored:
            self._stored.append(url_id)

    def _is_of_earlier_visit(self, lease: Lease, verdict: Close) -> bool:
        """Whether a failure is old news about a row that was opened again: only who holds it now may fail it.

        A page that came is welcome from everybody.
        """
        if lease.url_id not in self._opened_again or verdict.state in ("done", "redirect"):
            return False
        return not self._connection.moves.holds(lease)

    def _ask_in_full(self, settlement: Settlement) -> None:
        """The page did not change, but what it held is not known any more: it is asked for again, whole."""
        lease = settlement.lease
        if self._memory is not None:
            self._memory.ask_in_full(lease.url_id, lease.request)
        self._retry(settlement, Retry(0.0, FORGOTTEN, status=304, counts=False))

    def _land(self, settlement: Settlement, verdict: Close, landed: Request) -> bool:
        """A redirect that ended on its own host: both rows close at once, the landing page is stored once."""
        source_id = settlement.lease.url_id
        page = msgspec.structs.replace(verdict, state="done", reason="", landed=None)
        target_id, state = self._children.row_for(landed, source_id)
        self._states.setdefault(target_id, state)
        if target_id == source_id:
            return self._store_page(source_id, page, settlement)
        source = Close("redirect", reason=f"to {landed.url}", status=verdict.status)
        self._write_close(source_id, source, settlement, target_id=target_id)
        if self._memory is not None:
            self._memory.remember(settlement.lease.request, source)
        if not replaces("done", self._states[target_id]):
            return False
        is_stored = self._store_page(target_id, page, settlement, landed=landed)
        self._connection.moves.forget(self._run_id, target_id)
        return is_stored

    def _store_page(
        self, url_id: int, verdict: Close, settlement: Settlement, *, landed: Request | None = None
    ) -> bool:
        """Write a page as the limits allow; whether its children were added."""
        stored = self._run.within_limits(verdict, self._sums)
        kept = self._items.add(url_id, stored)
        self._write_close(url_id, stored, settlement, items=kept.stored, landed=landed)
        if self._memory is not None and stored.state in REMEMBERED:
            self._memory.remember(landed or settlement.lease.request, verdict)
        self._children.add(url_id, stored.children, is_led_on=stored.state == "redirect")
        if kept.has_new and stored.state == verdict.state:
            self._children.add(url_id, stored.next_pages)
            self._continued.append(settlement.lease.url_id)
        return stored.state == verdict.state

    def _write_close(
        self,
        url_id: int,
        verdict: Close,
        settlement: Settlement,
        *,
        items: int = 0,
        target_id: int | None = None,
        landed: Request | None = None,
    ) -> None:
        is_failure = verdict.state in ("dead", "broken")
        self._closes.append(
            (
                *(verdict.state, verdict.reason or None, verdict.status, items),
                target_id,
                self._now,
                is_failure,
                url_id,
            )
        )
        self._sums.count(self._states[url_id], -1)
        self._sums.count(verdict.state)
        self._states[url_id] = verdict.state
        self._sums.closed += 1
        self._sums.rejected += len(verdict.rejected)
        if verdict.rejected or verdict.changes or verdict.counts:
            self._notes.hear(url_id, verdict)
        if is_failure:
            self._run.failures_row += 1
            self._add_attempt(settlement, verdict.status, verdict.reason)
        elif verdict.state != "skipped":
            self._run.failures_row = 0
        self._events.append(closed_event(landed or settlement.lease.request, verdict, settlement, items))

    def _retry(self, settlement: Settlement, verdict: Retry) -> None:
        lease = settlement.lease
        moves = self._connection.moves
        if not moves.holds(lease):
            self._sums.late += 1
            return
        if self._states[lease.url_id] != "open":
            moves.end(lease)
            return
        moves.postpone(lease, self._now + verdict.delay_s)
        self._add_attempt(settlement, verdict.status, verdict.reason)
        if verdict.counts:
            self._run.failures_row += 1
            self._connection.execute(SQL.count_failure, (1, lease.url_id))
        self._sums.retries += 1
        host, url = lease.request.host, lease.request.url
        self._events.append(
            FetchRetried(self._run_id, host, url, verdict.reason, lease.attempts + 1, verdict.delay_s)
        )
        reach("settle.retried")

    def _add_attempt(self, settlement: Settlement, status: int | None, reason: str) -> None:
        url_id = settlement.lease.url_id
        self._connection.execute(SQL.add_attempt, (url_id, self._now, status, reason, settlement.elapsed_s))
        self._connection.execute(SQL.trim_attempts, (url_id,))

    def _note_sends(self, settlements: Sequence[Settlement]) -> None:
        sends = [
            (
                *(
                    self._children.host_ids[send.host],
                    send.at - self._clock_shift,
                    settlement.lease.token.counter,
                ),
                *(self._run_id, send.delay_s),
            )
            for settlement in settlements
            for send in settlement.sends
        ]
        if sends:
            self._connection.executemany(SQL.add_send, sends)

    def _keep_sums(self) -> None:
        run, sums = self._run, self._sums
        self._connection.execute(
            SQL.settle_run,
            (
                *(run.next_url, run.next_item, run.failures_row, sums.total, sums.done, sums.redirect),
                *(sums.missing, sums.skipped, sums.dead, sums.broken, sums.items, sums.rejected),
                *(sums.duplicates, sums.updated, sums.duplicate_urls, sums.retries, sums.late),
                *(sums.bytes_read, self._run_id),
            ),
        )
        state: RunState = "stopping"
        reason = run.limit_reason(sums)
        if not reason:
            state, reason = "paused", self._guard()
        events.tell(self._connection, self._events, self._now)
        if reason and run.state == "running":
            active_s = run.active_s + (self._now - (run.resumed_at or self._now))
            self._connection.execute(SQL.set_run_state, (state, reason, active_s, None, self._run_id))
            events.tell_state(self._connection, self._run_id, ("running", state, reason), self._now)
        elif self._now - run.told_at >= PROGRESS_EVERY_S:
            events.tell_progress(self._connection, self._run_id, self._now)

    def _guard(self) -> str:
        """Why a guard pauses the run; that it would is told once, also where it only tells."""
        reason = self._run.guard_reason(self._sums)
        if reason and not self._guard_before:
            self._events.append(GuardTripped(self._run_id, reason))
        return reason if self._run.guard_pauses else ""


def _refuse(
    connection: Connection, run: LedgerRun | None, settlements: Sequence[Settlement], now: float
) -> SettleReport:
    """The run takes no pages: nothing is added, the leases end, what is open waits for the run again."""
    for settlement in settlements:
        connection.moves.release(settlement.lease, now)
    if run is not None:
        connection.execute("UPDATE run SET late = late + ? WHERE id = ?", (len(settlements), run.run_id))
    return SettleReport(late=len(settlements))
