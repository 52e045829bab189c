"""Settling the pages of one run inside a transaction: the heart of the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import apsw
import msgspec

from smartspider.backends.sqlite import gate as gates
from smartspider.backends.sqlite import queue, statements
from smartspider.backends.sqlite.database import row, rows
from smartspider.backends.sqlite.ids import first_id
from smartspider.backends.sqlite.ledger_run import LedgerRun
from smartspider.backends.sqlite.sums import Sums
from smartspider.backends.sqlite.trouble import HostTrouble
from smartspider.core.events import Event, FetchRetried, GuardTripped, PageBuried, PageClosed
from smartspider.core.failpoints import reach
from smartspider.core.request import NO_EXTRAS, Request
from smartspider.core.runs import ACCEPTS_PAGES
from smartspider.core.verdict import Close, Retry, Settlement, UrlState

SQL = statements.load("ledger.sql")

_encode = msgspec.json.Encoder().encode


class RunSettling:
    """Carries out the verdicts on one run's leases. One object per run and transaction."""

    def __init__(self, connection: apsw.Connection, run_id: int, now: float, clock_shift: float) -> None:
        self._connection = connection
        self._run_id = run_id
        self._now = now
        self._clock_shift = clock_shift
        self.sums = Sums()
        self.events: list[Event] = []
        self.stored: list[int] = []
        self._host_ids: dict[str, int] = {}
        self._host_urls: dict[int, int] = {}
        self._states: dict[int, UrlState] = {}
        self._freed: set[int] = set()
        self._closes: list[tuple[object, ...]] = []
        self._items: list[tuple[int, int, str]] = []
        found = row(connection, SQL.run, (run_id,))
        self._run = LedgerRun(*found) if found else None
        self._guard_before = self._run.guard_reason(self.sums) if self._run else ""

    def settle(self, settlements: Sequence[Settlement]) -> None:
        """All verdicts, then what follows from them for hosts and run."""
        if self._run is None or self._run.state not in ACCEPTS_PAGES:
            self._refuse(settlements)
            return
        connection = self._connection
        hosts: dict[int, int] = {}
        keys = [(settlement.lease.url_id,) for settlement in settlements]
        for url_id, state, host_id in connection.executemany(SQL.row_state, keys):
            self._states[url_id] = state
            hosts[url_id] = host_id
        trouble = HostTrouble(connection, self._run_id, self._now, is_adaptive=bool(self._run.adaptive))
        for settlement in settlements:
            host_id = hosts[settlement.lease.url_id]
            verdict = settlement.verdict
            late = self.sums.late
            match verdict:
                case Close():
                    self._close(settlement, verdict)
                case Retry():
                    self._retry(settlement, verdict)
                case _:
                    assert_never(verdict)
            self.sums.bytes_read += settlement.bytes_read
            self.sums.duplicate_urls += settlement.duplicate_urls
            self._freed.add(host_id)
            trouble.hear(host_id, settlement, is_late=self.sums.late > late)
        reach("settle.decided")
        connection.executemany(SQL.close, self._closes)
        reach("settle.closed")
        connection.executemany(SQL.add_item, self._items)
        reach("settle.items")
        self._note_sends(settlements)
        self.events += trouble.settle(self.sums)
        for host_id in self._freed:
            gates.reopen_lanes(connection, host_id, self._now)
        self._keep_sums(self._run)
        reach("settle.counted")

    def _refuse(self, settlements: Sequence[Settlement]) -> None:
        """The run takes no pages: nothing is added, the leases end, what is open waits for the run again."""
        self.sums.late += len(settlements)
        for settlement in settlements:
            lease = settlement.lease
            queue.give_back(self._connection, (lease.url_id, lease.token.counter), self._now)
        if self._run is not None:
            self._connection.execute(
                "UPDATE run SET late = late + ? WHERE id = ?", (len(settlements), self._run_id)
            )

    def _close(self, settlement: Settlement, verdict: Close) -> None:
        """Close a row, unless someone was first."""
        url_id = settlement.lease.url_id
        is_first = _replaces(verdict.state, self._states[url_id])
        self._end_lease(settlement)
        if not is_first:
            self.sums.late += 1
            return
        if verdict.landed is None:
            is_stored = self._store_page(url_id, verdict, settlement)
        else:
            is_stored = self._land(settlement, verdict, verdict.landed)
        if is_stored:
            self.stored.append(url_id)

    def _land(self, settlement: Settlement, verdict: Close, landed: Request) -> bool:
        """A redirect that ended on its own host: both rows close at once, the landing page is stored once."""
        source_id = settlement.lease.url_id
        page = msgspec.structs.replace(verdict, state="done", reason="", landed=None)
        target_id = self._row_for(landed, source_id)
        if target_id == source_id:
            return self._store_page(source_id, page, settlement)
        source = Close("redirect", reason=f"to {landed.url}", status=verdict.status)
        self._write_close(source_id, source, settlement, target_id=target_id)
        if not _replaces("done", self._states[target_id]):
            return False
        is_stored = self._store_page(target_id, page, settlement, landed=landed)
        self._forget(target_id)
        return is_stored

    def _store_page(
        self, url_id: int, verdict: Close, settlement: Settlement, *, landed: Request | None = None
    ) -> bool:
        """Write a page as the limits allow; whether its children were added."""
        assert self._run is not None  # noqa: S101 - checked by settle
        stored = self._run.within_limits(verdict, self.sums)
        self._write_close(url_id, stored, settlement, landed=landed)
        self._add_items(url_id, stored)
        self._add_children(url_id, stored.children)
        return stored.state == verdict.state

    def _write_close(
        self,
        url_id: int,
        verdict: Close,
        settlement: Settlement,
        *,
        target_id: int | None = None,
        landed: Request | None = None,
    ) -> None:
        is_failure = verdict.state in ("dead", "broken")
        items = len(verdict.items)
        self._closes.append(
            (
                *(verdict.state, verdict.reason or None, verdict.status, items),
                target_id,
                self._now,
                is_failure,
                url_id,
            )
        )
        self.sums.count(self._states[url_id], -1)
        self.sums.count(verdict.state)
        self._states[url_id] = verdict.state
        self.sums.closed += 1
        self.sums.rejected += verdict.rejected
        assert self._run is not None  # noqa: S101 - checked by settle
        if is_failure:
            self._run.failures_row += 1
            self._add_attempt(settlement, verdict.status, verdict.reason)
        elif verdict.state != "skipped":
            self._run.failures_row = 0
        self.events.append(_closed_event(landed or settlement.lease.request, verdict, settlement))

    def _add_items(self, url_id: int, verdict: Close) -> None:
        run = self._run
        assert run is not None  # noqa: S101 - checked by settle
        number = first_id(self._run_id) + run.next_item
        for item in verdict.items:
            self._items.append((number, url_id, _encode(item).decode()))
            number += 1
        run.next_item += len(verdict.items)
        self.sums.items += len(verdict.items)

    def _add_children(self, parent_id: int, children: Sequence[Request]) -> None:
        """Insert what nobody knew, and queue it."""
        if not children:
            return
        kept = self._within_budget(children)
        records = [self._record(child, parent_id) for child in kept]
        hosts = {record[0]: (record[3], -child.priority) for record, child in zip(records, kept, strict=True)}
        new = [url_id for (url_id,) in self._connection.executemany(SQL.add_url, records)]
        self.sums.total += len(new)
        self.sums.duplicate_urls += len(kept) - len(new)
        reach("settle.children")
        queue.enqueue(self._connection, self._run_id, [queue.Place(url_id, *hosts[url_id]) for url_id in new])
        reach("settle.offered")

    def _within_budget(self, children: Sequence[Request]) -> Sequence[Request]:
        """What the per-host budget of a run leaves of them; counted only where a task sets one."""
        assert self._run is not None  # noqa: S101 - checked by settle
        if self._run.max_host_urls is None:
            return children
        kept: dict[bytes, Request] = {}
        for child in children:
            host_id = self._host_id(child.host)
            if host_id not in self._host_urls:
                self._host_urls[host_id] = self._count_urls(host_id)
            is_known = row(self._connection, SQL.find_url, (self._run_id, child.fingerprint)) is not None
            if is_known or child.fingerprint in kept:
                self.sums.duplicate_urls += 1
            elif self._host_urls[host_id] < self._run.max_host_urls:
                self._host_urls[host_id] += 1
                kept[child.fingerprint] = child
        return list(kept.values())

    def _count_urls(self, host_id: int) -> int:
        ((count,),) = rows(self._connection, SQL.urls_of_host, (self._run_id, host_id))
        return int(count)

    def _record(self, request: Request, parent_id: int | None) -> tuple[int, ...]:
        run = self._run
        assert run is not None  # noqa: S101 - checked by settle
        number = first_id(self._run_id) + run.next_url
        run.next_url += 1
        return url_record(
            number, self._run_id, self._host_id(request.host), request, parent_id=parent_id, now=self._now
        )

    def _row_for(self, request: Request, parent_id: int) -> int:
        """The row of a landing page, made when nobody knew it; its state is known from then on."""
        key = (self._run_id, request.fingerprint)
        found = row(self._connection, SQL.find_url, key)
        if found is None:
            rows(self._connection, SQL.add_url, self._record(request, parent_id))
            self.sums.total += 1
            found = row(self._connection, SQL.find_url, key)
        assert found is not None  # noqa: S101 - it was inserted in this transaction
        self._states.setdefault(found[0], found[1])
        return int(found[0])

    def _retry(self, settlement: Settlement, verdict: Retry) -> None:
        lease = settlement.lease
        if not rows(self._connection, queue.SQL.drop_own_lease, (lease.url_id, lease.token.counter)):
            self.sums.late += 1
            return
        if self._states[lease.url_id] != "open":
            return
        due_at = self._now + verdict.delay_s
        self._connection.execute(queue.SQL.put_later, (lease.url_id, self._run_id, due_at, 0))
        self._add_attempt(settlement, verdict.status, verdict.reason)
        if verdict.counts:
            assert self._run is not None  # noqa: S101 - checked by settle
            self._run.failures_row += 1
            self._connection.execute(SQL.count_failure, (1, lease.url_id))
        self.sums.retries += 1
        host, url = lease.request.host, lease.request.url
        self.events.append(
            FetchRetried(self._run_id, host, url, verdict.reason, lease.attempts + 1, verdict.delay_s)
        )
        reach("settle.retried")

    def _add_attempt(self, settlement: Settlement, status: int | None, reason: str) -> None:
        url_id = settlement.lease.url_id
        self._connection.execute(SQL.add_attempt, (url_id, self._now, status, reason, settlement.elapsed_s))
        self._connection.execute(SQL.trim_attempts, (url_id,))

    def _end_lease(self, settlement: Settlement) -> None:
        """The row is closed, so nobody needs it any more, whoever holds it now."""
        lease = settlement.lease
        dropped = rows(self._connection, queue.SQL.drop_lease, (lease.url_id,))
        if dropped != [(lease.token.counter,)]:
            self._forget(lease.url_id)

    def _forget(self, url_id: int) -> None:
        """Take a closed row out of the frontier, wherever it is there."""
        connection = self._connection
        rows(connection, queue.SQL.drop_lease, (url_id,))
        connection.execute(queue.SQL.drop_later, (url_id,))
        ((host_id, rank),) = rows(connection, queue.SQL.place, (url_id,))
        self._freed.add(host_id)
        lane_id = queue.find_lane(connection, self._run_id, host_id)
        connection.execute(queue.SQL.dequeue, (lane_id, rank, url_id))
        if connection.changes():
            connection.execute(queue.SQL.lane_shrank, (1, lane_id))

    def _note_sends(self, settlements: Sequence[Settlement]) -> None:
        sends = [
            (
                *(self._host_id(send.host), send.at - self._clock_shift, settlement.lease.token.counter),
                *(self._run_id, send.delay_s),
            )
            for settlement in settlements
            for send in settlement.sends
        ]
        if sends:
            self._connection.executemany(SQL.add_send, sends)

    def _keep_sums(self, run: LedgerRun) -> None:
        sums = self.sums
        self._connection.execute(
            SQL.settle_run,
            (
                *(run.next_url, run.next_item, run.failures_row, sums.total, sums.done, sums.redirect),
                *(sums.missing, sums.skipped, sums.dead, sums.broken, sums.items, sums.rejected),
                *(sums.duplicate_urls, sums.retries, sums.late, sums.bytes_read, self._run_id),
            ),
        )
        state, reason = "stopping", run.limit_reason(sums)
        if not reason:
            state, reason = "paused", self._guard(run)
        if reason and run.state == "running":
            active_s = run.active_s + (self._now - (run.resumed_at or self._now))
            self._connection.execute(SQL.set_run_state, (state, reason, active_s, None, self._run_id))

    def _guard(self, run: LedgerRun) -> str:
        """Why a guard pauses the run; that it would is told once, also where it only tells."""
        reason = run.guard_reason(self.sums)
        if reason and not self._guard_before:
            self.events.append(GuardTripped(self._run_id, reason))
        return reason if run.guard_pauses else ""

    def _host_id(self, host: str) -> int:
        host_id = self._host_ids.get(host)
        if host_id is None:
            host_id = self._host_ids[host] = gates.find_host(self._connection, host)
        return host_id


def url_record(
    url_id: int, run_id: int, host_id: int, request: Request, *, parent_id: int | None, now: float
) -> tuple[int, ...]:
    """The values of a new row."""
    extras = None if request.extras is NO_EXTRAS or request.extras == NO_EXTRAS else _encode(request.extras)
    return (  # type: ignore[return-value] # a row of mixed columns, the first is what callers look at
        *(url_id, run_id, request.fingerprint, host_id, request.url, request.page, request.priority),
        *(request.depth, request.is_entry, parent_id, extras, now),
    )


def _closed_event(request: Request, verdict: Close, settlement: Settlement) -> Event:
    """What became of a request, for those who listen."""
    run_id = settlement.lease.run_id
    if verdict.state in ("dead", "broken"):
        return PageBuried(run_id, request.host, request.url, verdict.reason)
    return PageClosed(
        *(run_id, request.host, request.url, verdict.state, verdict.reason, verdict.status),
        len(verdict.items),
        settlement.elapsed_s,
    )


def _replaces(new: UrlState, old: UrlState) -> bool:
    """Done and redirect beat open, dead and skipped; everything else only beats open."""
    if old == "open":
        return True
    return new in ("done", "redirect") and old in ("dead", "skipped")
