"""What a crawl would find: pages that were read for a look, and what is worth saying about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from smartspider.core.errors import PrivateAddress
from smartspider.core.extraction import Item, Rejected, StepCount

FOLLOWED_SHOWN = 5
REFUSED_SHOWN = 3


class Refusals(msgspec.Struct):
    """Links that would not be followed for one reason, and some of them."""

    count: int = 0
    examples: list[str] = []


class PageSeen(msgspec.Struct, frozen=True):
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
    refused: dict[str, Refusals]
    counts: dict[str, StepCount]


class Coverage(msgspec.Struct):
    """How many items of a page type have a value in a field, and the first such value."""

    page: str
    field: str
    filled: int = 0
    items: int = 0
    sample: Any = None


class Failure(msgspec.Struct, frozen=True):
    """A page that could not be had."""

    url: str
    reason: str


class Preview(msgspec.Struct, frozen=True):
    """What was seen, page by page, and how well the rules fit."""

    pages: list[PageSeen]
    failures: list[Failure]
    rows: list[Item]
    columns: list[str]
    coverage: list[Coverage]


def require_public(preview: Preview) -> None:
    """Raises `PrivateAddress` when that alone is why nothing was seen."""
    start = f"{PrivateAddress.code}: "
    refused = [one.reason.removeprefix(start) for one in preview.failures if one.reason.startswith(start)]
    if not preview.pages and refused and len(refused) == len(preview.failures):
        raise PrivateAddress(refused[0], hint="the installation's settings decide which are open")


def told_rejects(rejected: Sequence[Rejected]) -> list[dict[str, Any]]:
    """Rejected items as people and programs read them: why, and what was wrong."""
    return [
        {"reason": one.reason, "step": one.step, "field": one.field, "value": one.value} for one in rejected
    ]


def preview_of(pages: Sequence[PageSeen], failures: Sequence[Failure], columns: Sequence[str]) -> Preview:
    """Everything worth saying about the pages seen."""
    rows = [item for page in pages for item in page.items]
    return Preview(list(pages), list(failures), rows, list(columns), _coverage(pages))


def _coverage(pages: Sequence[PageSeen]) -> list[Coverage]:
    table: dict[tuple[str, str], Coverage] = {}
    for page in pages:
        for item in page.items:
            for field, value in item.items():
                line = table.setdefault((page.page, field), Coverage(page.page, field))
                line.items += 1
                if value not in (None, "", [], {}):
                    line.filled += 1
                    line.sample = value if line.sample is None else line.sample
    return list(table.values())
