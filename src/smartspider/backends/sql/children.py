"""The rows that pages lead to: children and landing pages, each made once. Runs inside a transaction."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.backends.sql import hosts, statements
from smartspider.backends.sql.connection import Connection, row, rows
from smartspider.backends.sql.ledger_run import LedgerRun
from smartspider.backends.sql.moves import Spot
from smartspider.backends.sql.recrawl import Memory
from smartspider.backends.sql.sums import Sums
from smartspider.core.failpoints import reach
from smartspider.core.ids import first_id
from smartspider.core.request import NO_EXTRAS, Request
from smartspider.core.verdict import UrlState

SQL = statements.load("ledger.sql")

_encode = msgspec.json.Encoder().encode


class ChildRows:
    """Makes the rows of a settle; `memory` is there where the run looks back at earlier ones."""

    def __init__(
        self, connection: Connection, run: LedgerRun, sums: Sums, now: float, memory: Memory | None
    ) -> None:
        self._connection = connection
        self._run_id = run.run_id
        self._run = run
        self._sums = sums
        self._now = now
        self._memory = memory
        self.host_ids = hosts.HostIds(connection)
        self._host_urls: dict[int, int] = {}

    def add(self, parent_id: int, children: Sequence[Request], *, is_led_on: bool = False) -> None:
        """Insert what nobody knew, and queue it."""
        if not children:
            return
        kept = self._within_budget(children)
        records = [self._record(child, parent_id) for child in kept]
        homes = {record[0]: (record[3], -child.priority) for record, child in zip(records, kept, strict=True)}
        new = [url_id for (url_id,) in self._connection.executemany(SQL.add_url, records)]
        self._sums.total += len(new)
        self._sums.duplicate_urls += len(kept) - len(new)
        reach("settle.children")
        spots = [Spot(url_id, *homes[url_id]) for url_id in new]
        if self._memory is not None:
            requests = {record[0]: child for record, child in zip(records, kept, strict=True)}
            skipped = self._memory.sift([(url_id, requests[url_id]) for url_id in new], is_led_on=is_led_on)
            woken = self._memory.wake(children)
            spots = [spot for spot in spots if spot.url_id not in skipped] + woken
            self._sums.count("skipped", len(skipped) - len(woken))
        self._connection.moves.offer(self._run_id, spots)
        reach("settle.offered")

    def _within_budget(self, children: Sequence[Request]) -> Sequence[Request]:
        """What the per-host budget of a run leaves of them; counted only where a task sets one."""
        if self._run.max_host_urls is None:
            return children
        kept: dict[bytes, Request] = {}
        for child in children:
            host_id = self.host_ids[child.host]
            if host_id not in self._host_urls:
                self._host_urls[host_id] = self._count_urls(host_id)
            is_known = row(self._connection, SQL.find_url, (self._run_id, child.fingerprint)) is not None
            if is_known or child.fingerprint in kept:
                self._sums.duplicate_urls += 1
            elif self._host_urls[host_id] < self._run.max_host_urls:
                self._host_urls[host_id] += 1
                kept[child.fingerprint] = child
        return list(kept.values())

    def _count_urls(self, host_id: int) -> int:
        ((count,),) = rows(self._connection, SQL.urls_of_host, (self._run_id, host_id))
        return int(count)

    def _record(self, request: Request, parent_id: int | None) -> tuple[int, ...]:
        number = first_id(self._run_id) + self._run.next_url
        self._run.next_url += 1
        return url_record(
            number, self._run_id, self.host_ids[request.host], request, parent_id=parent_id, now=self._now
        )

    def row_for(self, request: Request, parent_id: int) -> tuple[int, UrlState]:
        """The row of a landing page and its state; made when nobody knew it."""
        key = (self._run_id, request.fingerprint)
        found = row(self._connection, SQL.find_url, key)
        if found is None:
            rows(self._connection, SQL.add_url, self._record(request, parent_id))
            self._sums.total += 1
            found = row(self._connection, SQL.find_url, key)
        assert found is not None  # noqa: S101 - it was inserted in this transaction
        return found[0], found[1]


def url_record(
    url_id: int, run_id: int, host_id: int, request: Request, *, parent_id: int | None, now: float
) -> tuple[int, ...]:
    """The values of a new row."""
    extras = None if request.extras is NO_EXTRAS or request.extras == NO_EXTRAS else _encode(request.extras)
    return (  # type: ignore[return-value] # a row of mixed columns, the first is what callers look at
        *(url_id, run_id, request.fingerprint, host_id, request.url, request.page, request.priority),
        *(request.depth, request.is_entry, parent_id, extras, now),
    )
