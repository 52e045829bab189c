"""Pure functions that evaluate a fault from the stored rows and the requests that the site received."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from smartspider_testing.chaos.site import SiteLayout, SiteVisit

TOLERANCE_S = 0.02
"""Tolerated shortfall of a gap: clocks are read before the bytes leave, and timestamps are sometimes late."""


class StoredRow(msgspec.Struct, frozen=True, array_like=True):
    """A stored item of the site."""

    page: str
    fetch: int
    row: int


class ItemDiff(msgspec.Struct, frozen=True):
    """Differences between the stored rows of an ended run and the expected ones."""

    lost: list[str]
    doubled: list[str]
    strange: list[str]
    """Pages that no stored page links to."""


def compare(layout: SiteLayout, rows: Sequence[StoredRow]) -> ItemDiff:
    """Compare stored rows with the graph: the stored fetch of a page determines the links that must be
    present.
    """
    graph = layout.graph
    fetches: dict[str, Counter[int]] = defaultdict(Counter)
    for row in rows:
        fetches[row.page][row.fetch] += 1
    stored = {page: counts.most_common(1)[0][0] for page, counts in fetches.items()}
    expected = graph.expected(stored)
    times = Counter((row.page, row.fetch, row.row) for row in rows)
    missing = [
        f"row {number} of page {page}"
        for page, fetch in stored.items()
        for number in range(graph.rows(page, fetch))
        if (page, fetch, number) not in times
    ]
    twice = [f"page {page}: fetches {sorted(counts)}" for page, counts in fetches.items() if len(counts) > 1]
    return ItemDiff(
        lost=[f"page {page}" for page in sorted(expected - stored.keys())] + missing,
        doubled=twice + [f"row {key}" for key, count in times.items() if count > 1],
        strange=[f"page {page}" for page in sorted(stored.keys() - expected)],
    )


def extra_fetches(visits: Sequence[SiteVisit], rows: Sequence[StoredRow]) -> int:
    """Return the number of fetches beyond the stored one of each page."""
    return sum(visit.page != "" for visit in visits) - len({row.page for row in rows})


def smallest_gap(visits: Sequence[SiteVisit]) -> float | None:
    """Return the shortest time between two requests to one host, or None if no host received two."""
    moments: dict[str, list[float]] = defaultdict(list)
    for visit in visits:
        moments[visit.host].append(visit.at)
    return min(
        (after - before for each in moments.values() for before, after in pairwise(sorted(each))),
        default=None,
    )


def early_requests(visits: Sequence[SiteVisit], delay_s: float) -> list[str]:
    """Return pairs of requests to one host that are closer than its delay."""
    moments: dict[str, list[SiteVisit]] = defaultdict(list)
    for visit in sorted(visits, key=lambda one: one.at):
        moments[visit.host].append(visit)
    return [
        f"{host}: {after.path} {(after.at - before.at) * 1000:.0f} ms after {before.path}"
        for host, each in moments.items()
        for before, after in pairwise(each)
        if after.at - before.at < delay_s - TOLERANCE_S
    ]


def longest_silence(visits: Sequence[SiteVisit], since: float) -> float:
    """Return the longest time without any request, from `since` to the last request."""
    moments = sorted(visit.at for visit in visits if visit.at >= since)
    return (
        max((after - before for before, after in pairwise([since, *moments])), default=0.0)
        if moments
        else 0.0
    )


def requests_during_hold(visits: Sequence[SiteVisit], host: str, asked_at: float, hold_s: float) -> list[str]:
    """Return requests to a host within `hold_s` after it asked for a pause."""
    return [
        f"{visit.path} {visit.at - asked_at:.2f} s after {host} had asked for {hold_s:g} s"
        for visit in visits
        if visit.host == host and asked_at < visit.at < asked_at + hold_s
    ]
