"""Extraction rules: the compiled form of `selectors`, `follow` and `pagination`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from smartspider.core.pages.files import FilePlan

RuleType = Literal[
    "css", "xpath", "jmespath", "regex", "const", "meta",
    "json_ld", "microdata", "opengraph", "state", "feed",
    "article", "product", "list", "tables", "links", "markdown",
]  # fmt: skip
"""The language of a rule. From `json_ld` on, `expr` is a JMESPath into the page's data in that format, and
optional: without it the rule returns all of the data.
"""

EXPRESSIONS = frozenset({"css", "xpath", "jmespath", "regex", "const", "meta"})
"""Types that require `expr`."""


class ValueRule(msgspec.Struct, frozen=True):
    """The rule of one value: its location and how to read it."""

    type: str
    """A `RuleType`, or a reference to a function (`core/functions.py`)."""
    expr: Any
    many: bool = False
    default: Any = None
    required: bool = False
    attr: str | None = None
    join: str | None = None
    is_raw: bool = False
    within: str | None = None
    """`in` of a JMESPath rule: CSS of the elements (or `::attr()`) whose text is the JSON to search."""
    fields: dict[str, FieldRule] = {}
    """Each match is an object with these fields, evaluated relative to it."""
    steps: tuple[dict[str, Any], ...] = ()


class FirstOf(msgspec.Struct, frozen=True):
    """Alternatives: the first rule that matches supplies the value."""

    rules: tuple[FieldRule, ...]


class NestedRule(msgspec.Struct, frozen=True):
    """An object of rules: a nested item."""

    fields: dict[str, FieldRule]


FieldRule = ValueRule | FirstOf | NestedRule


class FollowRequest(msgspec.Struct, frozen=True):
    """A request built from a matched value: `{value}` and fields of the item by `{name}` are substituted."""

    url: str | None = None
    """None: the matched value is the URL."""
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: Any = None
    """Text, or JSON with templates in its strings."""
    variables: dict[str, Any] = {}
    """Further values for templates; fields of the item take precedence."""


class FollowRule(msgspec.Struct, frozen=True):
    """A rule for links to follow."""

    rule: ValueRule
    to: str
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    priority: int = 0
    max_depth: int | None = None
    carry: tuple[str, ...] = ()
    """Fields of the link's item that are passed on as `meta`; the rule is then evaluated inside items."""
    request: FollowRequest | None = None


class NextLinkPagination(msgspec.Struct, frozen=True):
    """Follow the link that a rule matches, until none matches."""

    rule: ValueRule


class PageParamPagination(msgspec.Struct, frozen=True):
    """Increment a page number in the query. `start` is the number of the first page after the entry."""

    param: str
    start: int = 2
    step: int = 1
    stop: int | None = None
    """The last number, inclusive; None: stop at a page without items."""


class OffsetPagination(msgspec.Struct, frozen=True):
    """Increment an offset in the query by `size`."""

    param: str
    size: int
    limit_param: str | None = None
    stop: int | None = None


class CursorPagination(msgspec.Struct, frozen=True):
    """Copy a cursor from each response into the next request, until it is null."""

    expr: str
    param: str
    into: Literal["query", "body"] = "query"


class HeaderLinkPagination(msgspec.Struct, frozen=True):
    """Follow `rel=next` of the Link header."""


Pagination = (
    NextLinkPagination | PageParamPagination | OffsetPagination | CursorPagination | HeaderLinkPagination
)


class DateCutoff(msgspec.Struct, frozen=True):
    """Stop paginating once all dates in a field are older than `moment`, or than `age_s` seconds."""

    field: str
    age_s: float | None = None
    moment: float | None = None


class StopConditions(msgspec.Struct, frozen=True):
    """Conditions that end pagination before the last page."""

    empty: bool = False
    """The page has no items. Page numbers and offsets without `stop` always end there."""
    seen: bool = False
    """All items of the page are already stored."""
    older_than: DateCutoff | None = None


PageKind = Literal["rules", "sitemap", "robots", "file"]

OWN_PAGE = "@"
"""Prefix of built-in page types."""
ROBOTS_PAGE = "@robots"
"""The type of robots.txt as a list of sitemaps."""
ROBOTS_RULES_PAGE = "@robots.txt"
"""The type of robots.txt as the rules of its origin, which no row is about."""
TOKEN_PAGE = "@token"  # noqa: S105 - the name of a page type
"""The type of answers with the token of a layer, which no row is about."""
SITEMAP_PAGE = "@sitemap"
"""The type of sitemaps from robots.txt or default locations; those of the task are `@sitemap:0`, ..."""


class SitemapPlan(msgspec.Struct, frozen=True):
    """Rules for the pages listed in a sitemap."""

    to: str
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    newer_age_s: float | None = None
    newer_moment: float | None = None
    """Only pages changed since, by age or by date. Pages without a date are included."""
    max_bytes: int = 20_000_000
    """Maximum decompressed size."""
    method: str = "GET"
    """The method of requests for the pages."""


class PagePlan(msgspec.Struct, frozen=True):
    """A page type: its items, the links to follow and its pagination."""

    name: str
    items: tuple[ValueRule, ...] = ()
    """Alternatives: the first that matches. Empty: the page is one item."""
    fields: dict[str, FieldRule] = {}
    follow: tuple[FollowRule, ...] = ()
    pagination: Pagination | None = None
    stop_when: StopConditions = StopConditions()
    emits: bool = True
    """Store the items. Otherwise `follow` only carries their fields."""
    kind: PageKind = "rules"
    """`sitemap` and `robots` are built-in page types, whose links are the entries of those files; an answer
    of type `file` is stored as a file.
    """
    sitemap: SitemapPlan | None = None
    """For the kind `sitemap`."""
    file: FilePlan | None = None
    """For the kind `file`."""
    obeys_nofollow: bool = True
    """Skip links marked `rel=nofollow` or covered by `<meta name=robots>`."""
