"""The result of a preview: pages, failures, rows and field coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from smartspider.core.errors import PrivateAddress
from smartspider.core.pages.extraction import Item, RejectedItem, StepCount
from smartspider.services.runs.views import left_out_parts
from smartspider.store.diagnostics.left_out import LeftOutReport
from smartspider.views.left_out import LeftOutView

FOLLOWED_SHOWN = 5
REFUSED_SHOWN = 3


class RefusedLinks(msgspec.Struct):
    """Links refused for the same reason, with examples."""

    count: int = 0
    examples: list[str] = []


class PreviewedPage(msgspec.Struct, frozen=True):
    """A page that was fetched and extracted."""

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
    files: list[str] = []
    """URLs of files that a crawl would download; a preview downloads none."""


class FieldCoverageCount(msgspec.Struct):
    """The items of a page type with a value in a field, and the first such value."""

    page: str
    field: str
    filled: int = 0
    items: int = 0
    sample: Any = None


class PageError(msgspec.Struct, frozen=True):
    """A page that could not be fetched."""

    url: str
    reason: str


class Preview(msgspec.Struct, frozen=True):
    """The pages of a preview, and the coverage of its fields."""

    pages: list[PreviewedPage]
    failures: list[PageError]
    rows: list[Item]
    columns: list[str]
    coverage: list[FieldCoverageCount]
    left_out: list[LeftOutView] = []
    missing_entries: list[str] = []
    missing_entry_count: int = 0
    empty_fields: list[str] = []


def require_public(preview: Preview) -> None:
    """Raise `PrivateAddress` if the address policy is the only reason for an empty preview."""
    start = f"{PrivateAddress.code}: "
    refused = [one.reason.removeprefix(start) for one in preview.failures if one.reason.startswith(start)]
    if not preview.pages and refused and len(refused) == len(preview.failures):
        raise PrivateAddress(refused[0], hint="SMARTSPIDER_ALLOW_PRIVATE opens private addresses")


def rejected_views(rejected: Sequence[RejectedItem]) -> list[dict[str, Any]]:
    """Return rejected items with the reason and the value."""
    return [
        {"reason": one.reason, "step": one.step, "field": one.field, "value": one.value} for one in rejected
    ]


def build_preview(
    pages: Sequence[PreviewedPage],
    failures: Sequence[PageError],
    columns: Sequence[str],
    left_out: LeftOutReport = LeftOutReport(),
) -> Preview:
    """Build a preview from its pages. Its own limits leave nothing out."""
    rows = [item for page in pages for item in page.items]
    reasons = [reason for reason in left_out.reasons if reason.code not in ("limit", "run_ended")]
    parts = left_out_parts(msgspec.structs.replace(left_out, reasons=reasons))
    names = list(dict.fromkeys([*columns, *(name for row in rows for name in row)]))
    return Preview(list(pages), list(failures), rows, names, _coverage(pages), **parts)


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
