"""Checks of simulated runs that deduplicate items: no row is lost, none is stored twice."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any, NamedTuple

from smartspider.core.items.dedup import ItemDedup
from smartspider.store.runs.store import RunStore
from smartspider_testing.simulation.worker import SimulatedSite

DEDUPS = (
    *(ItemDedup((("sku",),), scope, "first", ("likes",)) for scope in ("run", "task")),
    *(ItemDedup((("sku",), ("code",)), scope, "last") for scope in ("run", "task")),
)
"""Dedup settings of simulated runs; with several keys only `last` has a predictable result."""


class Candidate(NamedTuple):
    """A row of a page as committed."""

    run_id: int
    item: dict[str, Any]
    closed_at: float


async def dedup_problems(store: RunStore, sites: dict[int, SimulatedSite], dedup: ItemDedup) -> list[str]:
    """Return what is wrong with the rows of the runs of one task."""
    problems: list[str] = []
    candidates: list[Candidate] = []
    stored: list[Candidate] = []
    for run_id, site in sites.items():
        committed, found = await _committed(store, run_id, site)
        candidates += found
        rows = Counter[str]()
        at = {(one.item["page"], one.item["row"]): one for one in found}
        async for batch in store.items(run_id):
            for row in batch:
                item = json.loads(row.data)
                rows[row.url] += 1
                one = at.get((item["page"], item["row"]))
                if one is None or _origin(one.item) != _origin(item):
                    problems.append(f"run {run_id}: {item} is of no committed page")
                else:
                    stored.append(one._replace(item=item))
        problems += [f"run {run_id}: {problem}" for problem in site.graph.page_problems(committed)]
        problems += await _wrong_counts(store, run_id, site, rows, len(found))
    if dedup.keep == "first":
        return problems + _first_problems(candidates, stored, dedup)
    return problems + _last_problems(candidates, stored)


async def _committed(
    store: RunStore, run_id: int, site: SimulatedSite
) -> tuple[dict[str, int], list[Candidate]]:
    """Return the committed fetch of each page, and its rows."""
    committed: dict[str, int] = {}
    found: list[Candidate] = []
    for page in site.fetches:
        for record in await store.find_urls(site.request(page).fingerprint, run_id):
            if record.state == "done" and record.status is not None and record.closed_at is not None:
                committed[page] = record.status
                rows = site.items(page, record.status)
                found += [Candidate(run_id, item, record.closed_at) for item in rows]
    return committed, found


async def _wrong_counts(
    store: RunStore, run_id: int, site: SimulatedSite, rows: Counter[str], shown: int
) -> list[str]:
    """Compare the counters of a run and of its pages with the rows."""
    problems = []
    counters = (await store.get_run(run_id)).counters
    if (counters.items, counters.items + counters.duplicates) != (rows.total(), shown):
        problems.append(
            f"run {run_id}: {counters.items} items and {counters.duplicates} duplicates"
            f" where {rows.total()} are stored of {shown}"
        )
    for page in site.fetches:
        problems += [
            f"run {run_id}: {record.url} counts {record.items} of {rows[record.url]} items"
            for record in await store.find_urls(site.request(page).fingerprint, run_id)
            if record.items != rows[record.url]
        ]
    return problems


def _first_problems(candidates: list[Candidate], stored: list[Candidate], dedup: ItemDedup) -> list[str]:
    """Check that the first committed row of each sku is stored, per run or overall, with the last likes."""
    groups: dict[tuple[int, str], list[Candidate]] = defaultdict(list)
    for one in candidates:
        groups[one.run_id if dedup.scope == "run" else 0, one.item["sku"]].append(one)
    problems = []
    seen = Counter[tuple[int, str]]()
    for one in stored:
        place = one.run_id if dedup.scope == "run" else 0, one.item["sku"]
        moments = [other.closed_at for other in groups[place]]
        seen[place] += 1
        if one.closed_at != min(moments):
            problems.append(f"{one.item} is kept although another one was first")
        last = [other.item["likes"] for other in groups[place] if other.closed_at == max(moments)]
        if one.item["likes"] not in last:
            problems.append(f"{one.item} has not the likes of the last one")
    problems += [f"sku {place} is there {seen[place]} times" for place in groups if seen[place] != 1]
    return problems


def _last_problems(candidates: list[Candidate], stored: list[Candidate]) -> list[str]:
    """Check that no two rows of a run share a key and every missing row has a later one with its key."""
    problems = []
    seen = Counter[tuple[int, str, Any]]()
    for one in stored:
        seen.update((one.run_id, name, one.item[name]) for name in ("sku", "code"))
    problems += [f"{place} is there {times} times" for place, times in seen.items() if times > 1]
    there = {(one.run_id, *_origin(one.item)) for one in stored}
    for one in candidates:
        if (one.run_id, *_origin(one.item)) in there:
            continue
        followers = [
            other
            for other in candidates
            if other.run_id == one.run_id
            and other.closed_at >= one.closed_at
            and _origin(other.item) != _origin(one.item)
            and (other.item["sku"] == one.item["sku"] or other.item["code"] == one.item["code"])
        ]
        if not followers:
            problems.append(f"{one.item} is lost")
    return problems


def _origin(item: dict[str, Any]) -> tuple[str, int, int]:
    return item["page"], item["fetch"], item["row"]
