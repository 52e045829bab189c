"""Rows that a later run does not have because it never looked at their pages."""

from __future__ import annotations

from functools import partial

from smartspider.core.requests.fingerprint import fingerprint
from smartspider.core.requests.urls import CanonicalRules, canonical_url
from smartspider.core.runs.run import Run
from smartspider.store.runs.records import UrlRecord
from smartspider.store.runs.store import RunStore

LOOKED_AT = frozenset({"done", "redirect", "missing"})
MAX_STEPS = 100
MAX_KEPT = 10_000


class UnseenPages:
    """Tells whether a page of an earlier run was out of a later run's sight.

    That is one that was left alone or failed, or is only reached by way of such a page.
    """

    def __init__(self, store: RunStore, before: Run, after: Run, rules: CanonicalRules) -> None:
        self._find = store.find_urls
        self._before, self._after = before, after
        self._print = partial(_print, rules=rules)
        self._kept: dict[str, bool] = {}

    @property
    def are_possible(self) -> bool:
        """Whether the later run did not look at everything it found."""
        counters = self._after.counters
        return counters.skipped + counters.failed + counters.open > 0

    async def is_unseen(self, url: str) -> bool:
        """Whether a page, or the first known page on the way to it, was not looked at."""
        way: list[str] = []
        answer, place = False, url
        while place not in way and len(way) < MAX_STEPS:
            way.append(place)
            if place in self._kept:
                answer = self._kept[place]
                break
            record = await self._record(place, self._after)
            if record is not None:
                answer = record.state not in LOOKED_AT
                break
            origin = await self._record(place, self._before)
            if origin is None or origin.parent is None:
                break
            place = origin.parent
        if len(self._kept) > MAX_KEPT:
            self._kept.clear()
        self._kept.update(dict.fromkeys(way, answer))
        return answer

    async def _record(self, url: str, run: Run) -> UrlRecord | None:
        found = await self._find(self._print(url), run.id)
        return found[0] if found else None


def _print(url: str, *, rules: CanonicalRules) -> bytes:
    return fingerprint(canonical_url(url, rules))
