"""The result of extracting a page: items and links."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.requests.refusal import Refusal
from smartspider.core.requests.request import NO_EXTRAS, Extras

Item = dict[str, Any]
"""A record extracted from a page, with the task's fields in task order."""

EMPTY: tuple[object, ...] = (None, "", [], {})
"""Values that count as none."""


class Link(msgspec.Struct, frozen=True, gc=False):
    """A URL as written in a page, with the options of the rule that found it."""

    href: str
    page: str
    priority: int = 0
    is_pagination: bool = False
    """Pagination adds no depth."""
    max_depth: int | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    """Python regular expressions of the rule, searched in the canonical URL; deny wins."""
    extras: Extras = NO_EXTRAS
    """Method, headers, body and meta of the resulting request."""
    depth: int | None = None
    """Depth of the resulting request; None: derived from the page."""
    refusal: Refusal | None = None
    """Why the link is not followed although a rule finds it, such as `rel=nofollow`."""


LINKS_OVERFLOW = 1000
"""Links beyond the maximum of a page that are kept, refused, to be reported as left out."""


class RejectedItem(msgspec.Struct, frozen=True):
    """A rejected item and the reason. `field` and `value` name the cause where it is known."""

    reason: str
    item: Item
    step: str = ""
    """The step that rejected it, as written in the task: `pipeline[2] range`."""
    field: str = ""
    value: Any = None


class ValueChange(msgspec.Struct, frozen=True):
    """An entry of the cleaning log: the value of a field before and after a step. `item` is its index on the
    page.
    """

    item: int
    step: str
    field: str
    before: Any
    after: Any
    note: str = ""
    """A remark about a value that is a guess."""


class StepCount(msgspec.Struct):
    """Number of values a step processed, by outcome."""

    seen: int = 0
    changed: int = 0
    emptied: int = 0
    """Values the step could not parse, replaced by null."""
    rejected: int = 0
    unsure: int = 0
    """Values that can be read in two ways, of which the step chose the likelier one."""


class Extraction(msgspec.Struct, frozen=True):
    """Items and links of a page. `base` resolves relative links (`<base href>` or the page's URL)."""

    items: list[Item]
    links: list[Link]
    base: str
    rejected: list[RejectedItem] = []
    cleaned: int = 0
    """Values from which a NUL or a lone surrogate was removed."""
    links_dropped: int = 0
    """Links beyond the maximum per page."""
    changes: list[ValueChange] = []
    """The cleaning log of the page, if enabled."""
    counts: dict[str, StepCount] = {}
    """Counts by step name; steps without values may be missing."""
    carries_dropped: int = 0
    """Links whose carried fields were dropped because they were too large."""
    unemitted: list[Item] = []
    """Items of a page type with `emit: false`: their dates still count for `stop_when.older_than`."""
    refusal: Refusal | None = None
    """Why none of the links is followed, such as `nofollow` of the whole page."""
    has_undecodable: bool = False
    """The page has bytes that are no characters of its charset."""
