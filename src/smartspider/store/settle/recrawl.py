"""Pages that the runs of a task remember from run to run. All functions run inside a transaction."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from smartspider.core.frontier.verdict import Close, Settlement, UrlState, Validators
from smartspider.core.pages.extraction import Item
from smartspider.core.requests.recrawl import LastVisit, PageVersion
from smartspider.core.requests.refusal import LeftOutLink
from smartspider.core.requests.request import Request, content_fingerprint
from smartspider.core.runs.plan import Plan
from smartspider.store import statements
from smartspider.store.database import Connection, row
from smartspider.store.frontier_updates import QueueEntry
from smartspider.store.settle.run import Policies

SQL = statements.load("recrawl.sql", __package__)

MAX_PAGE_BYTES = 32_000_000
"""A page that yields more than this is not remembered, and is read anew every time."""

REMEMBERED: frozenset[UrlState] = frozenset({"done", "redirect", "missing"})
"""States after which a page counts as visited."""

FORGOTTEN = "not modified, but its content is no longer stored: requested again in full"

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode


class RememberedPage(msgspec.Struct, frozen=True):
    """The items and links of a page, and the depth it was found at."""

    depth: int
    items: list[Item]
    links: list[Request]
    next_pages: list[Request]
    left_out: list[LeftOutLink] = []


_decode = msgspec.json.Decoder(RememberedPage).decode


class PageMemory:
    """The remembered pages of a task, read and extended by one run."""

    def __init__(self, connection: Connection, run_id: int, policies: Policies, now: float) -> None:
        self._connection = connection
        self._run_id = run_id
        self._recrawl = policies.recrawl
        self._compared = policies.items
        self._now = now
        found = row(connection, SQL.task, (run_id,))
        assert found is not None  # noqa: S101 - a run that looks back has a task row from its creation
        self._task_id, self._spec_hash = found
        self._seen: dict[bytes, tuple[Any, ...]] = {}
        self._held: dict[bytes, tuple[Any, ...]] = {}
        self._looks: dict[bytes, tuple[Any, ...]] = {}

    def load(self, settlements: Sequence[Settlement]) -> None:
        """Look up the remembered pages of a group."""
        closes = [(one.lease.request, one.verdict) for one in settlements if isinstance(one.verdict, Close)]
        prints = {request.fingerprint for request, _ in closes}
        prints.update(close.landed.fingerprint for _, close in closes if close.landed is not None)
        unchanged = {request.fingerprint for request, close in closes if close.is_unchanged}
        seen = self._connection.executemany(SQL.seen, self._keys(prints))
        held = self._connection.executemany(SQL.recall, self._keys(unchanged))
        self._seen = {fingerprint: tuple(rest) for fingerprint, *rest in seen}
        self._held = {fingerprint: tuple(rest) for fingerprint, *rest in held}

    def _keys(self, prints: Iterable[bytes]) -> list[tuple[int, bytes]]:
        return [(self._task_id, one) for one in sorted(prints)]

    def filter_due(self, found: Sequence[tuple[Request, bool]]) -> list[tuple[Request, str]]:
        """Return each new request with the remembered version of its page, and the reason if it is skipped
        for now. A request that is due is always fetched, like entries.
        """
        keys = self._keys({request.fingerprint for request, _ in found})
        seen = {one[0]: one[1:] for one in self._connection.executemany(SQL.visit, keys)}
        return [
            self._filtered(request, seen[request.fingerprint], is_due=is_due)
            if request.fingerprint in seen
            else (request, "")
            for request, is_due in found
        ]

    def _filtered(self, request: Request, seen: Sequence[Any], *, is_due: bool) -> tuple[Request, str]:
        run_id, at, interval_s, etag, last_modified, context, holds_back = seen
        if holds_back and not (is_due or request.is_entry):
            reason = self._recrawl.skip_reason(LastVisit(run_id, at, interval_s), self._now)
            if reason:
                return request, reason
        if self._recrawl.conditional and (etag or last_modified) and context == self._context(request):
            extras = msgspec.structs.replace(request.extras, version=PageVersion(etag, last_modified))
            return msgspec.structs.replace(request, extras=extras), ""
        return request, ""

    def skip(self, reasons: dict[int, str]) -> None:
        """Close new rows with these reasons."""
        records = [(reason, self._now, url_id) for url_id, reason in reasons.items()]
        self._connection.executemany(SQL.leave_alone, records)

    def reopen(self, prints: Sequence[bytes], *, excluded: Collection[int]) -> list[QueueEntry]:
        """Reopen skipped rows of next pages. Return their queue entries."""
        keys = [(self._run_id, one) for one in prints]
        places = [
            QueueEntry(url_id, host_id, -priority)
            for url_id, host_id, priority, cause in self._connection.executemany(SQL.left_alone, keys)
            if url_id not in excluded and cause == "recrawl"
        ]
        self._connection.executemany(SQL.look_after_all, [(entry.url_id,) for entry in places])
        return places

    def remember(self, request: Request, verdict: Close) -> None:
        """Remember a page that was fetched now."""
        validators = verdict.validators
        if validators is None:
            validators = Validators(content_fingerprint(f"{verdict.state} {verdict.reason}".encode()))
        page = self._packed(request, verdict) if validators.version else None
        version = validators.version if page is not None else PageVersion()
        content, changed_at, interval_s = self._seen.get(request.fingerprint, (None, self._now, None))
        has_changed = content != validators.content
        if self._recrawl.is_adaptive:
            interval_s = self._recrawl.next_interval_s(interval_s, has_changed=has_changed)
        changed_at = self._now if has_changed else changed_at
        self._seen[request.fingerprint] = (validators.content, changed_at, interval_s)
        self._looks[request.fingerprint] = (
            *(self._task_id, request.fingerprint, self._run_id, self._now),
            *(changed_at, interval_s, validators.content),
            *(version.etag, version.last_modified, self._context(request), page),
        )

    def write(self) -> None:
        """Write all pages to remember."""
        self._connection.executemany(SQL.remember, [self._looks[one] for one in sorted(self._looks)])

    def recall(self, settlement: Settlement) -> Settlement:
        """Return a settlement with the remembered items and links of its unchanged page; unchanged if they
        are unknown.
        """
        verdict = settlement.verdict
        if not isinstance(verdict, Close) or not verdict.is_unchanged:
            return settlement
        found = self._recall(settlement.lease.request, verdict)
        return settlement if found is None else msgspec.structs.replace(settlement, verdict=found)

    def _recall(self, request: Request, verdict: Close) -> Close | None:
        found = self._held.get(request.fingerprint)
        if found is None:
            return None
        content, etag, last_modified, context, packed = found
        version = PageVersion(etag, last_modified)
        if packed is None or version != request.extras.version or context != self._context(request):
            return None
        try:
            page = _decode(zlib.decompress(packed))
        except (zlib.error, msgspec.MsgspecError):  # written by a version with another encoding
            return None
        down = request.depth - page.depth
        links, next_pages = _at_depth(page.links, down), _at_depth(page.next_pages, down)
        return msgspec.structs.replace(
            verdict,
            items=page.items,
            keys=[self._compared.keys_of(item) for item in page.items] if self._compared.keys else [],
            children=links,
            links=links,
            next_pages=next_pages,
            left_out=page.left_out,
            validators=Validators(content, version),
            is_unchanged=False,
        )

    def request_in_full(self, url_id: int, request: Request) -> None:
        """Send a request without the version from now on."""
        extras = msgspec.structs.replace(request.extras, version=None)
        self._connection.execute(SQL.set_extras, (_encode(extras), url_id))

    def _packed(self, request: Request, verdict: Close) -> bytes | None:
        """Return the items and links of a page, compressed."""
        if not self._recrawl.conditional:
            return None
        links: dict[bytes, Request] = {}
        for link in verdict.links:
            links.setdefault(link.fingerprint, link)
        for next_page in verdict.next_pages:
            links.pop(next_page.fingerprint, None)
        remembered = RememberedPage(
            request.depth, verdict.items, list(links.values()), verdict.next_pages, verdict.left_out
        )
        page = _encode(remembered)
        return zlib.compress(page, 1) if len(page) <= MAX_PAGE_BYTES else None

    def _context(self, request: Request) -> bytes:
        """Return a hash of everything besides the answer that decides what a page yields."""
        depth = request.depth if self._recrawl.is_by_depth else None
        extras = msgspec.structs.replace(request.extras, version=None)
        known = _encode_sorted((self._spec_hash, request.page, extras, depth))
        return blake2b(known, digest_size=16, person=b"smartspider/page").digest()


def open_memory(connection: Connection, run_id: int, plan: Plan, now: float) -> PageMemory | None:
    """Return the memory for a new run; None if its plan has no recrawl policy."""
    if not plan.recrawl.needs_history:
        return None
    return PageMemory(connection, run_id, Policies(plan.items, plan.recrawl), now)


def delete_pages(connection: Connection, run_id: int) -> bool:
    """Delete some of the pages that a run was the last to fetch. Return True while there may be more."""
    connection.execute(SQL.forget, (run_id,))
    return connection.changes() > 0


def _at_depth(links: list[Request], down: int) -> list[Request]:
    """Return the links for a page at another depth."""
    if down == 0:
        return links
    return [msgspec.structs.replace(link, depth=max(link.depth + down, 0)) for link in links]
