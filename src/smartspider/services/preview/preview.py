"""What a crawl would find: pages that were read for a look, and what is worth saying about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from smartspider.core.errors import PrivateAddress
from smartspider.core.pages.extraction import Item, RejectedItem, StepCount

FOLLOWED_SHOWN = 5
REFUSED_SHOWN = 3


class RefusedLinks(msgspec.Struct):
    """Links that would not be followed for one reason, and some of them."""

    count: int = 0
    examples: list[str] = []


class PreviewedPage(msgspec.Struct, frozen=True):
    """One page that was fetched and read."""

    url: str
    status: int
    page: str
    engine: str
    items: list[Item]
    rejected: list[dict[str, Any]]
    next_pages: list[str]
    followed: list[str]
    followed_count: int
    refused: dict[str, RefusedLinks]
    counts: dict[str, StepCount]


class FieldCoverageCount(msgspec.Struct):
    """How many items of a page type have a value in a field, and the first such value."""

    page: str
    field: str
    filled: int = 0
    items: int = 0
    sample: Any = None


class PageError(msgspec.Struct, frozen=True):
    """A page that could not be had."""

    url: str
    reason: str


class Preview(msgspec.Struct, frozen=True):
    """What was seen, page by page, and how well the rules fit."""

    pages: list[PreviewedPage]
    failures: list[PageError]
    rows: list[Item]
    columns: list[str]
    coverage: list[FieldCoverageCount]


def require_public(preview: Preview) -> None:
    """Raises `PrivateAddress` when that alone is why nothing was seen."""
    start = f"{PrivateAddress.code}: "
    refused = [one.reason.removeprefix(start) for one in preview.failures if one.reason.startswith(start)]
    if not preview.pages and refused and len(refused) == len(preview.failures):
        raise PrivateAddress(refused[0], hint="the installation's settings decide which are open")


def rejected_views(rejected: Sequence[RejectedItem]) -> list[dict[str, Any]]:
    """Rejected items as people and programs read them: why, and what was wrong."""
    return [
        {"reason": one.reason, "step": one.step, "field": one.field, "value": one.value} for one in rejected
    ]


def preview_of(
    pages: Sequence[PreviewedPage], failures: Sequence[PageError], columns: Sequence[str]
) -> Preview:
    """Everything worth saying about the pages seen."""
    rows = [item for page in pages for item in page.items]
    return Preview(list(pages), list(failures), rows, list(columns), _coverage(pages))


def _coverage(pages: Sequence[PreviewedPage]) -> list[FieldCoverageCount]:
    table: dict[tuple[str, str], FieldCoverageCount] = {}
    for page in pages:
        for item in page.items:
            for field, value in item.items():
                line = table.setdefault((page.page, field), FieldCoverageCount(page.page, field))
                line.items += 1
                if value not in (None, "", [], {}):
                    line.filled += 1
                    line.sample = value if line.sample is None else line.sample
    return list(table.values())
