"""A verdict: what happens to a leased request. Decided in `engine/verdicts.py`, carried out by the ledger."""

from __future__ import annotations

from typing import Literal

import msgspec

from smartspider.core.frontier.lease import Lease
from smartspider.core.pages.extraction import Item, RejectedItem, StepCount, ValueChange
from smartspider.core.requests.recrawl import PageVersion
from smartspider.core.requests.request import Request

UrlState = Literal["open", "done", "redirect", "missing", "skipped", "dead", "broken"]
"""open: still to be fetched · done: stored · redirect: led to another URL · missing: 404 or 410 ·
skipped: ended without a fetch, by a rule · dead: buried after failures · broken: fetched, not readable."""

ClosedState = Literal["done", "redirect", "missing", "skipped", "dead", "broken"]


class HostNews(msgspec.Struct, frozen=True, gc=False):
    """What an answer says about its host, for the gate to act on."""

    is_unreachable: bool = False
    """It gave no answer (refused, dropped, timeout): counts towards the circuit."""
    slow_down: bool = False
    hold_s: float | None = None
    """Send nothing for so long (Retry-After)."""
    reason: str = ""


class Validators(msgspec.Struct, frozen=True, gc=False):
    """What identifies a version of a page: the fingerprint of its content, and the server's words for it."""

    content: bytes
    version: PageVersion = PageVersion()


class Close(msgspec.Struct, frozen=True):
    """The request is over: its row gets this state, its items and children are stored with it."""

    state: ClosedState
    reason: str = ""
    status: int | None = None
    items: list[Item] = []
    keys: list[tuple[bytes, ...]] = []
    """What each item is recognised by, in their order; empty when items are not compared."""
    children: list[Request] = []
    next_pages: list[Request] = []
    """Children that are only added when one of the items is new (or items are not compared)."""
    links: list[Request] = []
    """All requests the page leads to, known ones too; filled when later runs ask whether it changed."""
    rejected: list[RejectedItem] = []
    changes: list[ValueChange] = []
    counts: dict[str, StepCount] = {}
    validators: Validators | None = None
    """What a later run may ask with whether the page changed; None when nobody will ask."""
    is_unchanged: bool = False
    """The server said that nothing changed: rows and links are those that an earlier run stored."""
    landed: Request | None = None
    """With state `redirect` on one host: the request the chain ended at; items and children are its own."""


class RetryLater(msgspec.Struct, frozen=True):
    """Try again, not before `delay_s` from now. `counts` is False when the URL is not to blame."""

    delay_s: float
    reason: str
    status: int | None = None
    counts: bool = True


Verdict = Close | RetryLater


class SentRequest(msgspec.Struct, frozen=True, gc=False):
    """A request left for a host, at a moment of the worker's monotonic clock."""

    host: str
    at: float
    delay_s: float


class Settlement(msgspec.Struct, frozen=True):
    """A verdict with the lease it answers, what it says about the host, and what it cost."""

    lease: Lease
    verdict: Verdict
    news: HostNews | None = None
    bytes_read: int = 0
    elapsed_s: float = 0.0
    waited_s: float = 0.0
    """Of that, waiting for send windows."""
    duplicate_urls: int = 0
    """Links of this page that were known already, seen by the worker's filter."""
    sends: tuple[SentRequest, ...] = ()
    """Requests that left for a host with a delay, for the receipt."""
