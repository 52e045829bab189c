"""Checking the events and turned knobs of runs, and mending them. Runs inside a transaction."""

from __future__ import annotations

import msgspec

from smartspider.backends.sql import statements
from smartspider.backends.sql.connection import Connection, rows
from smartspider.backends.sql.knobs import decode
from smartspider.interfaces.store import Finding

SQL = statements.load("fsck.sql")


def numbers(connection: Connection, repair: bool) -> list[Finding]:
    """Events of a run are numbered without a gap up to its last one; those before a gap are forgotten."""
    findings = _orphans(connection, repair)
    wrong = rows(connection, SQL.event_gaps)
    for run_id, next_event, last in wrong:
        if repair:
            _renumber(connection, run_id, max(next_event, last + 1))
        findings.append(Finding("events", f"the events of run {run_id} have a gap", is_repaired=repair))
    return findings


def _orphans(connection: Connection, repair: bool) -> list[Finding]:
    """Every event belongs to a run that is there."""
    gone = rows(connection, SQL.stray_events)
    if repair:
        connection.executemany(SQL.drop_events, gone)
    return [
        Finding("events", f"run {run_id} is gone, but not its events", is_repaired=repair)
        for (run_id,) in gone
    ]


def _renumber(connection: Connection, run_id: int, next_event: int) -> None:
    """Keep the unbroken end; a number that was told is never given to another event."""
    connection.execute(SQL.set_next_event, (next_event, run_id))
    first = next_event
    for (number,) in connection.execute(SQL.event_numbers, (run_id,)):
        if number != first - 1:
            break
        first = number
    connection.execute(SQL.drop_events_before, (run_id, first))


def tunings(connection: Connection, repair: bool) -> list[Finding]:
    """Turned knobs can be read; where they cannot, those of the task hold for what workers read of them."""
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
