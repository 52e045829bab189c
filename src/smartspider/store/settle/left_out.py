"""Leave out links that become no request, and count them with requests that are skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

import msgspec

from smartspider.core.pages.rules import OWN_PAGE
from smartspider.core.requests.refusal import LeftOutLink, Refusal, RefusalCode
from smartspider.core.requests.request import Request
from smartspider.store import statements
from smartspider.store.database import Connection, RowCursor
from smartspider.store.settle.run import CounterDeltas, LedgerRun

SQL = statements.load("left_out.sql", __package__)

LINKS_KEPT = 50_000
"""Links of a run that are stored and counted for one reason; beyond that, the count says "at least"."""
URL_LENGTH = 4096
"""A longer URL is stored as its beginning."""

ReasonKey = tuple[RefusalCode, bool]
"""A code, and whether it refuses next pages."""


class ReasonCount(msgspec.Struct):
    """The links and the skipped requests that a run left out for one reason."""

    links: int = 0
    requests: int = 0
    is_cut: int = 0


class LeftOutCounts:
    """The counts of a run by reason: read when first needed, written once. The transaction locks the run."""

    def __init__(self, connection: Connection, run_id: int) -> None:
        self._connection = connection
        self._run_id = run_id
        self._query: RowCursor | None = None
        self._loaded: dict[ReasonKey, ReasonCount] | None = None
        self._changed: set[ReasonKey] = set()
        self.added: Counter[str] = Counter()
        """The URLs left out since it was opened, by code."""

    def ask(self) -> None:
        """Send the query for the counts, which will be needed; they are read with the next result."""
        if self._query is None:
            self._query = self._connection.execute(SQL.counts, (self._run_id,))

    def room(self, key: ReasonKey) -> int:
        """Return how many more links may be stored for a reason."""
        return LINKS_KEPT - self._counts().setdefault(key, ReasonCount()).links

    def count_links(self, key: ReasonKey, by: int) -> None:
        """Count links into or out of a reason."""
        self._change(key, by).links += by

    def count_requests(self, key: ReasonKey, by: int) -> None:
        """Count skipped requests into or out of a reason."""
        self._change(key, by).requests += by

    def cut(self, key: ReasonKey) -> None:
        """Mark that there were more links than are counted."""
        if not self._counts().setdefault(key, ReasonCount()).is_cut:
            self._change(key, 0).is_cut = 1

    def write(self) -> None:
        """Write the changed counts."""
        counts = self._counts() if self._changed else {}
        records = [
            (self._run_id, code, is_next_page, *msgspec.structs.astuple(counts[code, is_next_page]))
            for code, is_next_page in sorted(self._changed)
        ]
        self._connection.executemany(SQL.set_count, records)
        self._changed.clear()

    def _change(self, key: ReasonKey, by: int) -> ReasonCount:
        self._changed.add(key)
        if by > 0:
            self.added[key[0]] += by
        return self._counts().setdefault(key, ReasonCount())

    def _counts(self) -> dict[ReasonKey, ReasonCount]:
        if self._loaded is None:
            self.ask()
            assert self._query is not None  # noqa: S101 - asked for in the line above
            self._loaded = {
                (code, bool(is_next)): ReasonCount(*counts) for code, is_next, *counts in self._query
            }
        return self._loaded


class Requests(Protocol):
    """The requests of a run, as far as a settle has to know them."""

    @property
    def created(self) -> Collection[bytes]:
        """The fingerprints of the rows that the settle creates."""

    def knows(self, fingerprint: bytes) -> bool:
        """Return whether a request has a row, or will have one."""


class LeftOutLinks:
    """The links that pages of a settle do not lead to. A link has a row here, or a request has one, never
    both.
    """

    def __init__(
        self, connection: Connection, run: LedgerRun, deltas: CounterDeltas, counts: LeftOutCounts
    ) -> None:
        self._connection = connection
        self._run_id = run.run_id
        self._has_rows = run.left_out > 0
        self._deltas = deltas
        self.counts = counts
        self._reported: dict[bytes, tuple[int, LeftOutLink]] = {}

    def add(self, parent_id: int, links: Iterable[LeftOutLink]) -> None:
        """Leave out links of a page."""
        for link in links:
            before = self._reported.get(link.fingerprint)
            if before is None or (link.is_next_page and not before[1].is_next_page):
                self._reported[link.fingerprint] = (parent_id, link)

    def add_requests(self, parent_id: int, requests: Sequence[Request], refusal: Refusal) -> None:
        """Leave out requests that a page leads to."""
        links = [
            LeftOutLink(request.fingerprint, request.url, refusal, is_list_page(request))
            for request in requests
        ]
        self.add(parent_id, links)

    def write(self, requests: Requests) -> None:
        """Write the rows of new links, and delete those of links that became requests."""
        created = requests.created if self._has_rows else ()
        if not created and not self._reported:
            return
        self.counts.ask()
        stored = self._stored({*created, *self._reported}) if self._has_rows else {}
        new = [
            (parent_id, link)
            for one, (parent_id, link) in sorted(self._reported.items())
            if not requests.knows(one) and (one not in stored or self._is_upgrade(link, stored[one]))
        ]
        again = {link.fingerprint for _, link in new}
        self._drop({one: key for one, key in stored.items() if one in again or requests.knows(one)})
        records = [self._record(parent_id, link) for parent_id, link in new if self._has_room(link)]
        self._connection.executemany(SQL.add_link, records)

    @staticmethod
    def _is_upgrade(link: LeftOutLink, stored: ReasonKey) -> bool:
        """Return whether a link that is stored as a plain one turns out to be a next page."""
        return link.is_next_page and not stored[1]

    def _stored(self, prints: Iterable[bytes]) -> dict[bytes, ReasonKey]:
        keys = [(self._run_id, one) for one in sorted(prints)]
        found = self._connection.executemany(SQL.find_link, keys)
        return {one: (code, bool(is_next_page)) for one, code, is_next_page in found}

    def _drop(self, found: dict[bytes, ReasonKey]) -> None:
        self._connection.executemany(SQL.drop_link, [(self._run_id, one) for one in sorted(found)])
        for key in found.values():
            self.counts.count_links(key, -1)
        self._deltas.left_out -= len(found)

    def _has_room(self, link: LeftOutLink) -> bool:
        key = (link.refusal.code, link.is_next_page)
        if self.counts.room(key) <= 0:
            self.counts.cut(key)
            return False
        self.counts.count_links(key, 1)
        self._deltas.left_out += 1
        return True

    def _record(self, parent_id: int, link: LeftOutLink) -> tuple[object, ...]:
        refusal = link.refusal
        return (
            *(self._run_id, link.fingerprint, refusal.code, link.is_next_page),
            *(clean_text(refusal.detail), clean_text(link.url), parent_id),
        )


def is_list_page(request: Request) -> bool:
    """Return whether a request is the next page of a list; further sitemaps are none."""
    return request.is_next_page and not request.page.startswith(OWN_PAGE)


def clean_text(text: str) -> str:
    """Return the beginning of a text as every database can store it."""
    return text[:URL_LENGTH].encode("utf-8", "replace").decode().replace("\0", "%00")
