"""Details of requests, the step log and the politeness of runs. All functions run inside a transaction."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec

from smartspider.core.frontier.cause import CauseCode
from smartspider.core.frontier.verdict import UrlState
from smartspider.core.pages.extraction import StepCount
from smartspider.core.runs.run import end_id, first_id
from smartspider.store import statements
from smartspider.store.database import Connection, row, rows
from smartspider.store.hosts.gates import read_gate

SQL = statements.load("runs.sql", __package__)


class StoredReject(msgspec.Struct, frozen=True):
    """A rejected item. `value` and `data` are JSON; a long one is a string of its beginning."""

    id: int
    run_id: int
    url: str
    reason: str
    step: str
    field: str
    value: bytes
    data: bytes


class StoredChange(msgspec.Struct, frozen=True):
    """A line of the cleaning log. `before` and `after` are JSON, shortened like those of a reject."""

    id: int
    run_id: int
    url: str
    item: int
    """Its number on the page."""
    step: str
    field: str
    before: bytes
    after: bytes
    note: str = ""
    """A remark about a value that is a guess."""


class Attempt(msgspec.Struct, frozen=True):
    """A failed fetch."""

    at: float
    status: int | None
    reason: str
    cause: CauseCode
    elapsed_s: float
    delay_s: float | None
    """The delay that was in force for it; None if there was none."""
    proxy_id: int | None
    """The proxy of a pool that it went through."""
    cookies_id: int | None
    """The cookies of the vault that it was sent with."""


class UrlRecord(msgspec.Struct, frozen=True):
    """A request with its state, origin and failures."""

    id: int
    run_id: int
    url: str
    state: UrlState
    reason: str
    cause: CauseCode | None
    status: int | None
    page: str
    depth: int
    priority: int
    attempts: int
    returns: int
    items: int
    parent: str | None
    target: str | None
    found_at: float
    closed_at: float | None
    proxy_id: int | None
    """The proxy of a pool that its page came through."""
    cookies_id: int | None
    """The cookies of the vault that it was sent with."""
    place: str
    """The place of an open request: queued, waiting until a time, or leased by a worker."""
    failures: list[Attempt] = []


class HostReceipt(msgspec.Struct, frozen=True):
    """The politeness towards a host in a run, computed from the times of its requests."""

    host: str
    requests: int
    smallest_gap_s: float | None
    asked_delay_s: float
    """The smallest delay in force while requests were spaced; 0 if there was none."""
    requests_per_s: float
    refusals: int
    """Answers 429 and 503, and timeouts: signs of overload."""
    violations: int
    """Gaps shorter than the delay in force."""


class HostStatus(msgspec.Struct, frozen=True):
    """The gate of a host."""

    host: str
    queued: int
    in_flight: int
    delay_s: float
    set_by: str
    held_until: float
    hold_reason: str


def find_urls(connection: Connection, fingerprint: bytes, run_ids: list[int], now: float) -> list[UrlRecord]:
    """Return the rows of a request, in the order of the given runs."""
    found = [
        find_url(connection, url_id, now)
        for run_id in run_ids
        for (url_id,) in rows(connection, SQL.urls_by_print, (fingerprint, run_id))
    ]
    return [record for record in found if record is not None]


def find_url(connection: Connection, url_id: int, now: float) -> UrlRecord | None:
    """Return a row by its id."""
    found = row(connection, SQL.url_record, (url_id,))
    if found is None:
        return None
    place = _place(connection, url_id, now) if found[3] == "open" else ""
    failures = [Attempt(*attempt) for attempt in rows(connection, SQL.attempts, (url_id,))]
    return UrlRecord(*(*found, place, failures))


def _place(connection: Connection, url_id: int, now: float) -> str:
    lease = row(connection, SQL.lease_place, (url_id,))
    if lease is not None:
        return f"leased by {lease[0]}"
    later = row(connection, SQL.later_place, (url_id, now))
    if later is None:
        return "queued"
    return f"waiting until {datetime.fromtimestamp(later[0], UTC):%Y-%m-%d %H:%M:%S} UTC"


def rejects(connection: Connection, run_id: int, limit: int, after: int) -> list[StoredReject]:
    """Return rejected items after a cursor."""
    bounds = (max(after, first_id(run_id)), end_id(run_id), limit)
    return [
        StoredReject(number, run_id, url, reason, step, field, value.encode(), item.encode())
        for number, url, reason, step, field, value, item in rows(connection, SQL.rejects, bounds)
    ]


def cleaning(
    connection: Connection, run_id: int, choice: tuple[str | None, str | None], limit: int, after: int
) -> list[StoredChange]:
    """Return changed values after a cursor, optionally of a field and a step."""
    bounds = (max(after, first_id(run_id)), end_id(run_id), *choice, limit)
    return [
        StoredChange(number, run_id, url, item, step, field, old.encode(), new.encode(), note)
        for number, url, item, step, field, old, new, note in rows(connection, SQL.cleaning, bounds)
    ]


def step_counts(connection: Connection, run_id: int) -> dict[str, StepCount]:
    """Return the counts of each step."""
    found = {step: StepCount(*counts) for step, *counts in rows(connection, SQL.step_counts, (run_id,))}
    return {step: found[step] for step in sorted(found, key=_in_order)}


def _in_order(name: str) -> list[tuple[int, str]]:
    """Return a sort key that compares numbers in a name as numbers: step 10 comes after step 9."""
    return [(len(part), part) if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


def hosts(connection: Connection, run_id: int, limit: int) -> list[HostStatus]:
    """Return the gates of a run's hosts, those with most queued requests first."""
    found = []
    for host_id, name, queued, held_until, reason, in_flight in rows(
        connection, SQL.host_queues, (run_id, limit)
    ):
        gate = read_gate(connection, host_id)
        found.append(HostStatus(name, queued, in_flight, gate.delay_s, gate.set_by, held_until, reason))
    return found


def receipt(connection: Connection, run_id: int) -> list[HostReceipt]:
    """Return the politeness towards each host, computed from the times of its requests."""
    found = []
    for host_id, name, requests, refusals, first_at, last_at in rows(connection, SQL.receipt, (run_id,)):
        gaps = row(connection, SQL.gaps, (host_id, run_id))
        smallest, delay_s, violations, sends, sends_s = gaps or (None, 0.0, 0, 0, None)
        # The sends include robots.txt, but old ones are deleted; then the closed requests are more.
        count, span_s = (sends, sends_s or 0.0) if sends >= requests else (requests, last_at - first_at)
        found.append(
            HostReceipt(
                host=name,
                requests=count,
                smallest_gap_s=smallest,
                asked_delay_s=delay_s or 0.0,
                requests_per_s=(count - 1) / span_s if span_s > 0 else 0.0,
                refusals=refusals,
                violations=violations or 0,
            )
        )
    return found
