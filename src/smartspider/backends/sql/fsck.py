"""Checking the store, and mending what the rows can mend. Runs inside a transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from smartspider.backends.sql import events, fsck_events
from smartspider.backends.sql.connection import Connection, rows
from smartspider.backends.sql.moves import Spot
from smartspider.backends.sql.runs import close_rest
from smartspider.core.runs import RunState
from smartspider.interfaces.store import Finding

STATES = ("done", "redirect", "missing", "skipped", "dead", "broken")

ITEMS_OF_RUN = "(SELECT count(*) FROM item WHERE id >= ?1 << 40 AND id < (?1 + 1) << 40)"

Look = Callable[[Connection, bool], list[Finding]]
"""A check; True: mend what is found."""


def check(
    connection: Connection, now: float, *, repair: bool, frontier: Sequence[Look] = ()
) -> list[Finding]:
    """All checks on a store that is not damaged, those that others rest on first.

    `frontier` has those of a frontier in the same database.
    """
    findings = []
    looks = (_counters, _numbers, _items, _keys, _rejects)
    for look in (*looks, *frontier, fsck_events.numbers, fsck_events.tunings):
        findings += look(connection, repair)
    return findings + _ended(connection, repair, now)


def _counters(connection: Connection, repair: bool) -> list[Finding]:
    """The sums of a run against its rows."""
    findings = []
    sums = ", ".join(f"sum(state = '{state}')" for state in STATES)
    columns = ", ".join(STATES)
    for run_id, *kept in rows(connection, f"SELECT id, total, items, {columns} FROM run"):  # noqa: S608 - fixed names
        counted = rows(
            connection,
            f"SELECT count(*), {ITEMS_OF_RUN}, {sums} FROM url WHERE run_id = ?1",  # noqa: S608 - fixed names
            (run_id,),
        )[0]
        found = [number or 0 for number in counted]
        if found == kept:
            continue
        names = ("total", "items", *STATES)
        wrong = [
            f"{name} {old} instead of {new}"
            for name, old, new in zip(names, kept, found, strict=True)
            if old != new
        ]
        if repair:
            assignments = ", ".join(f"{name} = ?" for name in names)
            connection.execute(f"UPDATE run SET {assignments} WHERE id = ?", (*found, run_id))  # noqa: S608 - fixed names
        findings.append(Finding("counters", f"run {run_id} counts {', '.join(wrong)}", is_repaired=repair))
    return findings


def _items(connection: Connection, repair: bool) -> list[Finding]:
    """Every item belongs to a page that is done."""
    sql = "SELECT i.id FROM item i LEFT JOIN url u ON u.id = i.url_id WHERE u.state IS NOT 'done'"
    found = rows(connection, sql)
    if not found:
        return []
    if repair:
        connection.executemany("DELETE FROM item_key WHERE item_id = ?", found)
        connection.executemany("DELETE FROM item WHERE id = ?", found)
        connection.execute(
            "UPDATE run SET items = (SELECT count(*) FROM item"
            " WHERE item.id >= run.id << 40 AND item.id < (run.id + 1) << 40)",
        )
    return [Finding("items", f"{len(found)} items belong to no finished page", is_repaired=repair)]


def _keys(connection: Connection, repair: bool) -> list[Finding]:
    """Every key stands for an item that is there, in a run or task that is its own."""
    found = rows(
        connection,
        "SELECT scope, key FROM item_key k LEFT JOIN item i ON i.id = k.item_id"
        " LEFT JOIN run r ON r.id = k.item_id >> 40"
        " WHERE i.id IS NULL OR (k.scope IS NOT r.id AND k.scope IS NOT -r.task_id)",
    )
    if not found:
        return []
    if repair:
        connection.executemany("DELETE FROM item_key WHERE scope = ? AND key = ?", found)
    return [Finding("keys", f"{len(found)} keys stand for items that are not there", is_repaired=repair)]


def _rejects(connection: Connection, repair: bool) -> list[Finding]:
    """A run counts at least the rejects that are kept of it."""
    found = rows(
        connection,
        "SELECT run.id, rejected, kept FROM run JOIN"
        " (SELECT id >> 40 AS run_id, count(*) AS kept FROM reject GROUP BY 1) ON run.id = run_id"
        " WHERE rejected < kept",
    )
    if repair:
        connection.executemany("UPDATE run SET rejected = ?3 WHERE id = ?1", found)
    return [
        Finding("counters", f"run {run_id} counts rejected {old} of {kept}", is_repaired=repair)
        for run_id, old, kept in found
    ]


def _ended(connection: Connection, repair: bool, now: float) -> list[Finding]:
    """A run that is over has no open row and nothing in the frontier."""
    over = rows(
        connection,
        "SELECT DISTINCT run.id, run.state FROM run JOIN url ON url.run_id = run.id AND url.state = 'open'"
        " WHERE run.state IN ('completed', 'failed', 'cancelled')",
    )
    findings = []
    for run_id, state in over:
        if repair:
            _end(connection, run_id, state, now)
        findings.append(Finding("ended", f"run {run_id} is over but has open requests", is_repaired=repair))
    return findings


def _end(connection: Connection, run_id: int, state: RunState, now: float) -> None:
    """A cancelled run stays so and its rows close; any other has work left and waits for someone to go on."""
    if state == "cancelled":
        while close_rest(connection, run_id, "cancelled", _last_moment(connection, run_id), also_leased=True):
            pass
        return
    reason = "fsck: open rows"
    connection.execute(
        "UPDATE run SET state = 'paused', reason = ?, finished_at = NULL WHERE id = ?", (reason, run_id)
    )
    events.tell_state(connection, run_id, (state, "paused", reason), now)
    connection.moves.drop(run_id)
    sql = "SELECT id, host_id, -priority FROM url WHERE run_id = ? AND state = 'open'"
    connection.moves.offer(run_id, [Spot(*found) for found in rows(connection, sql, (run_id,))])


def _last_moment(connection: Connection, run_id: int) -> float:
    ((moment,),) = rows(
        connection, "SELECT coalesce(finished_at, created_at) FROM run WHERE id = ?", (run_id,)
    )
    return float(moment)


def _numbers(connection: Connection, repair: bool) -> list[Finding]:
    """The next row of a run gets a number that none has."""
    wrong = rows(
        connection,
        "SELECT id, 1 + coalesce((SELECT max(url.id) - (run.id << 40) FROM url"
        "  WHERE url.id >= run.id << 40 AND url.id < (run.id + 1) << 40), 0) AS url_number,"
        " 1 + coalesce((SELECT max(item.id) - (run.id << 40) FROM item"
        "  WHERE item.id >= run.id << 40 AND item.id < (run.id + 1) << 40), 0) AS item_number"
        " FROM run WHERE next_url < url_number OR next_item < item_number",
    )
    if repair:
        connection.executemany(
            "UPDATE run SET next_url = max(next_url, ?2), next_item = max(next_item, ?3) WHERE id = ?1", wrong
        )
    return [
        Finding("numbers", f"run {run_id} would number its rows twice", is_repaired=repair)
        for run_id, _, _ in wrong
    ]
