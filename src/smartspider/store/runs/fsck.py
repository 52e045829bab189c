"""Consistency checks of the store, and repairs from its rows. All functions run inside a transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from smartspider.core.items.checksum import item_checksum
from smartspider.core.plurals import count
from smartspider.core.runs.run import RunState
from smartspider.store import events, statements
from smartspider.store.database import Connection, one, rows
from smartspider.store.frontier_updates import QueueEntry
from smartspider.store.results.damage import damaged_item
from smartspider.store.runs.lifecycle import close_rest
from smartspider.store.runs.tuning import decode

SQL = statements.load("fsck.sql", __package__)

SUMS = ("total", "items", "done", "redirect", "missing", "skipped", "dead", "broken", "left_out", "files")
"""Counters of runs that can be computed from rows, in the order of the statements."""


DAMAGED = "damaged"
MAX_LISTED = 100
"""Damaged items that are listed; more are counted."""
NO_COUNTS = (0, 0, 0)
"""Links, requests and whether links are missing in the count."""


class Finding(msgspec.Struct, frozen=True):
    """An inconsistency. `is_repaired` if it was repaired."""

    code: str
    message: str
    is_repaired: bool


Check = Callable[[Connection, bool], list[Finding]]
"""A check; with True it also repairs what it finds."""


def check(
    connection: Connection, now: float, *, repair: bool, frontier: Sequence[Check] = ()
) -> list[Finding]:
    """Run all checks on an undamaged store, in the order of their dependencies.

    `frontier` holds the checks of a frontier in the same database.
    """
    findings = []
    checks = (_left_out, _counters, _numbers, _items, _damaged, _keys, _rejects)
    for run_check in (*checks, *frontier, _event_numbers, _settings):
        findings += run_check(connection, repair)
    return findings + _ended(connection, repair, now)


def _counters(connection: Connection, repair: bool) -> list[Finding]:
    """Compare the counters of runs with their rows."""
    findings = []
    for run_id, *kept in rows(connection, SQL.sums):
        ((*found,),) = rows(connection, SQL.counted, (run_id,))
        if found == kept:
            continue
        wrong = [
            f"{name} {old} instead of {new}"
            for name, old, new in zip(SUMS, kept, found, strict=True)
            if old != new
        ]
        if repair:
            connection.execute(SQL.set_sums, (*found, run_id))
        findings.append(Finding("counters", f"run {run_id} counts {', '.join(wrong)}", is_repaired=repair))
    return findings


def _left_out(connection: Connection, repair: bool) -> list[Finding]:
    """Check that no left-out link is a request, and that what runs left out is counted by reason."""
    findings = []
    stray = rows(connection, SQL.stray_left_out)
    if stray:
        if repair:
            connection.executemany(SQL.drop_left_out, stray)
        what = f"{len(stray)} left-out links are requests, or belong to deleted runs"
        findings.append(Finding("left_out", what, is_repaired=repair))
    counted = {
        (run_id, code, is_next_page): tuple(counts)
        for run_id, code, is_next_page, *counts in rows(connection, SQL.left_out_counts)
    }
    links = {tuple(key): count for *key, count in rows(connection, SQL.left_out_links)}
    requests = {tuple(key): count for *key, count in rows(connection, SQL.skipped_requests)}
    wrong = [
        (*key, links.get(key, 0), requests.get(key, 0), counted.get(key, NO_COUNTS)[2])
        for key in sorted({*counted, *links, *requests})
        if counted.get(key, NO_COUNTS)[:2] != (links.get(key, 0), requests.get(key, 0))
    ]
    if repair:
        connection.executemany(SQL.set_left_out_count, wrong)
    findings += [
        Finding("left_out", f"run {run_id} miscounts what it left out ({code})", is_repaired=repair)
        for run_id, code, *_ in wrong
    ]
    return findings


def _items(connection: Connection, repair: bool) -> list[Finding]:
    """Check that every item belongs to a page that is done."""
    found = rows(connection, SQL.stray_items)
    if not found:
        return []
    if repair:
        connection.executemany(SQL.drop_item_keys, found)
        connection.executemany(SQL.drop_item, found)
        connection.execute(SQL.count_items)
    return [Finding("items", f"{count(len(found), 'item')} of no finished page", is_repaired=repair)]


def _damaged(connection: Connection, repair: bool) -> list[Finding]:  # noqa: ARG001 - a check
    """Check that every item is as it was stored. A damaged one cannot be repaired."""
    findings: list[Finding] = []
    more, last = 0, 0
    while page := rows(connection, SQL.items_after, (last,)):
        for item_id, url_id, data, checksum in page:
            if _is_whole(item_id, url_id, data, checksum):
                continue
            if len(findings) < MAX_LISTED:
                findings.append(Finding(DAMAGED, damaged_item(item_id).message, is_repaired=False))
            else:
                more += 1
        if page[-1][0] <= last:  # out of order, as in a damaged file
            break
        last = page[-1][0]
    if more:
        findings.append(Finding(DAMAGED, count(more, "more damaged item"), is_repaired=False))
    return findings


def _is_whole(item_id: int, url_id: object, data: object, checksum: object) -> bool:
    """Return whether a row has its checksum; damage may have changed the types of its columns."""
    if checksum is None:
        return True
    is_readable = isinstance(url_id, int) and isinstance(data, bytes)
    return is_readable and item_checksum(item_id, url_id, data) == checksum  # type: ignore[arg-type] # checked


def _keys(connection: Connection, repair: bool) -> list[Finding]:
    """Check that every key belongs to an existing item of its own run or task."""
    found = rows(connection, SQL.stray_keys)
    if not found:
        return []
    if repair:
        connection.executemany(SQL.drop_key, found)
    return [Finding("keys", f"{len(found)} keys belong to items that do not exist", is_repaired=repair)]


def _rejects(connection: Connection, repair: bool) -> list[Finding]:
    """Check that a run counts at least its stored rejects."""
    found = rows(connection, SQL.few_rejects)
    if repair:
        connection.executemany(SQL.set_rejected, [(kept, run_id) for run_id, _, kept in found])
    return [
        Finding("counters", f"run {run_id} counts rejected {old} of {kept}", is_repaired=repair)
        for run_id, old, kept in found
    ]


def _ended(connection: Connection, repair: bool, now: float) -> list[Finding]:
    """Check that an ended run has no open row and nothing in the frontier."""
    over = rows(connection, SQL.over_but_open)
    findings = []
    for run_id, state in over:
        if repair:
            _end(connection, run_id, state, now)
        findings.append(Finding("ended", f"run {run_id} has ended but has open requests", is_repaired=repair))
    return findings


def _end(connection: Connection, run_id: int, state: RunState, now: float) -> None:
    """Close the rows of a cancelled run; stop any other run, since it has work left and can be resumed."""
    if state == "cancelled":
        while close_rest(connection, run_id, "cancelled", _last_moment(connection, run_id), also_leased=True):
            pass
        return
    reason = "fsck: open rows"
    connection.execute(SQL.pause, (reason, run_id))
    events.write_state_change(connection, run_id, (state, "paused", reason), now)
    connection.frontier.drop(run_id)
    connection.frontier.offer(
        run_id, [QueueEntry(*found) for found in rows(connection, SQL.open_rows, (run_id,))]
    )


def _last_moment(connection: Connection, run_id: int) -> float:
    return float(one(connection, SQL.last_moment, (run_id,)))


def _numbers(connection: Connection, repair: bool) -> list[Finding]:
    """Check that the next row of a run gets an unused number."""
    wrong = [
        (max(url, least_url), max(item, least_item), run_id)
        for run_id, url, item, least_url, least_item in rows(connection, SQL.numbers)
        if url < least_url or item < least_item
    ]
    if repair:
        connection.executemany(SQL.set_numbers, wrong)
    return [
        Finding("numbers", f"run {run_id} would use row numbers twice", is_repaired=repair)
        for _, _, run_id in wrong
    ]


def _event_numbers(connection: Connection, repair: bool) -> list[Finding]:
    """Check that the events of a run are numbered without a gap up to the last; a repair deletes those before
    a gap.
    """
    findings = _orphans(connection, repair)
    wrong = rows(connection, SQL.event_gaps)
    for run_id, next_event, last in wrong:
        if repair:
            _renumber(connection, run_id, max(next_event, last + 1))
        findings.append(Finding("events", f"the events of run {run_id} have a gap", is_repaired=repair))
    return findings


def _orphans(connection: Connection, repair: bool) -> list[Finding]:
    """Check that every event belongs to an existing run."""
    gone = rows(connection, SQL.stray_events)
    if repair:
        connection.executemany(SQL.drop_events, gone)
    return [
        Finding("events", f"run {run_id} is deleted, but not its events", is_repaired=repair)
        for (run_id,) in gone
    ]


def _renumber(connection: Connection, run_id: int, next_event: int) -> None:
    """Keep the events after the last gap. A published number is never given to another event."""
    connection.execute(SQL.set_next_event, (next_event, run_id))
    first = next_event
    for (number,) in connection.execute(SQL.event_numbers, (run_id,)):
        if number != first - 1:
            break
        first = number
    connection.execute(SQL.drop_events_before, (run_id, first))


def _settings(connection: Connection, repair: bool) -> list[Finding]:
    """Check that the settings of runs can be decoded; a repair falls back to those of the task."""
    findings = []
    for column, found, clear in (
        ("tuning", SQL.all_tuning, SQL.clear_tuning),
        ("knobs", SQL.all_knobs, SQL.clear_knobs),
    ):
        for run_id, stored in rows(connection, found):
            try:
                decode(stored)
            except (msgspec.MsgspecError, TypeError):
                if repair:
                    connection.execute(clear, (run_id,))
                findings.append(
                    Finding("tuning", f"the {column} of run {run_id} cannot be read", is_repaired=repair)
                )
    return findings
