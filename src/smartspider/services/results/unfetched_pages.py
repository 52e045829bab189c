"""Rows missing from a later run because it did not fetch their pages."""

from __future__ import annotations

from functools import partial

from smartspider.core.requests.request import fingerprint
from smartspider.core.requests.urls import CanonicalRules, canonical_url
from smartspider.core.runs.run import Run
from smartspider.store.runs.records import UrlRecord
from smartspider.store.runs.store import RunStore

FETCHED = frozenset({"done", "redirect", "missing"})
MAX_STEPS = 100
MAX_CACHED = 10_000


class UnseenPages:
    """Finds pages of an earlier run that a later run did not fetch.

    Such a page was skipped or failed, or is only linked from such a page.
    """

    def __init__(self, store: RunStore, before: Run, after: Run, rules: CanonicalRules) -> None:
        self._find = store.find_urls
        self._before, self._after = before, after
        self._print = partial(_print, rules=rules)
        self._cache: dict[str, bool] = {}

    @property
    def are_possible(self) -> bool:
        """True if the later run did not fetch all pages it found."""
        counters = self._after.counters
        return counters.skipped + counters.failed + counters.open > 0

    async def is_unseen(self, url: str) -> bool:
        """Return whether a page, or its first ancestor known to the later run, was not fetched."""
        path: list[str] = []
        answer, page = False, url
        while page not in path and len(path) < MAX_STEPS:
            path.append(page)
            if page in self._cache:
                answer = self._cache[page]
                break
            record = await self._record(page, self._after)
            if record is not None:
                answer = record.state not in FETCHED
                break
            earlier = await self._record(page, self._before)
            if earlier is None or earlier.parent is None:
                break
            page = earlier.parent
        if len(self._cache) > MAX_CACHED:
            self._cache.clear()
        self._cache.update(dict.fromkeys(path, answer))
        return answer

    async def _record(self, url: str, run: Run) -> UrlRecord | None:
        found = await self._find(self._print(url), run.id)
        return found[0] if found else None


def _print(url: str, *, rules: CanonicalRules) -> bytes:
    return fingerprint(canonical_url(url, rules))
