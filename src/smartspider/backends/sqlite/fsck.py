"""Checks that only a data folder needs: the file, and the frontier in it. Runs inside a transaction."""

from __future__ import annotations

import apsw

from smartspider.backends.sql.connection import Connection, rows
from smartspider.backends.sqlite import queue
from smartspider.core.runs import UNFINISHED
from smartspider.interfaces.store import Finding

_LIVE = """
    SELECT url_id FROM lease UNION ALL SELECT url_id FROM later UNION ALL SELECT url_id FROM queue
"""


def damage(connection: Connection) -> list[Finding]:
    """What SQLite itself finds wrong with the file; nothing else can be trusted then."""
    try:
        found = [text for (text,) in rows(connection, "PRAGMA integrity_check(20)") if text != "ok"]
    except apsw.CorruptError as error:
        found = [str(error)]
    return [Finding("damaged", f"SQLite finds damage: {text}", is_repaired=False) for text in found]


def _stale(connection: Connection, repair: bool) -> list[Finding]:
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


def _doubled(connection: Connection, repair: bool) -> list[Finding]:
    """Nothing is in the frontier twice."""
    found = rows(connection, f"SELECT url_id FROM ({_LIVE}) GROUP BY url_id HAVING count(*) > 1")  # noqa: S608 - fixed text
    if not found:
        return []
    if repair:
        for table in ("later", "queue"):
            connection.executemany(f"DELETE FROM {table} WHERE url_id = ?", found)  # noqa: S608 - fixed names
    return [Finding("doubled", f"{len(found)} requests are queued twice", is_repaired=repair)]


def _lost(connection: Connection, repair: bool) -> list[Finding]:
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


def _lanes(connection: Connection, repair: bool) -> list[Finding]:
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


FRONTIER = (_stale, _doubled, _lost, _lanes)
"""In this order: what others rest on first."""
