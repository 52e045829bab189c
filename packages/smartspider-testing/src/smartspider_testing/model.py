"""A reference model of store, frontier and ledger in plain Python, for the state machine test.

The model does not choose which request is leased next; it checks that a choice was allowed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from smartspider.core.frontier.verdict import Close, RetryLater, UrlState, Verdict
from smartspider.core.items.dedup import ItemDedup
from smartspider.core.pages.extraction import Item
from smartspider.core.requests.request import Request
from smartspider.core.runs.run import ACCEPTS_PAGES, LEASES_IN, RunState

STANDING: frozenset[RunState] = frozenset({"running", "stopping", "paused"})
"""States in which a run takes part in the gates of its hosts."""
OVER: frozenset[RunState] = frozenset({"completed", "failed", "cancelled"})


@dataclass
class ModelItem:
    """A stored item and the page it belongs to."""

    data: Item
    run_id: int
    page: list[Item]


@dataclass
class ModelItems:
    """The dedup keys of all runs of a task, and counters by run."""

    known: dict[tuple[int, bytes], ModelItem] = field(default_factory=dict)
    duplicates: Counter[int] = field(default_factory=Counter)
    updated: Counter[int] = field(default_factory=Counter)

    def add(
        self,
        run_id: int,
        dedup: ItemDedup,
        page: list[Item],
        found: Sequence[Item],
        keys: Sequence[tuple[bytes, ...]],
    ) -> bool:
        """Store the items of a page in order. Return True if one of them was new."""
        if not dedup.keys:
            page += [dict(item) for item in found]
            return True
        is_new = [self._add(run_id, dedup, page, item, own) for item, own in zip(found, keys, strict=True)]
        return any(is_new)

    def _add(
        self, run_id: int, dedup: ItemDedup, page: list[Item], item: Item, keys: tuple[bytes, ...]
    ) -> bool:
        scopes = [run_id] if dedup.scope == "run" else [0] if dedup.keep == "first" else [run_id, 0]
        places = [(scope, key) for scope in scopes for key in keys]
        twins: list[ModelItem] = []
        for place in places:
            twin = self.known.get(place)
            if twin is not None and not any(twin is other for other in twins):
                twins.append(twin)
        if twins and dedup.keep == "first":
            self.duplicates[run_id] += 1
            for twin in twins:
                self._update(run_id, dedup, twin, item)
            return False
        self.updated[run_id] += any(twin.data != item for twin in twins)
        for twin in twins:
            if twin.run_id == run_id:
                self._drop(twin)
                self.duplicates[run_id] += 1
        stored = ModelItem(dict(item), run_id, page)
        page.append(stored.data)
        self.known.update(dict.fromkeys(places, stored))
        return not twins

    def _update(self, run_id: int, dedup: ItemDedup, twin: ModelItem, item: Item) -> None:
        before = dict(twin.data)
        twin.data.update({name: item[name] for name in dedup.update if item[name] is not None})
        self.updated[run_id] += twin.data != before

    def _drop(self, gone: ModelItem) -> None:
        gone.page[:] = [item for item in gone.page if item is not gone.data]
        self.known = {place: item for place, item in self.known.items() if item is not gone}


@dataclass
class ModelUrl:
    """A URL row. `token` is the token of the lease that holds it, `due_at` the time from which it may be
    leased,
    `visit` the number of times it was reopened.
    """

    request: Request
    state: UrlState = "open"
    items: list[Item] = field(default_factory=list)
    attempts: int = 0
    due_at: float = 0.0
    token: object = None
    visit: int = 0


@dataclass
class ModelRun:
    """A run: its rows by URL."""

    delay_s: float
    per_host: int
    run_id: int
    known: ModelItems
    dedup: ItemDedup
    state: RunState = "queued"
    urls: dict[str, ModelUrl] = field(default_factory=dict)

    def find(self, request: Request) -> ModelUrl:
        """Return the row of a request; create it if it is unknown."""
        return self.urls.setdefault(request.url, ModelUrl(request))

    def close(self, row: ModelUrl, verdict: Close) -> None:
        """Store a page: close its row, replace its items, add its children."""
        row.state, row.token, row.items = verdict.state, None, []
        row.attempts += verdict.state in ("dead", "broken")
        has_new = self.known.add(self.run_id, self.dedup, row.items, verdict.items, verdict.keys)
        for child in [*verdict.children, *(verdict.next_pages if has_new else ())]:
            self.find(child)


@dataclass
class Model:
    """All runs and all leases in flight."""

    runs: dict[int, ModelRun] = field(default_factory=dict)
    items: ModelItems = field(default_factory=ModelItems)
    in_flight: dict[object, str] = field(default_factory=dict)
    """Hosts of the current leases, by token."""

    def standing(self, host: str) -> list[ModelRun]:
        """Return the runs that take part in a host's gate."""
        return [
            run
            for run in self.runs.values()
            if run.state in STANDING and any(row.request.host == host for row in run.urls.values())
        ]

    def lease(self, run_id: int, url: str, token: object, now: float) -> None:
        """Record a lease."""
        run = self.runs[run_id]
        row = run.urls[url]
        assert run.state in LEASES_IN, f"{url} was handed out by a run that is {run.state}"
        assert row.state == "open", f"{url} was handed out although it is {row.state}"
        assert row.token is None, f"{url} was handed out twice"
        assert row.due_at <= now, f"{url} was handed out before its time"
        row.token = token
        host = row.request.host
        self.in_flight[token] = host
        cap = min(standing.per_host for standing in self.standing(host))
        assert list(self.in_flight.values()).count(host) <= cap, f"{host} has more in flight than {cap}"

    def end_lease(self, run_id: int, url: str, token: object) -> bool:
        """End a lease unless it was lost before. Return True if it still held the row."""
        row = self.runs[run_id].urls[url]
        if row.token != token:
            self.in_flight.pop(token, None)
            return False
        self.in_flight.pop(token, None)
        row.token = None
        return True

    def settle(self, run_id: int, url: str, token: object, verdict: Verdict, now: float) -> None:
        """Apply a verdict."""
        run = self.runs[run_id]
        row = run.urls[url]
        if run.state not in ACCEPTS_PAGES:
            self.end_lease(run_id, url, token)
            return
        if isinstance(verdict, RetryLater):
            if self.end_lease(run_id, url, token):
                row.due_at = now + verdict.delay_s
                row.attempts += verdict.counts
            return
        self.in_flight.pop(token, None)
        is_old_news = row.visit > 0 and row.state == "open" and row.token != token
        if is_old_news and verdict.state not in ("done", "redirect"):
            return
        self._free(row)
        if not replaces(verdict.state, row.state):
            return
        if verdict.landed is None:
            run.close(row, verdict)
            return
        page = msgspec.structs.replace(verdict, state="done", landed=None)
        if verdict.landed.url == url:
            run.close(row, page)
            return
        target = run.find(verdict.landed)
        run.close(row, Close("redirect"))
        if replaces("done", target.state):
            self._free(target)
            run.close(target, page)

    def set_state(self, run_id: int, state: RunState) -> None:
        """Change the state of a run; a run that has ended has no open rows."""
        run = self.runs[run_id]
        run.state = state
        for row in run.urls.values():
            if state in OVER and row.state == "open":
                row.state, row.token = "skipped", None

    def retry(self, run_id: int) -> int:
        """Reopen the failed rows of a run if its state allows it. Return their number."""
        run = self.runs[run_id]
        failed = [row for row in run.urls.values() if row.state in ("dead", "broken")]
        if run.state in ("cancelled", "stopping"):
            return 0
        for row in failed:
            row.state, row.attempts, row.due_at, row.visit = "open", 0, 0.0, row.visit + 1
        if failed and run.state != "running":
            run.state = "queued"
        return len(failed)

    def is_complete(self, run_id: int) -> bool:
        """Return True if a run has no open row."""
        return all(row.state != "open" for row in self.runs[run_id].urls.values())

    def _free(self, row: ModelUrl) -> None:
        """End the lease of a row that is being closed."""
        self.in_flight.pop(row.token, None)
        row.token = None


def replaces(new: UrlState, old: UrlState) -> bool:
    """Return True if a settle may replace the old state (rule 3 of the ledger)."""
    return old == "open" or (new in ("done", "redirect") and old in ("dead", "skipped"))
