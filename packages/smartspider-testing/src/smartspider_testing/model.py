"""A reference model of store, frontier and ledger in plain Python, for the state machine test.

The model does not choose which request is leased next; it checks that a choice was allowed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from smartspider.core.frontier.verdict import Close, RetryLater, UrlState, Verdict
from smartspider.core.items.dedup import ItemDedup
from smartspider.core.pages.extraction import Item
from smartspider.core.requests.request import Request
from smartspider.core.runs.run import ACCEPTS_PAGES, LEASES_IN, RunState
from smartspider_testing.model_items import ModelItems

STANDING: frozenset[RunState] = frozenset({"running", "stopping", "paused"})
"""States in which a run takes part in the gates of its hosts."""
OVER: frozenset[RunState] = frozenset({"completed", "failed", "cancelled"})


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
