"""Checking the events and turned knobs of runs, and mending them. Runs inside a transaction."""

from __future__ import annotations

import msgspec

from smartspider.backends.sql.connection import Connection, rows
from smartspider.backends.sql.knobs import decode
from smartspider.interfaces.store import Finding


def numbers(connection: Connection, repair: bool) -> list[Finding]:
    """Events of a run are numbered without a gap up to its last one; those before a gap are forgotten."""
    findings = _orphans(connection, repair)
    wrong = rows(
        connection,
        "SELECT run.id, next_event, last FROM run JOIN"
        " (SELECT run_id, count(*) AS kept, min(number) AS first, max(number) AS last FROM event GROUP BY 1)"
        " ON run_id = run.id"
        " WHERE last <> next_event - 1 OR kept <> last - first + 1",
    )
    for run_id, next_event, last in wrong:
        if repair:
            _renumber(connection, run_id, max(next_event, last + 1))
        findings.append(Finding("events", f"the events of run {run_id} have a gap", is_repaired=repair))
    return findings


def _orphans(connection: Connection, repair: bool) -> list[Finding]:
    """Every event belongs to a run that is there."""
    gone = rows(connection, "SELECT DISTINCT run_id FROM event WHERE run_id NOT IN (SELECT id FROM run)")
    if repair:
        connection.executemany("DELETE FROM event WHERE run_id = ?", gone)
    return [
        Finding("events", f"run {run_id} is gone, but not its events", is_repaired=repair)
        for (run_id,) in gone
    ]


def _renumber(connection: Connection, run_id: int, next_event: int) -> None:
    """Keep the unbroken end; a number that was told is never given to another event."""
    connection.execute("UPDATE run SET next_event = ? WHERE id = ?", (next_event, run_id))
    first = next_event
    for (number,) in connection.execute(
        "SELECT number FROM event WHERE run_id = ? ORDER BY number DESC", (run_id,)
    ):
        if number != first - 1:
            break
        first = number
    connection.execute("DELETE FROM event WHERE run_id = ? AND number < ?", (run_id, first))


def tunings(connection: Connection, repair: bool) -> list[Finding]:
    """Turned knobs can be read; where they cannot, those of the task hold for what workers read of them."""
    findings = []
    for column in ("tuning", "knobs"):
        for run_id, stored in rows(connection, f"SELECT id, {column} FROM run WHERE {column} IS NOT NULL"):  # noqa: S608 - fixed names
            try:
                decode(stored)
            except (msgspec.MsgspecError, TypeError):
                if repair:
                    connection.execute(f"UPDATE run SET {column} = NULL WHERE id = ?", (run_id,))  # noqa: S608 - fixed names
                findings.append(
                    Finding("tuning", f"the {column} of run {run_id} cannot be read", is_repaired=repair)
                )
    return findings
