"""What a page yields: items and links."""

from __future__ import annotations

from typing import Any

import msgspec

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


class Rejected(msgspec.Struct, frozen=True):
    """An item that was not kept, and why."""

    reason: str
    item: Item


class Extraction(msgspec.Struct, frozen=True):
    """Items plus links. `base` is what relative links are joined to (`<base href>` or the page's URL)."""

    items: list[Item]
    links: list[Link]
    base: str
    rejected: list[Rejected] = []
    cleaned: int = 0
    """Values that had a NUL or a lone surrogate taken out."""
    links_dropped: int = 0
    """Links beyond the number kept per page."""
