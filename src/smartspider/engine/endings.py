"""Lists that are over although there would be a next page, because what they show is too old."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from smartspider.core.extraction import Extraction
from smartspider.core.moments import iso_moment
from smartspider.core.rules import OlderThan


def without_next_pages(extraction: Extraction) -> Extraction:
    """The same without its links to further pages."""
    links = [link for link in extraction.links if not link.is_pagination]
    return msgspec.structs.replace(extraction, links=links)


def is_too_old(extraction: Extraction, older: OlderThan, now: float) -> bool:
    """Whether the page has dates and all of them are older. Items that were rejected count as well."""
    limit = older.moment if older.age_s is None else now - older.age_s
    moments = list(_moments(extraction, older.field))
    return bool(moments) and limit is not None and max(moments) < limit


def _moments(extraction: Extraction, field: str) -> Iterator[float]:
    for item in (*extraction.items, *extraction.unlisted, *(each.item for each in extraction.rejected)):
        moment = _moment(item.get(field))
        if moment is not None:
            yield moment


def _moment(value: Any) -> float | None:
    """The moment of an ISO date, UTC unless it names a zone; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        return iso_moment(value.strip()).timestamp()
    except (ValueError, OverflowError):
        return None
