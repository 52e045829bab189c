"""Verdicts: the outcome of a leased request. `engine/retry_or_close.py` decides, the ledger applies."""

from __future__ import annotations

from typing import Literal

import msgspec

from smartspider.core.cookies.jar import Cookie
from smartspider.core.frontier.cause import CauseCode
from smartspider.core.frontier.lease import Lease
from smartspider.core.pages.extraction import Item, RejectedItem, StepCount, ValueChange
from smartspider.core.pages.files import FileOutcome
from smartspider.core.requests.recrawl import PageVersion
from smartspider.core.requests.refusal import LeftOutLink
from smartspider.core.requests.request import Request

UrlState = Literal["open", "done", "redirect", "missing", "skipped", "dead", "broken"]
"""open: still to be fetched · done: stored · redirect: redirected to another URL · missing: 404 or 410 ·
skipped: closed by a rule without a fetch · dead: buried after failures · broken: fetched but unreadable.
"""

ClosedState = Literal["done", "redirect", "missing", "skipped", "dead", "broken"]


Culprit = Literal["url", "host", "proxy", "cookies"]
"""Whose fault a failure is. One failure has one culprit."""


class News(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An observation about one subject of a request; each kind of subject has a struct of its own."""

    reason: str = ""


class HostNews(News, frozen=True, gc=False):
    """Observations about the host, for its gate."""

    is_unreachable: bool = False
    """The host gave no response (refused, dropped, timeout): counts towards the circuit."""
    slow_down: bool = False
    hold_s: float | None = None
    """Put the host on hold for so long (Retry-After)."""


class CookieNews(News, frozen=True, gc=False):
    """A set of cookies was set aside: its site no longer knows the login."""

    set_id: int
    title: str
    owner: str


class Validators(msgspec.Struct, frozen=True, gc=False):
    """The version of a page: fingerprint of its content, and the server's ETag and Last-Modified."""

    content: bytes
    version: PageVersion = PageVersion()


class Close(msgspec.Struct, frozen=True):
    """Close the request: set the state of its row, and store items and children with it."""

    state: ClosedState
    reason: str = ""
    status: int | None = None
    items: list[Item] = []
    keys: list[tuple[bytes, ...]] = []
    """Fingerprints that identify each item, in item order; empty if items are not compared."""
    children: list[Request] = []
    next_pages: list[Request] = []
    """Children that are added only if an item is new or items are not compared."""
    links: list[Request] = []
    """All requests the page links to, known ones included; filled if later runs check for changes."""
    rejected: list[RejectedItem] = []
    changes: list[ValueChange] = []
    counts: dict[str, StepCount] = {}
    validators: Validators | None = None
    """The version for conditional requests of later runs; None if there will be none."""
    is_unchanged: bool = False
    """The server answered 304 Not Modified: items and links are those an earlier run stored."""
    landed: Request | None = None
    """With state `redirect` on the same host: the final request of the chain, which owns items and children.
    """
    cause: CauseCode | None = None
    """Why, for programs, unless it is done or redirected as it should: with state `skipped` a refusal."""
    left_out: list[LeftOutLink] = []
    """Links of the page that become no request."""
    links_dropped: int = 0
    """Links beyond the maximum of a page that are not even in `left_out`."""
    outcome: FileOutcome | None = None
    """The outcome of a request for a file."""
    brought: bool | None = None
    """True if the page has an item with a value; None if its type has no rules for items."""
    has_undecodable: bool = False
    """The page has bytes that are no characters of its charset."""
    list_digest: bytes = b""
    """Of a page of a list: equal for pages that bring the same. Empty if it brought nothing."""


class RetryLater(msgspec.Struct, frozen=True):
    """Retry after `delay_s`. `counts` is False if the failure is not the URL's."""

    delay_s: float
    reason: str
    status: int | None = None
    counts: bool = True
    is_alone: bool = False
    """The request is a suspect from now on: the next worker holds no other lease."""
    cause: CauseCode = "other"


Verdict = Close | RetryLater


class PreviousSend(msgspec.Struct, frozen=True, gc=False):
    """A request that another crawl of this machine sent to a host, with the delay in force for it."""

    at: float
    delay_s: float


class SentRequest(msgspec.Struct, frozen=True, gc=False):
    """A request sent to a host, at a time of the worker's monotonic clock."""

    host: str
    at: float
    delay_s: float
    previous: PreviousSend | None = None
    """The request before it, if another crawl of this machine sent that one."""


class Settlement(msgspec.Struct, frozen=True):
    """A verdict with its lease, observations, and costs."""

    lease: Lease
    verdict: Verdict
    news: tuple[News, ...] = ()
    """At most one of each kind."""
    bytes_read: int = 0
    elapsed_s: float = 0.0
    waited_s: float = 0.0
    """Part of `elapsed_s` spent waiting for send windows."""
    duplicate_urls: int = 0
    """Links of the page that the worker's filter knew already."""
    sends: tuple[SentRequest, ...] = ()
    """Requests sent to hosts with a delay, as a record of politeness."""
    cookies: tuple[Cookie, ...] = ()
    """Cookies of the run that changed before this was settled, and are not stored yet."""
    proxy_id: int | None = None
    """The proxy of a pool that its last request went through."""
    cookies_id: int | None = None
    """The cookies of the vault that it was sent with."""

    @property
    def cookie_news(self) -> CookieNews | None:
        """The observation about cookies of the vault, if there is one."""
        return next((news for news in self.news if isinstance(news, CookieNews)), None)

    @property
    def host_news(self) -> HostNews | None:
        """The observation about the host, if there is one."""
        for news in self.news:
            if isinstance(news, HostNews):
                return news
        return None
