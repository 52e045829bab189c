"""Details of requests and gates. All functions run inside a transaction."""

from __future__ import annotations

import msgspec

from smartspider.core.requests.request import NO_EXTRAS, Extras
from smartspider.core.runs.run import end_id, first_id, run_of
from smartspider.store import statements
from smartspider.store.database import Connection, row, rows
from smartspider.store.hosts import gates
from smartspider.store.results.files import fill_files
from smartspider.store.results.rows import StoredItem
from smartspider.store.runs import records
from smartspider.store.runs.records import StoredChange, StoredReject, UrlRecord

SQL = statements.load("diagnostics.sql", __package__)

SENDS = 5
"""Sends returned before and after a moment, each."""
ITEMS = 3

_extras = msgspec.json.Decoder(Extras)


class GateStatus(msgspec.Struct, frozen=True):
    """The gate of a host, from the view of a run."""

    host: str
    queued: int
    in_flight: int
    """Leases of all runs."""
    held: int
    """Leases of this run."""
    delay_s: float
    set_by: str
    opens_at: float
    """The first moment at which a slot may start."""
    held_until: float
    hold_reason: str
    per_host: int
    per_domain: int | None
    domain: str
    in_flight_domain: int
    is_on_trial: bool
    """The circuit has opened and no answer succeeded since: one request at a time."""


class HeldRequest(msgspec.Struct, frozen=True):
    """A request leased by a worker."""

    url: str
    host: str
    worker: str
    deadline_at: float
    sent_at: float | None
    """The time it was sent, if recorded."""


class SendRecord(msgspec.Struct, frozen=True):
    """The time of a request to a host, and the delay in force."""

    at: float
    run_id: int
    """Negative for a crawl with another data folder, before a request of that run."""
    delay_s: float


class RequestDetails(msgspec.Struct, frozen=True):
    """A request with its gate, lease, sends and items."""

    record: UrlRecord
    now: float
    fingerprint: bytes
    visit: int
    is_entry: bool
    method: str
    body_bytes: int
    due_at: float | None
    """The time of its retry."""
    lease: HeldRequest | None
    gate: GateStatus
    sends: list[SendRecord]
    """Requests to its host around the time it was closed, or the last ones."""
    items: list[StoredItem]
    """A few of its items."""
    rejects: list[str]
    """Why a few of its items were rejected."""


class PageRecord(msgspec.Struct, frozen=True):
    """A request with what its page brought."""

    details: RequestDetails
    items: list[StoredItem]
    rejects: list[StoredReject]
    changes: list[StoredChange]
    children: int


def read_details(connection: Connection, record: UrlRecord, now: float) -> RequestDetails:
    """Return a request of a run with its gate, its lease and some of its items."""
    found = row(connection, SQL.details, (record.id,))
    assert found is not None  # noqa: S101 - read in the transaction that found the record
    fingerprint, visit, is_entry, host_id, extras = found
    details = _extras.decode(extras) if extras else NO_EXTRAS
    lease = row(connection, SQL.lease, (record.id,))
    due = row(connection, SQL.due, (record.id, now))
    return RequestDetails(
        record=record,
        now=now,
        fingerprint=fingerprint,
        visit=visit,
        is_entry=bool(is_entry),
        method=details.method,
        body_bytes=len(details.body or b""),
        due_at=due[0] if due else None,
        lease=held_request(connection, *lease) if lease else None,
        gate=gate_status(
            *(connection, record.run_id, host_id),
            (_queued(connection, host_id, record.run_id, now), int(bool(lease))),
        ),
        sends=_sends(connection, host_id, record.closed_at or now),
        items=items_of(connection, record, ITEMS),
        rejects=[one.reason for one in rejects_of(connection, record, ITEMS)],
    )


def _queued(connection: Connection, host_id: int, run_id: int, now: float) -> int:
    found = row(connection, SQL.lane_queued, (host_id, run_id))
    elsewhere: dict[int, int] = dict(rows(connection, SQL.not_queued, (run_id, now)))
    return max(int(found[0]) - elsewhere.get(host_id, 0), 0) if found else 0


def _sends(connection: Connection, host_id: int, moment: float) -> list[SendRecord]:
    """Return the requests sent to a host around a moment, in order of time."""
    before = rows(connection, SQL.sends_before, (host_id, moment, SENDS))
    after = rows(connection, SQL.sends_after, (host_id, moment, SENDS))
    return [SendRecord(*send) for send in (*reversed(before), *after)]


def first_from(connection: Connection, record: UrlRecord, last: str, probe: str) -> int:
    """Return the id from which rows of a page can be. Binary search, since rows of a run are in the order in
    which their pages closed. `last` finds the last row, `probe` the time of the first one from an id on.
    """
    low, end = first_id(record.run_id), end_id(record.run_id)
    found = row(connection, last, (low, end))
    high = (found[0] if found and found[0] is not None else low) + 1
    closed_at = record.closed_at or 0.0
    while low < high:
        middle = (low + high) // 2
        probed = row(connection, probe, (middle, end))
        if probed is not None and probed[1] < closed_at:
            low = probed[0] + 1
        else:
            high = middle
    return low


