"""A run during a settle: its policies, limits, guards and counters."""

from __future__ import annotations

import msgspec

from smartspider.core.events import PROGRESS_EVERY_S, Event, GuardTripped
from smartspider.core.frontier.verdict import Close, UrlState
from smartspider.core.items.dedup import ItemDedup
from smartspider.core.requests.recrawl import RecrawlPolicy
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import GUARD, LIMIT, RunState
from smartspider.store import events, statements
from smartspider.store.database import Connection, row

SQL = statements.load("settle.sql", __package__)
FILE_SQL = statements.load("files.sql", __package__)


class CounterDeltas(msgspec.Struct):
    """Counter changes of a settle, written once at the end."""

    total: int = 0
    done: int = 0
    redirect: int = 0
    missing: int = 0
    skipped: int = 0
    dead: int = 0
    broken: int = 0
    items: int = 0
    rejected: int = 0
    duplicates: int = 0
    updated: int = 0
    duplicate_urls: int = 0
    retries: int = 0
    late: int = 0
    bytes_read: int = 0
    left_out: int = 0
    """Links that became no request."""
    closed: int = 0
    files: int = 0

    def count(self, state: UrlState, by: int = 1) -> None:
        """Count a row into or out of a state."""
        if state != "open":
            setattr(self, state, getattr(self, state) + by)


NOTHING = CounterDeltas()


class LedgerRun(msgspec.Struct):
    """The columns of a run that settling reads, in the order of the statement."""

    run_id: int
    state: str
    next_url: int
    next_item: int
    failures_row: int
    done: int
    items: int
    dead: int
    broken: int
    missing: int
    max_pages: int | None
    max_items: int | None
    max_errors: int | None
    max_host_urls: int | None
    guard_row: int | None
    guard_rate: float | None
    guard_after: int
    guard_pauses: int
    adaptive: int
    active_s: float
    resumed_at: float | None
    stored_policies: bytes | None
    task_id: int | None
    """Set if there are policies."""
    told_at: float
    left_out: int
    fields: bytes | None
    files: int
    """Files among the stored pages."""
    cookie_version: int
    """Settles that changed cookies."""

    @property
    def policies(self) -> Policies:
        """The dedup and recrawl policies of the run."""
        return decode_policies(self.stored_policies)

    def within_limits(self, verdict: Close, deltas: CounterDeltas) -> Close:
        """Return the verdict within the limits: a page beyond them closes as skipped. Files are no pages."""
        if verdict.state != "done" or verdict.outcome is not None:
            return verdict
        if self.max_pages is not None and self._pages(deltas) >= self.max_pages:
            return Close("skipped", f"{LIMIT}max_pages", verdict.status, cause="limit")
        if self.max_items is not None and self.items + deltas.items >= self.max_items:
            return Close("skipped", f"{LIMIT}max_items", verdict.status, cause="limit")
        return verdict

    def item_room(self, deltas: CounterDeltas) -> int | None:
        """Return how many more items may be stored; None if unlimited."""
        return None if self.max_items is None else self.max_items - self.items - deltas.items

    def limit_reason(self, deltas: CounterDeltas = NOTHING) -> str:
        """Return the reason if a limit is reached with these deltas; empty if none."""
        reached = (
            ("max_pages", self.max_pages, self._pages(deltas)),
            ("max_items", self.max_items, self.items + deltas.items),
            ("max_errors", self.max_errors, self._failed(deltas)),
        )
        for name, limit, count in reached:
            if limit is not None and count >= limit:
                return f"{LIMIT}{name} {limit} reached"
        return ""

    def guard_reason(self, deltas: CounterDeltas) -> str:
        """Return the reason if a guard trips with these deltas; empty if none."""
        if self.guard_row is not None and self.failures_row >= self.guard_row:
            return f"{GUARD}{self.failures_row} failures in a row"
        failed = self._failed(deltas)
        finished = self.done + deltas.done + self.missing + deltas.missing + failed
        is_telling = self.guard_rate is not None and finished >= self.guard_after
        if is_telling and self.guard_rate is not None and failed > self.guard_rate * finished:
            return f"{GUARD}{failed} of {finished} requests failed"
        return ""

    def _pages(self, deltas: CounterDeltas) -> int:
        return self.done + deltas.done - self.files - deltas.files

    def _failed(self, deltas: CounterDeltas) -> int:
        return self.dead + self.broken + deltas.dead + deltas.broken


