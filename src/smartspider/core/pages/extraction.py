"""What a page yields: items and links."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.requests.request import NO_EXTRAS, Extras

Item = dict[str, Any]
"""A record found in a page: the task's fields in task order."""


class Link(msgspec.Struct, frozen=True, gc=False):
    """A URL found in a page, as it stands there, and what the rule that found it says about it."""

    href: str
    page: str
    priority: int = 0
    is_pagination: bool = False
    """Pagination adds no depth."""
    max_depth: int | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    """Python regexes of the rule, searched in the canonical URL; deny wins."""
    extras: Extras = NO_EXTRAS
    """Method, headers, body and meta of the request it leads to."""
    depth: int | None = None
    """The depth of what it leads to, where it does not follow from the page's."""


class RejectedItem(msgspec.Struct, frozen=True):
    """An item that was not kept, and why. `field` and `value` are what it failed at, where that is known."""

    reason: str
    item: Item
    step: str = ""
    """The step that refused it, as the task names it: `pipeline[2] range`."""
    field: str = ""
    value: Any = None


class ValueChange(msgspec.Struct, frozen=True):
    """One line of the cleaning log: what a step made of a value of an item (its number on the page)."""

    item: int
    step: str
    field: str
    before: Any
    after: Any


class StepCount(msgspec.Struct):
    """What a step did so far, in values."""

    seen: int = 0
    changed: int = 0
    emptied: int = 0
    """Values it could not make sense of, which became null."""
    rejected: int = 0


class Extraction(msgspec.Struct, frozen=True):
    """Items plus links. `base` is what relative links are joined to (`<base href>` or the page's URL)."""

    items: list[Item]
    links: list[Link]
    base: str
    rejected: list[RejectedItem] = []
    cleaned: int = 0
    """Values that had a NUL or a lone surrogate taken out."""
    links_dropped: int = 0
    """Links beyond the number kept per page."""
    changes: list[ValueChange] = []
    """The cleaning log of the page, when it is turned on."""
    counts: dict[str, StepCount] = {}
    """What each step did, by its name in the task; steps that saw nothing may be left out."""
    uncarried: int = 0
    """Links that lost the fields they should carry, because these were too large."""
    unlisted: list[Item] = []
    """Items of a page type that gives no rows: their dates may still end a list."""