def items_of(connection: Connection, record: UrlRecord, limit: int) -> list[StoredItem]:
    """Return items of a page. A later page may own the stored row of an equal item; then fewer are found."""
    if not record.items:
        return []
    low = first_from(connection, record, SQL.last_item, SQL.item_closed_at)
    items = rows(connection, SQL.items_from, (low, end_id(record.run_id), record.id, limit))
    filled = fill_files(connection, record.run_id, [data for _, data in items])
    return [
        StoredItem(item_id, record.run_id, record.url, data.encode(), record.closed_at or 0.0, record.id)
        for (item_id, _), data in zip(items, filled, strict=True)
    ]


def rejects_of(connection: Connection, record: UrlRecord, limit: int) -> list[StoredReject]:
    """Return rejected items of a page."""
    low = first_from(connection, record, SQL.last_reject, SQL.reject_closed_at)
    found = rows(connection, SQL.rejects_from, (low, end_id(record.run_id), record.id, limit))
    return [
        StoredReject(number, record.run_id, record.url, reason, step, field, value.encode(), data.encode())
        for number, reason, step, field, value, data in found
    ]


def changes_of(
    connection: Connection, record: UrlRecord, limit: int, *, after: int = 0
) -> list[StoredChange]:
    """Return values of a page that steps changed, with ids greater than `after`."""
    low = max(first_from(connection, record, SQL.last_change, SQL.change_closed_at), after + 1)
    found = rows(connection, SQL.changes_from, (low, end_id(record.run_id), record.id, limit))
    return [
        StoredChange(number, record.run_id, record.url, item, step, field, old.encode(), new.encode(), note)
        for number, item, step, field, old, new, note in found
    ]


def count_children(connection: Connection, record: UrlRecord) -> int:
    """Return the number of requests that a page was the first to lead to: they were found when it closed."""
    if record.closed_at is None:
        return 0
    low = first_from(connection, record, SQL.last_url, SQL.url_found_at)
    found = row(connection, SQL.children, (low, end_id(record.run_id), record.id))
    return int(found[0]) if found else 0


def read_page(connection: Connection, run_id: int, url_id: int, now: float, limit: int) -> PageRecord | None:
    """Return a request of a run with all that is known about it; None if the run has no such request."""
    record = records.find_url(connection, url_id, now) if run_of(url_id) == run_id else None
    if record is None:
        return None
    return PageRecord(
        details=read_details(connection, record, now),
        items=items_of(connection, record, limit),
        rejects=rejects_of(connection, record, limit),
        changes=changes_of(connection, record, limit),
        children=count_children(connection, record),
    )


def read_changes(
    connection: Connection, url_id: int, now: float, *, after: int, limit: int
) -> list[StoredChange]:
    """Return values of a page that steps changed, with ids greater than `after`."""
    record = records.find_url(connection, url_id, now)
    return [] if record is None else changes_of(connection, record, limit, after=after)


def held_request(  # noqa: PLR0917 - the columns of a row, in the order of the statements
    connection: Connection, url_id: int, host_id: int, worker_id: int, deadline_at: float, token: int
) -> HeldRequest:
    """Return a lease with the names of its host and worker."""
    url = row(connection, SQL.url_of, (url_id,))
    host = row(connection, SQL.host, (host_id,))
    worker = row(connection, SQL.worker, (worker_id,))
    sent = row(connection, SQL.sent, (host_id, token))
    return HeldRequest(
        url=url[0] if url else "",
        host=host[0] if host else "",
        worker=worker[0] if worker else f"worker {worker_id}, which is gone",
        deadline_at=deadline_at,
        sent_at=sent[0] if sent else None,
    )


def gate_status(connection: Connection, run_id: int, host_id: int, of_run: tuple[int, int]) -> GateStatus:
    """Return a gate as it is for a run, with its queued and leased requests."""
    gate = gates.read_gate(connection, host_id)
    name, held_until, reason = row(connection, SQL.host, (host_id,)) or ("", 0.0, "")
    own = gates.read_own_gate(connection, run_id, host_id)
    if own.held_until > held_until:
        held_until, reason = own.held_until, f"held by {own.owner} for the runs of {own.owner}: {own.reason}"
    in_flight = row(connection, gates.SQL.in_flight, (host_id,))
    of_domain = row(connection, gates.SQL.in_flight_domain, (gate.domain,)) if gate.per_domain else None
    return GateStatus(
        host=name,
        queued=of_run[0],
        in_flight=in_flight[0] if in_flight else 0,
        held=of_run[1],
        delay_s=max(gate.delay_s, own.delay_s),
        set_by=own.set_by if own.delay_s > gate.delay_s else gate.set_by,
        opens_at=max(gate.opens_at, own.opens_at),
        held_until=held_until,
        hold_reason=reason,
        per_host=gate.per_host,
        per_domain=gate.per_domain,
        domain=gate.domain,
        in_flight_domain=of_domain[0] if of_domain else 0,
        is_on_trial=gate.is_on_trial,
    )