def read(connection: Connection, run_id: int) -> LedgerRun | None:
    """Return a run by id; None if it was deleted."""
    found = row(connection, SQL.run, (run_id,))
    return LedgerRun(*found) if found else None


OUTLIVED = (f"{LIMIT}max_pages ", f"{LIMIT}max_items ")
"""Limits after which the files of stored items are still downloaded."""


def waits_for_files(connection: Connection, run_id: int, reason: str) -> bool:
    """Return whether a run that reached a limit still has files to download."""
    if not reason.startswith(OUTLIVED):
        return False
    found = row(connection, FILE_SQL.has_open_files, (run_id,))
    return bool(found and found[0])


class RunCounters:
    """Writes the counters of a run, and stops or pauses it if a limit is reached or a guard trips."""

    def __init__(self, connection: Connection, run: LedgerRun, now: float) -> None:
        self._connection = connection
        self._run = run
        self._now = now
        self._guard_before = run.guard_reason(CounterDeltas())

    def add(self, deltas: CounterDeltas, happened: list[Event]) -> None:
        """Add the deltas, and write the resulting events, which are appended to `happened`."""
        run = self._run
        self._connection.execute(
            SQL.settle_run,
            (
                *(run.next_url, run.next_item, run.failures_row, deltas.total, deltas.done, deltas.redirect),
                *(deltas.missing, deltas.skipped, deltas.dead, deltas.broken, deltas.items, deltas.rejected),
                *(deltas.duplicates, deltas.updated, deltas.duplicate_urls, deltas.retries, deltas.late),
                *(deltas.bytes_read, deltas.left_out, run.fields, deltas.files, run.run_id),
            ),
        )
        state: RunState = "stopping"
        reason = run.limit_reason(deltas)
        if waits_for_files(self._connection, run.run_id, reason):
            reason = ""  # `finish_step` closes the other requests, and ends the run after its files
        elif not reason:
            state, reason = "paused", self._guard(deltas, happened)
        events.write_events(self._connection, happened, self._now)
        if reason and run.state == "running":
            active_s = run.active_s + (self._now - (run.resumed_at or self._now))
            self._connection.execute(SQL.set_run_state, (state, reason, active_s, None, run.run_id))
            events.write_state_change(self._connection, run.run_id, ("running", state, reason), self._now)
        elif self._now - run.told_at >= PROGRESS_EVERY_S:
            events.write_progress(self._connection, run.run_id, self._now)

    def _guard(self, deltas: CounterDeltas, happened: list[Event]) -> str:
        """Return the reason if a guard pauses the run. A guard that only warns publishes its event once as
        well.
        """
        reason = self._run.guard_reason(deltas)
        if reason and not self._guard_before:
            happened.append(GuardTripped(self._run.run_id, reason))
        return reason if self._run.guard_pauses else ""


class Policies(msgspec.Struct, frozen=True):
    """The column `policies` of a run."""

    items: ItemDedup = ItemDedup()
    recrawl: RecrawlPolicy = RecrawlPolicy()


NO_POLICIES = Policies()

_decoder = msgspec.json.Decoder(Policies)


def encode_policies(plan: Plan) -> bytes | None:
    """Encode the policies of a plan; None if neither has any effect, so that settling costs nothing extra."""
    if not plan.items.keys and not plan.recrawl.needs_history:
        return None
    return msgspec.json.encode(Policies(plan.items, plan.recrawl))


def decode_policies(stored: bytes | None) -> Policies:
    """Decode the policies of a run."""
    return NO_POLICIES if stored is None else _decoder.decode(stored)
