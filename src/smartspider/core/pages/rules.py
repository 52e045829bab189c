"""What to take from a page: the compiled form of `selectors`, `follow` and `pagination`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

RuleType = Literal[
    "css", "xpath", "jmespath", "regex", "const", "meta",
    "json_ld", "microdata", "opengraph", "state", "feed",
    "article", "product", "list", "tables", "links", "markdown",
]  # fmt: skip
"""The language a rule is written in. From `json_ld` on, `expr` is a JMESPath into what the page says of
itself in that form, and may be left out to have all of it."""

EXPRESSIONS = frozenset({"css", "xpath", "jmespath", "regex", "const", "meta"})
"""Types that cannot do without `expr`."""


class ValueRule(msgspec.Struct, frozen=True):
    """One value: where it is and how it is read."""

    type: RuleType
    expr: Any
    many: bool = False
    default: Any = None
    required: bool = False
    attr: str | None = None
    join: str | None = None
    is_raw: bool = False
    within: str | None = None
    """`in` of a JMESPath rule: CSS of the elements (or `::attr()`) whose text is the JSON that is meant."""
    fields: dict[str, FieldRule] = {}
    """Each match is an object with these fields, looked up relative to it."""
    steps: tuple[dict[str, Any], ...] = ()


class FirstOf(msgspec.Struct, frozen=True):
    """Alternatives: the first rule that matches gives the value."""

    rules: tuple[FieldRule, ...]


class NestedRule(msgspec.Struct, frozen=True):
    """An object of rules: a nested item."""

    fields: dict[str, FieldRule]


FieldRule = ValueRule | FirstOf | NestedRule


class FollowRequest(msgspec.Struct, frozen=True):
    """A request made from a found value: `{value}` and the item's fields by `{name}` are put in."""

    url: str | None = None
    """None: the found value is the URL."""
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: Any = None
    """Text, or JSON values with templates in their strings."""
    variables: dict[str, Any] = {}
    """What else names may stand for; a field of the item goes before."""


class FollowRule(msgspec.Struct, frozen=True):
    """Links to go on with."""

    rule: ValueRule
    to: str
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    priority: int = 0
    max_depth: int | None = None
    carry: tuple[str, ...] = ()
    """Fields of the item a link stands in that travel with it as `meta`; the rule then looks inside items."""
    request: FollowRequest | None = None


class NextLinkPagination(msgspec.Struct, frozen=True):
    """The link that a rule finds, until none."""

    rule: ValueRule


class PageParamPagination(msgspec.Struct, frozen=True):
    """A number in the query, `start` on the first page after the entry."""

    param: str
    start: int = 2
    step: int = 1
    stop: int | None = None
    """The last number, inclusive; None: until a page has no item."""


class OffsetPagination(msgspec.Struct, frozen=True):
    """An offset in the query that grows by `size`."""

    param: str
    size: int
    limit_param: str | None = None
    stop: int | None = None


class CursorPagination(msgspec.Struct, frozen=True):
    """A value of the answer that goes into the next request, until it is null."""

    expr: str
    param: str
    into: Literal["query", "body"] = "query"


class HeaderLinkPagination(msgspec.Struct, frozen=True):
    """The `rel=next` of the Link header."""


Pagination = (
    NextLinkPagination | PageParamPagination | OffsetPagination | CursorPagination | HeaderLinkPagination
)


class DateCutoff(msgspec.Struct, frozen=True):
    """A list is over when the dates in a field are all older than a moment, or than so many seconds."""

    field: str
    age_s: float | None = None
    moment: float | None = None


class StopConditions(msgspec.Struct, frozen=True):
    """When pagination ends although there would be a next page."""

    empty: bool = False
    """The page has no item. Numbers and offsets without `stop` always end there."""
    seen: bool = False
    """None of the page's items is new."""
    older_than: DateCutoff | None = None


PageKind = Literal["rules", "sitemap", "robots"]

OWN_PAGE = "@"
"""What the names of page types of our own begin with."""
ROBOTS_PAGE = "@robots"
SITEMAP_PAGE = "@sitemap"
"""The type of sitemaps that were guessed or that robots.txt names; those of the task are `@sitemap:0`, ..."""


class SitemapPlan(msgspec.Struct, frozen=True):
    """What to do with the pages that a sitemap lists."""

    to: str
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    newer_age_s: float | None = None
    newer_moment: float | None = None
    """Only pages changed since, by age or by date; those that do not say are taken."""
    max_bytes: int = 20_000_000
    """Unpacked size at most."""


class PagePlan(msgspec.Struct, frozen=True):
    """A page type: which items it has, what to follow from it, how its pages go on."""

    name: str
    items: tuple[ValueRule, ...] = ()
    """Alternatives: the first that finds something. None at all: the page is one item."""
    fields: dict[str, FieldRule] = {}
    follow: tuple[FollowRule, ...] = ()
    pagination: Pagination | None = None
    stop_when: StopConditions = StopConditions()
    emits: bool = True
    """Its items are rows. Otherwise their fields are only carried along by `follow`."""
    kind: PageKind = "rules"
    """`sitemap` and `robots` are page types of our own: their links are what those files list."""
    sitemap: SitemapPlan | None = None
    """For the kind `sitemap`."""
    obeys_nofollow: bool = True
    """Links that a page asks robots not to follow (`rel=nofollow`, `<meta name=robots>`) are left alone."""
