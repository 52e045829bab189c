"""Checks of a data folder: the file, and the frontier in it. All functions run inside a transaction."""

from __future__ import annotations

import apsw

from smartspider.backends.sqlite import queue
from smartspider.core.plurals import count
from smartspider.store import statements
from smartspider.store.database import Connection, rows
from smartspider.store.runs.fsck import Finding

SQL = statements.load("sql/fsck.sql", __package__)


def damage(connection: Connection) -> list[Finding]:
    """Return what SQLite itself finds wrong with the file; then nothing else can be trusted."""
    try:
        found = [text for (text,) in rows(connection, "PRAGMA integrity_check(20)") if text != "ok"]
    except apsw.CorruptError as error:
        found = [str(error)]
    return [Finding("damaged", f"SQLite finds damage: {text}", is_repaired=False) for text in found]


def _stale(connection: Connection, repair: bool) -> list[Finding]:
    """Check that nothing in the frontier is closed or unknown."""
    # A worker may still hold a lease of an ended or deleted run, or of a request that was closed otherwise:
    # it counts at the gate of its host until it ends.
    found = rows(connection, SQL.stale)
    if not found:
        return []
    if repair:
        for drop in (SQL.drop_lease, SQL.drop_later, SQL.drop_queued):
            connection.executemany(drop, found)
    return [Finding("stale", f"{len(found)} queued requests are closed or unknown", is_repaired=repair)]


def _doubled(connection: Connection, repair: bool) -> list[Finding]:
    """Check that nothing is in the frontier twice."""
    found = rows(connection, SQL.doubled)
    if not found:
        return []
    if repair:
        for drop in (SQL.drop_later, SQL.drop_queued):
            connection.executemany(drop, found)
    return [Finding("doubled", f"{count(len(found), 'request')} queued twice", is_repaired=repair)]


def _lost(connection: Connection, repair: bool) -> list[Finding]:
    """Check that every open row of an unfinished run is in the frontier; a repair offers it."""
    lost: dict[int, list[int]] = {}
    for run_id, url_id in rows(connection, SQL.lost):
        lost.setdefault(run_id, []).append(url_id)
    if repair:
        for run_id, url_ids in lost.items():
            queue.offer(connection, run_id, url_ids)
    return [
        Finding("lost", f"{len(url_ids)} open requests of run {run_id} are not queued", is_repaired=repair)
        for run_id, url_ids in lost.items()
    ]


def _lanes(connection: Connection, repair: bool) -> list[Finding]:
    """Check the length and the best rank of lanes."""
    wrong = rows(connection, SQL.wrong_lanes)
    if not wrong:
        return []
    if repair:
        connection.executemany(SQL.count_lane, wrong)
    return [Finding("lanes", f"{len(wrong)} lanes do not agree with their queues", is_repaired=repair)]


FRONTIER = (_stale, _doubled, _lost, _lanes)
"""In the order of their dependencies."""
