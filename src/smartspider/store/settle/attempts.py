"""Attempts of requests: how they closed, why they failed and when they left. Runs inside a transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from smartspider.core.events import Event, PageBuried, PageClosed
from smartspider.core.frontier.verdict import Close, Settlement, UrlState
from smartspider.core.requests.request import Request
from smartspider.store import statements
from smartspider.store.database import Connection
from smartspider.store.hosts import gates

SQL = statements.load("settle.sql", __package__)


def closed_event(request: Request, verdict: Close, settlement: Settlement, items: int) -> Event:
    """What became of a request, for those who listen."""
    run_id = settlement.lease.run_id
    if verdict.state in ("dead", "broken"):
        return PageBuried(run_id, request.host, request.url, verdict.reason, verdict.status)
    return PageClosed(
        *(run_id, request.host, request.url, verdict.state, verdict.reason, verdict.status),
        items,
        settlement.elapsed_s,
        duplicates=max(len(verdict.items) - items, 0),
        bytes_read=settlement.bytes_read,
        waited_s=settlement.waited_s,
    )


def replaces(new: UrlState, old: UrlState) -> bool:
    """Done and redirect beat open, dead and skipped; everything else only beats open."""
    if old == "open":
        return True
    return new in ("done", "redirect") and old in ("dead", "skipped")


class FailedAttempts:
    """How often requests failed, and why: the last few reasons of each are kept."""

    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now
        self._counts: Counter[int] = Counter()
        self._attempts: list[tuple[object, ...]] = []

    def count(self, url_id: int) -> None:
        """It uses up one of the attempts of a request."""
        self._counts[url_id] += 1

    def record(self, settlement: Settlement, status: int | None, reason: str) -> None:
        """Take in what went wrong."""
        record = (settlement.lease.url_id, self._now, status, reason, settlement.elapsed_s)
        self._attempts.append(record)

    def write(self) -> None:
        """Put everything into the store."""
        counts = [(count, url_id) for url_id, count in sorted(self._counts.items())]
        self._connection.executemany(SQL.count_failure, counts)
        self._connection.executemany(SQL.add_attempt, self._attempts)
        failed = dict.fromkeys(attempt[0] for attempt in self._attempts)
        self._connection.executemany(SQL.trim_attempts, [(url_id,) for url_id in failed])


def record_sends(
    connection: Connection, run_id: int, settlements: Sequence[Settlement], clock_shift: float
) -> None:
    """Keep every send of the settlements, each once; `clock_shift` turns their moments into store time."""
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
    connection.executemany(SQL.add_send, sorted(records))
