"""Settling the requests of one run inside a transaction: the core of the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

import msgspec

from smartspider.core.events import CookiesInvalid, Event, FetchRetried, UrlsLeftOut
from smartspider.core.failpoints import reach
from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.verdict import Close, RetryLater, Settlement, UrlState
from smartspider.core.requests.refusal import Refusal, refusal_code
from smartspider.core.requests.request import Request
from smartspider.core.requests.urls import path_of
from smartspider.core.runs.run import ACCEPTS_PAGES
from smartspider.interfaces.ledger import SettleReport
from smartspider.store import cookies, statements
from smartspider.store.database import Connection, RowCursor, rows
from smartspider.store.frontier_updates import SUSPECT_AFTER
from smartspider.store.settle import children
from smartspider.store.settle.attempts import (
    FailedAttempts,
    closed_event,
    closing_cause,
    record_sends,
    replaces,
)
from smartspider.store.settle.children import ChildRows, KnownRows
from smartspider.store.settle.files import FileOutcomes
from smartspider.store.settle.host_health import HostHealth
from smartspider.store.settle.items import item_writer
from smartspider.store.settle.left_out import LeftOutCounts, LeftOutLinks, ReasonKey
from smartspider.store.settle.list_pages import ListPage, ListPages
from smartspider.store.settle.recrawl import FORGOTTEN, REMEMBERED, PageMemory
from smartspider.store.settle.run import CounterDeltas, LedgerRun, RunCounters
from smartspider.store.settle.step_log import StepLog

SQL = statements.load("settle.sql", __package__)

NO_SKIP: ReasonKey = ("other", False)
SAME_TARGET = 2
"""Requests that are redirected to one page before it counts as a page for whatever is not there."""
NOTHING_NEW = Refusal("stop_when", "stop_when.seen: no item of the page is new")


def settle_run(
    connection: Connection,
    run_id: int,
    settlements: Sequence[Settlement],
    *,
    now: float,
    clock_shift: float,
) -> SettleReport:
    """Apply the verdicts on the leases of a run. All queries are sent before the first result is read."""
    run_query = connection.execute(SQL.run, (run_id,))
    keys = [(settlement.lease.url_id,) for settlement in settlements]
    row_query = connection.executemany(SQL.row_state, keys)
    health = HostHealth(connection, run_id, settlements, now)
    child_query = children.query_known_rows(connection, run_id, children.closes_of(settlements))
    found = run_query.fetchone()
    run = LedgerRun(*found) if found else None
    if run is None or run.state not in ACCEPTS_PAGES:
        return _refuse(connection, run, settlements, now)
    settling = RunSettlement(connection, run, health, now, clock_shift)
    settling.load(row_query, child_query)
    return settling.settle(settlements)


class RunSettlement:
    """Applies verdicts for a run that accepts pages. One object per run and transaction.

    Everything is decided first, in the order of the settlements; then each kind of row is written at once.
    """

    def __init__(
        self, connection: Connection, run: LedgerRun, health: HostHealth, now: float, clock_shift: float
    ) -> None:
        self._connection = connection
        self._run = run
        self._run_id = run.run_id
        self._health = health
        self._now = now
        self._clock_shift = clock_shift
        self._deltas = CounterDeltas()
        self._events: list[Event] = []
        self._stored: list[int] = []
        self._continued: list[int] = []
        self._cookies: dict[int, int] = {}
        self._redirected: dict[int, set[str]] = {}
        """Paths of the requests that this settle closes as redirects, by their targets."""
        self._states: dict[int, UrlState] = {}
        self._hosts: dict[int, int] = {}
        self._visits: dict[int, int] = {}
        self._attempts: dict[int, int] = {}
        self._closes: dict[int, tuple[object, ...]] = {}
        self._failures = FailedAttempts(connection, now)
        self._forgotten: list[int] = []
        self._skips: dict[int, ReasonKey] = {}
        if run.task_id is not None:
            connection.execute(SQL.share_task, (run.task_id,))
        self._step_log = StepLog(connection, run.run_id)
        self._files = FileOutcomes(connection, run.run_id)
        self._lists = ListPages(connection)
        self._parents: dict[int, int] = {}
        """The pages that led to next pages."""
        self._items = item_writer(connection, run, self._deltas)
        self._memory = self._page_memory()
        self._counts = LeftOutCounts(connection, run.run_id)
        self._left_out = LeftOutLinks(connection, run, self._deltas, self._counts)
        self._children = ChildRows(
            connection, run, self._deltas, now, memory=self._memory, left_out=self._left_out
        )
        self._counters = RunCounters(connection, run, now)
        health.is_adaptive = bool(run.adaptive)

    def load(self, row_query: RowCursor, child_query: KnownRows) -> None:
        """Read the results of the queries sent before."""
        for url_id, state, host_id, visit, attempts, is_next_page, cause, parent_id in row_query:
            self._states[url_id] = state
            self._hosts[url_id] = host_id
            self._visits[url_id] = visit
            self._attempts[url_id] = attempts
            self._skips[url_id] = (cause or "other", bool(is_next_page))
            if is_next_page and parent_id is not None:
                self._parents[url_id] = parent_id
        self._children.load(child_query)
        self._health.load()

    def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        """Apply all verdicts, then their consequences for hosts and run."""
        settlements = self._recall_unchanged(settlements)
        self._items.load_keys(children.closes_of(settlements))
        self._lists.load(self._asked_lists(settlements))
        for settlement in settlements:
            verdict = settlement.verdict
            late = self._deltas.late
            match verdict:
                case Close():
                    self._close(settlement, verdict)
                case RetryLater():
                    self._retry(settlement, verdict)
                case _:
                    assert_never(verdict)
            self._deltas.bytes_read += settlement.bytes_read
            self._deltas.duplicate_urls += settlement.duplicate_urls
            if (news := settlement.cookie_news) is not None:
                what = (news.set_id, news.title, news.owner, news.reason)
                self._events.append(CookiesInvalid(self._run_id, *what))
            host_id = self._hosts[settlement.lease.url_id]
            self._health.record(host_id, settlement, is_late=self._deltas.late > late)
        reach("settle.decided")
        self._write(settlements)
        deltas = self._deltas
        return SettleReport(
            *(deltas.closed, deltas.late, deltas.total, deltas.items),
            *(self._events, self._stored, self._continued, self._cookies),
        )

    def _write(self, settlements: Sequence[Settlement]) -> None:
        connection = self._connection
        self._children.write()
        self._left_out.write(self._children)
        connection.executemany(SQL.close, [self._closes[url_id] for url_id in sorted(self._closes)])
        for url_id in self._forgotten:
            connection.frontier.forget(self._run_id, url_id)
        reach("settle.closed")
        self._items.write()
        self._lists.write()
        reach("settle.items")
        self._step_log.write()
        self._files.write()
        if self._memory is not None:
            self._memory.write()
        self._failures.write()
        self._write_cookies(settlements)
        record_sends(connection, self._run_id, settlements, self._clock_shift)
        self._events += self._health.write(self._deltas, self._counts)
        self._counts.write()
        self._events += [UrlsLeftOut(self._run_id, code, count) for code, count in self._counts.added.items()]
        for host_id in sorted(set(self._hosts.values())):
            connection.frontier.host_freed(host_id, self._now)
        self._counters.add(self._deltas, self._events)
        reach("settle.counted")

    def _write_cookies(self, settlements: Sequence[Settlement]) -> None:
        changed = [cookie for settlement in settlements for cookie in settlement.cookies]
        if changed:
            self._run.cookie_version += 1
            cookies.write(self._connection, self._run_id, self._run.cookie_version, changed)
            self._cookies = {self._run_id: self._run.cookie_version}

    def _recall_unchanged(self, settlements: Sequence[Settlement]) -> Sequence[Settlement]:
        """Return the settlements with the remembered content of unchanged pages; `is_unchanged` stays set
        where it is unknown.
        """
        if self._memory is None:
            return settlements
        self._memory.load(settlements)
        recalled = [self._memory.recall(settlement) for settlement in settlements]
        again = [
            new.verdict
            for old, new in zip(settlements, recalled, strict=True)
            if new is not old and isinstance(new.verdict, Close)
        ]
        if again:
            self._children.load(children.query_known_rows(self._connection, self._run_id, again))
        return recalled

    def _page_memory(self) -> PageMemory | None:
        run = self._run
        if run.stored_policies is None or not run.policies.recrawl.needs_history:
            return None
        return PageMemory(self._connection, self._run_id, run.policies, self._now)

    def _close(self, settlement: Settlement, verdict: Close) -> None:
        """Close a row, unless it is closed already."""
        url_id = settlement.lease.url_id
        if verdict.state not in ("done", "redirect") and self._is_outdated(settlement.lease):
            self._deltas.late += 1
            self._connection.frontier.release(settlement.lease, self._now)
            return
        is_first = replaces(verdict.state, self._states[url_id])
        if is_first and verdict.is_unchanged:
            self._request_in_full(settlement)
            return
        verdict = self._lost_elsewhere(verdict)
        self._connection.frontier.end(settlement.lease)
        if not is_first:
            self._deltas.late += 1
            return
        if verdict.outcome is not None:
            self._files.add(settlement.lease.request, verdict, verdict.outcome)
        if verdict.landed is None:
            is_stored = self._store_page(url_id, verdict, settlement)
        else:
            is_stored = self._land(settlement, verdict, verdict.landed)
        if is_stored:
            self._stored.append(url_id)

    def _is_outdated(self, lease: Lease) -> bool:
        """Return whether a failure belongs to an earlier visit of a reopened row: only the present lease may
        fail it. A fetched page is accepted from any lease.
        """
        visit = self._visits[lease.url_id]
        return visit > 0 and (lease.visit < visit or not self._connection.frontier.holds(lease))

    def _request_in_full(self, settlement: Settlement) -> None:
        """Request an unchanged page again without its version, since its content is no longer stored."""
        lease = settlement.lease
        if self._memory is not None:
            self._memory.request_in_full(lease.url_id, lease.request)
        self._retry(settlement, RetryLater(0.0, FORGOTTEN, status=304, counts=False))

    def _land(self, settlement: Settlement, verdict: Close, landed: Request) -> bool:
        """Close both rows of a redirect that ended on its own host; the landing page is stored once."""
        source_id = settlement.lease.url_id
        page = msgspec.structs.replace(verdict, state="done", reason="", landed=None)
        target_id, state = self._children.row_for(landed, source_id)
        self._states.setdefault(target_id, state)
        self._skips.setdefault(target_id, self._children.skipped_landings.get(target_id, NO_SKIP))
        if target_id == source_id:
            return self._store_page(source_id, page, settlement)
        is_known = not replaces("done", self._states[target_id])
        reason = self._reason_of_loss(settlement, landed, target_id) if is_known else ""
        if reason:
            lost = Close("dead", reason, verdict.status, cause="known_page")
            self._write_close(source_id, lost, settlement, target_id=target_id)
            return False
        source = Close("redirect", reason=f"to {landed.url}", status=verdict.status)
        self._write_close(source_id, source, settlement, target_id=target_id)
        self._redirected.setdefault(target_id, set()).add(path_of(settlement.lease.request.url))
        if self._memory is not None:
            self._memory.remember(settlement.lease.request, source)
        if is_known:
            return False
        if not self._children.is_new(landed):
            self._forgotten.append(target_id)
        self._children.land(landed, target_id)
        return self._store_page(target_id, page, settlement, landed=landed)

    def _lost_elsewhere(self, verdict: Close) -> Close:
        """Return the verdict on a redirect to another host; its request is lost if the target is known as a
        page of another type.
        """
        if verdict.state != "redirect" or verdict.landed is not None or verdict.outcome is not None:
            return verdict
        for target in verdict.children:
            page = self._children.page_of(target)
            if page != target.page:
                return Close("dead", known_as(target.url, page), verdict.status, cause="known_page")
        return verdict

    def _reason_of_loss(self, settlement: Settlement, landed: Request, target_id: int) -> str:
        """Return why a request that was redirected to a known page is lost; empty if it is another name of
        that page: one of the type it was followed for, which not every request is redirected to.
        """
        page = self._children.page_of(landed)
        if page != landed.page:
            return known_as(landed.url, page)
        paths = {path_of(url) for (url,) in rows(self._connection, SQL.redirected_to, (target_id,))}
        if paths or self._children.is_new(landed):
            paths |= self._redirected.get(target_id, set())
        others = len(paths - {path_of(settlement.lease.request.url)})
        if others < SAME_TARGET:
            return ""
        return f"redirected to {landed.url}, as {others} other requests were: gone, or signed out?"

    def _store_page(
        self, url_id: int, verdict: Close, settlement: Settlement, *, landed: Request | None = None
    ) -> bool:
        """Write a page within the limits. Return whether its children were added."""
        source = settlement.lease
        page = ListPage(url_id, (landed or source.request).url)
        judged = self._lists.judge(page, self._parents.get(source.url_id), verdict)
        is_repeated = judged is not verdict
        self._deltas.duplicates += len(verdict.items) - len(judged.items)
        verdict = judged
        stored = self._run.within_limits(verdict, self._deltas)
        kept = self._items.add(url_id, stored)
        self._write_close(url_id, stored, settlement, items=kept.stored, landed=landed)
        if self._memory is not None and stored.state in REMEMBERED:
            self._memory.remember(landed or settlement.lease.request, verdict)
        self._children.add(url_id, stored.children, is_redirected=stored.state == "redirect")
        is_stored = stored.state == verdict.state
        if is_stored:
            self._items.record_page((landed or settlement.lease.request).page, url_id, stored)
            self._leave_out(url_id, stored)
        if kept.has_new and is_stored:
            self._children.add(url_id, stored.next_pages)
            self._continued.append(settlement.lease.url_id)
        elif is_stored and stored.next_pages:
            self._left_out.add_requests(url_id, stored.next_pages, NOTHING_NEW)
        return is_stored and not is_repeated

    def _asked_lists(self, settlements: Sequence[Settlement]) -> Iterator[tuple[int, bytes]]:
        for settlement in settlements:
            verdict, url_id = settlement.verdict, settlement.lease.url_id
            if isinstance(verdict, Close) and verdict.list_digest and url_id in self._parents:
                yield self._parents[url_id], verdict.list_digest

    def _leave_out(self, url_id: int, page: Close) -> None:
        """Leave out the refused links of a page."""
        self._left_out.add(url_id, page.left_out)
        if page.links_dropped:
            self._counts.cut(("trap", False))

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
        self._closes[url_id] = (
            *(verdict.state, verdict.reason or None, closing_cause(verdict)),
            *(verdict.status, items),
            target_id,
            self._now,
            None if verdict.state == "skipped" else settlement.proxy_id,
            None if verdict.state == "skipped" else settlement.cookies_id,
            url_id,
        )
        self._count_state(url_id, verdict)
        self._deltas.closed += 1
        self._deltas.rejected += len(verdict.rejected)
        if verdict.rejected or verdict.changes or verdict.counts:
            self._step_log.record(url_id, verdict)
        if is_failure:
            self._run.failures_row += 1
            self._failures.count(url_id)
            self._failures.record(settlement, verdict)
        elif verdict.state != "skipped":
            self._run.failures_row = 0
        self._events.append(closed_event(landed or settlement.lease.request, verdict, settlement, items))

    def _count_state(self, url_id: int, verdict: Close) -> None:
        """Count a row out of its old state and into the new one."""
        before = self._states[url_id]
        if before == "skipped" or verdict.state == "skipped":
            code, is_next_page = self._skips.get(url_id, NO_SKIP)
            if before == "skipped":
                self._counts.count_requests((code, is_next_page), -1)
            if verdict.state == "skipped":
                self._counts.count_requests((refusal_code(verdict.cause), is_next_page), 1)
        self._deltas.count(before, -1)
        self._deltas.count(verdict.state)
        self._deltas.files += verdict.state == "done" and verdict.outcome is not None
        self._states[url_id] = verdict.state

    def _retry(self, settlement: Settlement, verdict: RetryLater) -> None:
        lease = settlement.lease
        frontier = self._connection.frontier
        if lease.visit < self._visits[lease.url_id] or not frontier.holds(lease):
            self._deltas.late += 1
            frontier.release(lease, self._now)
            return
        if self._states[lease.url_id] != "open":
            frontier.end(lease)
            return
        frontier.postpone(lease, self._now + verdict.delay_s, is_alone=verdict.is_alone)
        if verdict.is_alone:
            self._connection.execute(SQL.suspect, (SUSPECT_AFTER, lease.url_id, SUSPECT_AFTER))
        if self._attempts[lease.url_id] > lease.attempts:  # it was committed before, and the reply was lost
            self._deltas.late += 1
            return
        self._failures.record(settlement, verdict)
        if verdict.counts:
            self._run.failures_row += 1
            self._failures.count(lease.url_id)
        self._deltas.retries += 1
        host, url = lease.request.host, lease.request.url
        self._events.append(
            FetchRetried(
                *(self._run_id, host, url, verdict.reason, lease.attempts + 1, verdict.delay_s),
                cause=verdict.cause,
            )
        )
        reach("settle.retried")


def known_as(url: str, page: str) -> str:
    """Return why a request that was redirected to a page of another type is lost."""
    return f"redirected to {url}, fetched before as page type {page!r}: gone, or signed out?"


def _refuse(
    connection: Connection, run: LedgerRun | None, settlements: Sequence[Settlement], now: float
) -> SettleReport:
    """End the leases of a run that accepts no pages. Nothing is added; open rows wait until the run is
    resumed.
    """
    for settlement in settlements:
        connection.frontier.release(settlement.lease, now)
    if run is not None:
        connection.execute(SQL.late, (len(settlements), run.run_id))
    return SettleReport(late=len(settlements))
