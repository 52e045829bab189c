"""What runs of a task remember of pages from run to run. Everything here runs inside a transaction."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from smartspider.backends.sql import statements
from smartspider.backends.sql.connection import Connection, row, rows
from smartspider.backends.sql.moves import Spot
from smartspider.backends.sql.policies import Policies
from smartspider.core.extraction import Item
from smartspider.core.fingerprint import content_fingerprint
from smartspider.core.plan import Plan
from smartspider.core.recrawl import Version, Visit, is_left_alone
from smartspider.core.request import Request
from smartspider.core.verdict import Close, UrlState, Validators

SQL = statements.load("recrawl.sql")

MAX_PAGE_BYTES = 32_000_000
"""A page that gave more than this is not remembered, and is read anew every time."""

REMEMBERED: frozenset[UrlState] = frozenset({"done", "redirect", "missing"})
"""States after which a page counts as looked at."""

FORGOTTEN = "not modified, but what it held is no longer known: asked for in full"

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode


class RememberedPage(msgspec.Struct, frozen=True):
    """What a page gave: its items, and where it led from its depth."""

    depth: int
    items: list[Item]
    links: list[Request]
    next_pages: list[Request]


_decode = msgspec.json.Decoder(RememberedPage).decode


class Memory:
    """The pages of a task, as one run looks back at them and adds to them."""

    def __init__(self, connection: Connection, run_id: int, policies: Policies, now: float) -> None:
        self._connection = connection
        self._run_id = run_id
        self._recrawl = policies.recrawl
        self._compared = policies.items
        self._now = now
        found = row(connection, SQL.task, (run_id,))
        assert found is not None  # noqa: S101 - a run that looks back has a task row from its creation
        self._task_id, self._spec_hash = found

    def sift(self, found: Sequence[tuple[int, Request]], *, is_led_on: bool = False) -> set[int]:
        """Close the new rows among these whose page need not be looked at yet; which they are.

        The others are sent with the version that is remembered, where there is one. `is_led_on`: a redirect
        led here, so it is fetched like entries and further pages are.
        """
        skipped: set[int] = set()
        for url_id, request in found:
            seen = row(self._connection, SQL.visit, (self._task_id, request.fingerprint))
            if seen is None:
                continue
            run_id, at, interval_s, etag, last_modified, context, holds_back = seen
            reason = ""
            if holds_back and not (request.is_entry or request.is_next_page or is_led_on):
                reason = self._recrawl.reason_to_wait(Visit(run_id, at, interval_s), self._now)
            if reason:
                skipped.add(url_id)
                self._connection.execute(SQL.leave_alone, (reason, self._now, url_id))
            elif self._recrawl.conditional and (etag or last_modified) and context == self._context(request):
                extras = msgspec.structs.replace(request.extras, version=Version(etag, last_modified))
                self._connection.execute(SQL.set_extras, (_encode(extras), url_id))
        return skipped

    def wake(self, children: Sequence[Request]) -> list[Spot]:
        """Open the rows of further pages that were left alone when a link led to them; their places."""
        places = []
        for request in children:
            if not request.is_next_page:
                continue
            for url_id, host_id, priority, reason in rows(
                self._connection, SQL.left_alone, (self._run_id, request.fingerprint)
            ):
                if is_left_alone(reason or ""):
                    self._connection.execute(SQL.look_after_all, (url_id,))
                    places.append(Spot(url_id, host_id, -priority))
        return places

    def remember(self, request: Request, verdict: Close) -> None:
        """Keep how a page is that was looked at now."""
        validators = verdict.validators
        if validators is None:
            validators = Validators(content_fingerprint(f"{verdict.state} {verdict.reason}".encode()))
        page = self._packed(request, verdict) if validators.version else None
        version = validators.version if page is not None else Version()
        before = row(self._connection, SQL.seen, (self._task_id, request.fingerprint))
        content, changed_at, interval_s = before or (None, self._now, None)
        has_changed = content != validators.content
        if self._recrawl.is_adaptive:
            interval_s = self._recrawl.next_interval_s(interval_s, has_changed=has_changed)
        self._connection.execute(
            SQL.remember,
            (
                *(self._task_id, request.fingerprint, self._run_id, self._now),
                *(self._now if has_changed else changed_at, interval_s, validators.content),
                *(version.etag, version.last_modified, self._context(request), page),
            ),
        )

    def recall(self, request: Request, verdict: Close) -> Close | None:
        """The verdict on an unchanged page with what it held; None when that is no longer known."""
        found = row(self._connection, SQL.recall, (self._task_id, request.fingerprint))
        if found is None:
            return None
        content, etag, last_modified, context, packed = found
        version = Version(etag, last_modified)
        if packed is None or version != request.extras.version or context != self._context(request):
            return None
        try:
            page = _decode(zlib.decompress(packed))
        except (zlib.error, msgspec.MsgspecError):  # written by a version with other words for it
            return None
        down = request.depth - page.depth
        links, next_pages = _moved(page.links, down), _moved(page.next_pages, down)
        return msgspec.structs.replace(
            verdict,
            items=page.items,
            keys=[self._compared.keys_of(item) for item in page.items] if self._compared.keys else [],
            children=links,
            links=links,
            next_pages=next_pages,
            validators=Validators(content, version),
        )

    def ask_in_full(self, url_id: int, request: Request) -> None:
        """Send a request without the version from now on."""
        extras = msgspec.structs.replace(request.extras, version=None)
        self._connection.execute(SQL.set_extras, (_encode(extras), url_id))

    def _packed(self, request: Request, verdict: Close) -> bytes | None:
        """Items and links of a page, small."""
        if not self._recrawl.conditional:
            return None
        links: dict[bytes, Request] = {}
        for link in verdict.links:
            links.setdefault(link.fingerprint, link)
        for next_page in verdict.next_pages:
            links.pop(next_page.fingerprint, None)
        page = _encode(RememberedPage(request.depth, verdict.items, list(links.values()), verdict.next_pages))
        return zlib.compress(page, 1) if len(page) <= MAX_PAGE_BYTES else None

    def _context(self, request: Request) -> bytes:
        """Sixteen bytes for everything besides the answer that decides what a page gives."""
        depth = request.depth if self._recrawl.is_by_depth else None
        extras = msgspec.structs.replace(request.extras, version=None)
        known = _encode_sorted((self._spec_hash, request.page, extras, depth))
        return blake2b(known, digest_size=16, person=b"smartspider/page").digest()


def open_memory(connection: Connection, run_id: int, plan: Plan, now: float) -> Memory | None:
    """The memory of a run that is made; None when its plan does not look back."""
    if not plan.recrawl.looks_back:
        return None
    return Memory(connection, run_id, Policies(plan.items, plan.recrawl), now)


def forget(connection: Connection, run_id: int) -> bool:
    """Forget some of the pages that a run was the last to look at; True while there may be more."""
    connection.execute(SQL.forget, (run_id,))
    return connection.changes() > 0


def _moved(links: list[Request], down: int) -> list[Request]:
    """The same links as a page at another depth leads to them."""
    if down == 0:
        return links
    return [msgspec.structs.replace(link, depth=max(link.depth + down, 0)) for link in links]
