"""When requests left, kept for the politeness receipt. Everything here runs inside a transaction."""

from __future__ import annotations

from collections.abc import Sequence

from smartspider.backends.sql import hosts, statements
from smartspider.backends.sql.connection import Connection
from smartspider.core.verdict import Settlement

SQL = statements.load("ledger.sql")


def note(connection: Connection, run_id: int, settlements: Sequence[Settlement], clock_shift: float) -> None:
    """Keep every send of the settlements, each once; `clock_shift` turns their moments into store time."""
    sends = [(settlement, send) for settlement in settlements for send in settlement.sends]
    if not sends:
        return
    host_ids = hosts.find_hosts(connection, (send.host for _, send in sends))
    records = [
        (
            *(host_ids[send.host], send.at - clock_shift, settlement.lease.token.counter),
            *(run_id, send.delay_s),
        )
        for settlement, send in sends
    ]
    connection.executemany(SQL.add_send, sorted(records))
