"""Checking the data folder, and mending what the rows can mend. Runs inside a transaction."""

from __future__ import annotations

import apsw

from smartspider.backends.sqlite import events, fsck_events, queue
from smartspider.backends.sqlite.database import rows
from smartspider.backends.sqlite.runs import close_rest, drop_frontier
from smartspider.core.runs import UNFINISHED, RunState
from smartspider.interfaces.store import Finding

STATES = ("done", "redirect", "missing", "skipped", "dead", "broken")

ITEMS_OF_RUN = "(SELECT count(*) FROM item WHERE id >= ?1 << 40 AND id < (?1 + 1) << 40)"

_LIVE = """
    SELECT url_id FROM lease UNION ALL SELECT url_id FROM later UNION ALL SELECT url_id FROM queue
"""


def damage(connection: apsw.Connection) -> list[Finding]:
    """What SQLite itself finds wrong with the file; nothing else can be trusted then."""
    try:
        found = [text for (text,) in rows(connection, "PRAGMA integrity_check(20)") if text != "ok"]
    except apsw.CorruptError as error:
        found = [str(error)]
    return [Finding("damaged", f"SQLite finds damage: {text}", is_repaired=False) for text in found]


def check(connection: apsw.Connection, now: float, *, repair: bool) -> list[Finding]:
    """All checks on a file that is not damaged, those that others rest on first."""
    findings = []
    for look in (
        *(_counters, _numbers, _items, _keys, _rejects, _stale, _doubled, _lost, _lanes),
        *(fsck_events.numbers, fsck_events.tunings),
    ):
        findings += look(connection, repair)
    return findings + _ended(connection, repair, now)


def _counters(connection: apsw.Connection, repair: bool) -> list[Finding]:
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


def _items(connection: apsw.Connection, repair: bool) -> list[Finding]:
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


def _keys(connection: apsw.Connection, repair: bool) -> list[Finding]:
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


def _rejects(connection: apsw.Connection, repair: bool) -> list[Finding]:
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


def _stale(connection: apsw.Connection, repair: bool) -> list[Finding]:
    """Nothing in the frontier is closed or unknown."""
    # A worker may still hold a lease of a run that was ended, or of a request that was closed without it:
    # it counts at its host's gate until it is over.
    sql = (
        f"SELECT url_id FROM ({_LIVE}) LEFT JOIN url ON url.id = url_id WHERE url.state IS NOT 'open'"  # noqa: S608 - fixed text
        " AND url_id NOT IN (SELECT lease.url_id FROM lease JOIN run ON run.id = lease.run_id"
        " JOIN url ON url.id = lease.url_id"
        " WHERE run.state IN ('completed', 'failed', 'cancelled') OR url.state IN ('skipped', 'dead'))"
    )
    found = rows(connection, sql)
    if not found:
        return []
    if repair:
        for table in ("lease", "later", "queue"):
            connection.executemany(f"DELETE FROM {table} WHERE url_id = ?", found)  # noqa: S608 - fixed names
    return [Finding("stale", f"{len(found)} queued requests are closed or unknown", is_repaired=repair)]


def _doubled(connection: apsw.Connection, repair: bool) -> list[Finding]:
    """Nothing is in the frontier twice."""
    found = rows(connection, f"SELECT url_id FROM ({_LIVE}) GROUP BY url_id HAVING count(*) > 1")  # noqa: S608 - fixed text
    if not found:
        return []
    if repair:
        for table in ("later", "queue"):
            connection.executemany(f"DELETE FROM {table} WHERE url_id = ?", found)  # noqa: S608 - fixed names
    return [Finding("doubled", f"{len(found)} requests are queued twice", is_repaired=repair)]


def _lost(connection: apsw.Connection, repair: bool) -> list[Finding]:
    """Every open row of an unfinished run is in the frontier: repairing is offering it."""
    findings = []
    states = ", ".join(f"'{state}'" for state in sorted(UNFINISHED))
    for (run_id,) in rows(connection, f"SELECT id FROM run WHERE state IN ({states})"):  # noqa: S608 - fixed names
        sql = f"SELECT id FROM url WHERE run_id = ? AND state = 'open' AND id NOT IN ({_LIVE})"  # noqa: S608 - fixed text
        found = [url_id for (url_id,) in rows(connection, sql, (run_id,))]
        if found:
            if repair:
                queue.offer(connection, run_id, found)
            findings.append(
                Finding(
                    "lost", f"{len(found)} open requests of run {run_id} are not queued", is_repaired=repair
                )
            )
    return findings


def _lanes(connection: apsw.Connection, repair: bool) -> list[Finding]:
    """A lane knows how many wait in it and which rank the best has."""
    wrong = rows(
        connection,
        "SELECT lane.id FROM lane WHERE queued <> (SELECT count(*) FROM queue WHERE lane_id = lane.id)"
        " OR (queued > 0 AND rank <> (SELECT min(rank) FROM queue WHERE lane_id = lane.id))",
    )
    if not wrong:
        return []
    if repair:
        connection.executemany(
            "UPDATE lane SET queued = (SELECT count(*) FROM queue WHERE lane_id = lane.id), wake_at = NULL,"
            " rank = coalesce((SELECT min(rank) FROM queue WHERE lane_id = lane.id), 0) WHERE id = ?",
            wrong,
        )
    return [Finding("lanes", f"{len(wrong)} lanes do not agree with their queues", is_repaired=repair)]


def _ended(connection: apsw.Connection, repair: bool, now: float) -> list[Finding]:
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


def _end(connection: apsw.Connection, run_id: int, state: RunState, now: float) -> None:
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
    drop_frontier(connection, run_id)
    open_rows = rows(connection, "SELECT id FROM url WHERE run_id = ? AND state = 'open'", (run_id,))
    queue.offer(connection, run_id, [url_id for (url_id,) in open_rows])


def _last_moment(connection: apsw.Connection, run_id: int) -> float:
    ((moment,),) = rows(
        connection, "SELECT coalesce(finished_at, created_at) FROM run WHERE id = ?", (run_id,)
    )
    return float(moment)


def _numbers(connection: apsw.Connection, repair: bool) -> list[Finding]:
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
