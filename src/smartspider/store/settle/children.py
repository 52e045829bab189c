"""The rows found on pages: children and landing pages, each created once. Runs inside a transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from smartspider.core.failpoints import reach
from smartspider.core.frontier.verdict import Close, Settlement, UrlState
from smartspider.core.pages.files import FILE_PAGE
from smartspider.core.requests.request import NO_EXTRAS, Request
from smartspider.core.requests.scope import host_is_full
from smartspider.core.runs.run import first_id
from smartspider.store import statements
from smartspider.store.database import Connection, RowCursor, rows
from smartspider.store.frontier_updates import QueueEntry
from smartspider.store.hosts import gates
from smartspider.store.settle.left_out import LeftOutLinks, ReasonKey, is_list_page
from smartspider.store.settle.recrawl import PageMemory
from smartspider.store.settle.run import CounterDeltas, LedgerRun

SQL = statements.load("settle.sql", __package__)

RECRAWL: ReasonKey = ("recrawl", False)
"""Next pages are never skipped because of an earlier visit."""

_encode = msgspec.json.Encoder().encode


class KnownRows(msgspec.Struct, frozen=True):
    """The existing rows among those found on pages: statements sent, results not read yet."""

    known: RowCursor
    landings: RowCursor


def query_known_rows(connection: Connection, run_id: int, closes: Iterable[Close]) -> KnownRows:
    """Send the statements for all pages of a group."""
    prints: set[bytes] = set()
    landings: set[bytes] = set()
    for close in closes:
        prints.update([child.fingerprint for child in close.children])
        prints.update([child.fingerprint for child in close.next_pages])
        prints.update([link.fingerprint for link in close.left_out])
        if close.landed is not None:
            landings.add(close.landed.fingerprint)
        elif close.state == "redirect":
            landings.update([child.fingerprint for child in close.children])
    return KnownRows(
        connection.executemany(SQL.known, [(run_id, one) for one in prints]),
        connection.executemany(SQL.find_url, [(run_id, one) for one in landings]),
    )


def closes_of(settlements: Iterable[Settlement]) -> list[Close]:
    """Return the verdicts that close their requests."""
    return [one.verdict for one in settlements if isinstance(one.verdict, Close)]


class NewRow(msgspec.Struct):
    """A row to create. `is_due`: it is fetched, however recently an earlier run fetched its page."""

    url_id: int
    request: Request
    parent_id: int | None = None
    is_due: bool = False
    is_landed: bool = False


class ChildRows:
    """Decides on the new rows of a settle and creates them at once. `memory` is given if the run has a
    recrawl policy.
    """

    def __init__(
        self,
        connection: Connection,
        run: LedgerRun,
        deltas: CounterDeltas,
        now: float,
        *,
        memory: PageMemory | None,
        left_out: LeftOutLinks,
    ) -> None:
        self._connection = connection
        self._left_out = left_out
        self._run_id = run.run_id
        self._run = run
        self._deltas = deltas
        self._now = now
        self._memory = memory
        self._known: set[bytes] = set()
        self._landings: dict[bytes, tuple[int, UrlState]] = {}
        self._pages: dict[bytes, str] = {}
        """Page types of the known targets of redirects."""
        self._new: dict[bytes, NewRow] = {}
        self._next_pages: dict[bytes, Request] = {}
        self._landed: set[int] = set()
        self._has_children = False
        self.skipped_landings: dict[int, ReasonKey] = {}
        """Why known landing pages were skipped, if they were."""
        self._host_urls: dict[int, int] = {}

    def load(self, known: KnownRows) -> None:
        """Read which rows exist."""
        self._known.update(one for (one,) in known.known)
        for fingerprint, url_id, state, _, is_next_page, cause, page in known.landings:
            self._landings[fingerprint] = (url_id, state)
            self._pages[fingerprint] = page
            self.skipped_landings[url_id] = (cause or "other", bool(is_next_page))

    def add(self, parent_id: int, children: Sequence[Request], *, is_redirected: bool = False) -> None:
        """Add the links of a page. Unknown ones get a row."""
        for child in children:
            self._has_children = True
            is_due = child.is_next_page or is_redirected or child.page.startswith(FILE_PAGE)
            if self._is_known(child, is_due=is_due):
                self._deltas.duplicate_urls += 1
            elif self._run.max_host_urls is None or self._has_room(child.host):
                self._make(child, parent_id, is_due=is_due)
            else:
                refusal = host_is_full(child.host, self._run.max_host_urls)
                self._left_out.add_requests(parent_id, [child], refusal)

    def _is_known(self, child: Request, *, is_due: bool) -> bool:
        new = self._new.get(child.fingerprint)
        if new is not None:
            new.is_due = new.is_due or is_due
            return True
        if child.fingerprint not in self._known:
            return False
        if child.is_next_page:
            self._next_pages[child.fingerprint] = child
        return True

    def _has_room(self, host: str) -> bool:
        """Take one of the URLs that the run may have per host. Return False if none is left."""
        host_id = gates.find_host(self._connection, host)
        if host_id not in self._host_urls:
            ((count,),) = rows(self._connection, SQL.urls_of_host, (self._run_id, host_id))
            self._host_urls[host_id] = int(count)
        has_room = self._host_urls[host_id] < (self._run.max_host_urls or 0)
        self._host_urls[host_id] += has_room
        return has_room

    def _make(self, request: Request, parent_id: int, *, is_due: bool) -> NewRow:
        url_id = first_id(self._run_id) + self._run.next_url
        self._run.next_url += 1
        row = self._new[request.fingerprint] = NewRow(url_id, request, parent_id, is_due)
        return row

    def row_for(self, request: Request, parent_id: int) -> tuple[int, UrlState]:
        """Return the row of a landing page and its state; a new one if it is unknown."""
        if request.fingerprint in self._landings:
            return self._landings[request.fingerprint]
        new = self._new.get(request.fingerprint) or self._make(request, parent_id, is_due=True)
        return new.url_id, "open"

    def page_of(self, target: Request) -> str:
        """Return the page type that the target of a redirect has; it is known to the run, or its own."""
        new = self._new.get(target.fingerprint)
        return self._pages.get(target.fingerprint, target.page if new is None else new.request.page)

    def is_new(self, request: Request) -> bool:
        """Return whether this settle creates the row of a request."""
        return request.fingerprint in self._new

    def knows(self, fingerprint: bytes) -> bool:
        """Return whether a request has a row, or will have one."""
        return fingerprint in self._known or fingerprint in self._new

    @property
    def created(self) -> Collection[bytes]:
        """The fingerprints of the rows that this settle creates."""
        return self._new.keys()

    def land(self, request: Request, url_id: int) -> None:
        """Mark a row whose page came by a redirect: it is not fetched any more."""
        self._landed.add(url_id)
        if request.fingerprint in self._new:
            self._new[request.fingerprint].is_landed = True

    def write(self) -> None:
        """Create the new rows and queue those to fetch."""
        new = list(self._new.values())
        self._deltas.total += len(new)
        left = self._apply_recrawl([row for row in new if not row.is_landed])
        host_ids = gates.find_hosts(self._connection, (row.request.host for row in new))
        records, entries = [], []
        for row in new:
            host = row.request.host
            records.append(url_record(row, self._run_id, host_ids[host], self._now))
            if not row.is_landed and row.url_id not in left:
                entries.append(QueueEntry(row.url_id, host_ids[host], -row.request.priority, host))
        self._connection.executemany(SQL.add_url, records)
        if self._has_children:
            reach("settle.children")
        if left and self._memory is not None:
            self._memory.skip(left)
        entries += self._reopen(len(left))
        if entries:
            self._connection.frontier.offer(self._run_id, entries)
        if self._has_children:
            reach("settle.offered")

    def _apply_recrawl(self, new: Sequence[NewRow]) -> dict[int, str]:
        """Return the rows to skip by the recrawl policy, with the reason. The others get the remembered
        version.
        """
        if self._memory is None or not new:
            return {}
        left = {}
        filtered = self._memory.filter_due([(row.request, row.is_due) for row in new])
        for row, (request, reason) in zip(new, filtered, strict=True):
            row.request = request
            if reason:
                left[row.url_id] = reason
        return left

    def _reopen(self, left: int) -> list[QueueEntry]:
        """Reopen skipped rows that pagination now leads to."""
        reopened: list[QueueEntry] = []
        if self._memory is not None and self._next_pages:
            reopened = self._memory.reopen(list(self._next_pages), excluded=self._landed)
        self._deltas.count("skipped", left - len(reopened))
        if left or reopened:
            self._left_out.counts.count_requests(RECRAWL, left)
            self._left_out.counts.count_requests(RECRAWL, -len(reopened))
        return reopened


def url_record(row: NewRow, run_id: int, host_id: int, now: float) -> tuple[object, ...]:
    """Return the column values of a new row."""
    request = row.request
    url = request.url.replace("\0", "%00")  # the same URL, and valid text in every database
    extras = None if request.extras is NO_EXTRAS or request.extras == NO_EXTRAS else _encode(request.extras)
    return (
        *(row.url_id, run_id, request.fingerprint, host_id, url, request.page, request.priority),
        *(request.depth, request.is_entry, is_list_page(request), row.parent_id, extras, now),
    )
