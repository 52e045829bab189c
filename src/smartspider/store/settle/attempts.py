"""Attempts of requests: outcomes, failures and send times. All functions run inside a transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from smartspider.core.events import Event, PageBuried, PageClosed
from smartspider.core.frontier.cause import CauseCode
from smartspider.core.frontier.verdict import Close, RetryLater, Settlement, UrlState
from smartspider.core.pages.files import FILE_PAGE
from smartspider.core.requests.request import Request
from smartspider.store import statements
from smartspider.store.database import Connection
from smartspider.store.hosts import gates

SQL = statements.load("settle.sql", __package__)


def closed_event(request: Request, verdict: Close, settlement: Settlement, items: int) -> Event:
    """Return the event for a closed request."""
    run_id, is_file = settlement.lease.run_id, request.page.startswith(FILE_PAGE)
    cause = closing_cause(verdict)
    if verdict.state in ("dead", "broken"):
        return PageBuried(run_id, request.host, request.url, verdict.reason, verdict.status, is_file, cause)
    return PageClosed(
        *(run_id, request.host, request.url, verdict.state, verdict.reason, verdict.status),
        items,
        settlement.elapsed_s,
        duplicates=max(len(verdict.items) - items, 0),
        bytes_read=settlement.bytes_read,
        waited_s=settlement.waited_s,
        is_file=is_file,
        cause=cause,
    )


def closing_cause(verdict: Close) -> CauseCode | None:
    """Return the cause that is stored with a closed request; None if it brought what it was made for."""
    if verdict.cause is None and verdict.state not in ("done", "redirect"):
        return "other"
    return verdict.cause


def replaces(new: UrlState, old: UrlState) -> bool:
    """Return whether a state replaces another: done and redirect replace open, dead and skipped, the others
    only open.
    """
    if old == "open":
        return True
    return new in ("done", "redirect") and old in ("dead", "skipped")


class FailedAttempts:
    """Counts failed attempts, and keeps the last few reasons of each request."""

    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now
        self._counts: Counter[int] = Counter()
        self._attempts: list[tuple[object, ...]] = []

    def count(self, url_id: int) -> None:
        """Use up one of the attempts of a request."""
        self._counts[url_id] += 1

    def record(self, settlement: Settlement, verdict: Close | RetryLater) -> None:
        """Record a failure, with the delay that was in force for its request."""
        delay_s = settlement.sends[-1].delay_s if settlement.sends else None
        self._attempts.append(
            (
                *(settlement.lease.url_id, self._now, verdict.status, verdict.reason),
                *(verdict.cause or "other", settlement.elapsed_s, delay_s),
                settlement.proxy_id,
                settlement.cookies_id,
            )
        )

    def write(self) -> None:
        """Write all recorded failures."""
        counts = [(count, url_id) for url_id, count in sorted(self._counts.items())]
        self._connection.executemany(SQL.count_failure, counts)
        self._connection.executemany(SQL.add_attempt, self._attempts)
        failed = dict.fromkeys(attempt[0] for attempt in self._attempts)
        self._connection.executemany(SQL.trim_attempts, [(url_id,) for url_id in failed])


def record_sends(
    connection: Connection, run_id: int, settlements: Sequence[Settlement], clock_shift: float
) -> None:
    """Store every send of the settlements, each once, and those of other crawls of this machine just before
    them, as sends of the run's negative id. `clock_shift` converts their times to store time.
    """
    sends = [(settlement, send) for settlement in settlements for send in settlement.sends]
    if not sends:
        return
    host_ids = gates.find_hosts(connection, (send.host for _, send in sends))
    records = [
        (
            *(host_ids[send.host], send.at - clock_shift, settlement.lease.token.counter),
            *(run_id, send.delay_s),
        )
        for settlement, send in sends
    ]
    records += [
        (host_ids[send.host], send.previous.at - clock_shift, 0, -run_id, send.previous.delay_s)
        for _, send in sends
        if send.previous is not None
    ]
    connection.executemany(SQL.add_send, sorted(records))
