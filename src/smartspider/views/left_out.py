"""Views of what a run left out."""

from __future__ import annotations

import msgspec

from smartspider.core.frontier.cause import CauseCode
from smartspider.core.requests.refusal import RefusalCode


class LeftOutExample(msgspec.Struct, frozen=True):
    """A URL that was left out. `parent` is the page that links to it, null for an entry URL."""

    url: str
    parent: str | None
    detail: str
    """The rule that refuses it."""


class LeftOutView(msgspec.Struct, frozen=True):
    """The URLs that a run left out for one reason. `reason` is stable and meant for programs."""

    reason: RefusalCode
    is_next_page: bool
    """True for next pages of lists, which cut a crawl short."""
    count: int
    is_at_least: bool
    """True if there were more links than are counted."""
    example: LeftOutExample | None
    others: list[LeftOutExample]
    """Further examples, of next pages only."""


class LeftOutLinkView(msgspec.Struct, frozen=True):
    """A link that a page of the run has and that was not followed. `reason` is stable and meant for
    programs.
    """

    reason: RefusalCode
    detail: str
    """The rule that refuses it."""
    url: str
    parent: str | None
    """The first page that links to it."""
    is_next_page: bool


class LostPage(msgspec.Struct, frozen=True):
    """A next page that failed or does not exist, or a request that did not bring what it was followed for."""

    url: str
    state: str
    reason: str
    cause: CauseCode | None
    """Why, for programs. Something else came if it is `signed_out` (a login form), `known_page` (a page
    fetched for something else) or `no_items`.
    """


class UnmatchedPages(msgspec.Struct, frozen=True):
    """A page type whose rules for items found nothing on any page."""

    page: str
    pages: int
    example: str
    """The URL of the first of them."""


class UndecodablePages(msgspec.Struct, frozen=True):
    """Pages with bytes that are no characters of their charset; in values they are U+FFFD."""

    count: int
    example: str
    """The URL of the first of them."""


class CoverageGap(msgspec.Struct, frozen=True):
    """Pages that brought less than others of their type."""

    page: str
    field: str | None
    """The field without a value; null: the pages have no item."""
    count: int
    of: int
    """Pages of the type; for a field, those with items."""
    example: str
    """The URL of the first of them."""
