"""Updates of a frontier in the same file: applied in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence

from smartspider.backends.sqlite import queue
from smartspider.backends.sqlite.gates import gate as gates
from smartspider.backends.sqlite.gates.gate import GateConnection
from smartspider.core.frontier.lease import Lease
from smartspider.store import statements
from smartspider.store.database import row, rows
from smartspider.store.frontier_updates import QueueEntry

SQL = statements.load("sql/frontier.sql", __package__)


class SqliteFrontierUpdates:
    """See `store/frontier_updates.py`."""

    def __init__(self, connection: GateConnection) -> None:
        self._connection = connection

    def offer(self, run_id: int, entries: Sequence[QueueEntry]) -> None:
        """Queue rows that are new or were closed until now, so that none of them is live."""
        queue.enqueue(self._connection, run_id, entries)

    def set_apart(self, run_id: int, entries: Sequence[QueueEntry], now: float) -> None:
        """Queue rows that are leased alone."""
        records = [(entry.url_id, run_id, now, 1) for entry in entries]
        self._connection.executemany(SQL.put_later, records)

    def holds(self, lease: Lease) -> bool:
        """Return whether a lease is the current one of its row."""
        return row(self._connection, SQL.holds, (lease.url_id, lease.token.counter)) is not None

    def ending(self, run_id: int) -> int:
        """Return 0: they have ended."""
        del run_id
        return 0

    def end(self, lease: Lease) -> None:
        """Delete the lease. If it is no longer the current one, remove the row from wherever it is."""
        dropped = rows(self._connection, SQL.drop_lease, (lease.url_id,))
        if dropped != [(lease.token.counter,)]:
            self.forget(lease.run_id, lease.url_id)

    def postpone(self, lease: Lease, due_at: float, *, is_alone: bool = False) -> None:
        """End a lease and queue its row again later."""
        rows(self._connection, SQL.drop_lease, (lease.url_id,))
        self._connection.execute(SQL.put_later, (lease.url_id, lease.run_id, due_at, int(is_alone)))

    def release(self, lease: Lease, now: float) -> None:
        """Queue the row again, if the lease is still the current one and the row is open."""
        queue.give_back(self._connection, (lease.url_id, lease.token.counter), now)

    def forget(self, run_id: int, url_id: int) -> None:
        """Remove a closed row from leases, postponed rows and lanes."""
        connection = self._connection
        rows(connection, SQL.drop_lease, (url_id,))
        connection.execute(SQL.drop_later, (url_id,))
        ((host_id, rank),) = rows(connection, SQL.place, (url_id,))
        lane_id = queue.find_lane(connection, run_id, host_id)
        connection.execute(SQL.dequeue, (lane_id, rank, url_id))
        if connection.changes():
            connection.execute(SQL.lane_shrank, (1, lane_id))

    def forget_host(self, run_id: int, host_id: int, url_ids: Sequence[int]) -> None:
        """Empty a lane."""
        self._connection.executemany(SQL.drop_later, [(url_id,) for url_id in url_ids])
        lane_id = queue.find_lane(self._connection, run_id, host_id)
        self._connection.execute(SQL.empty_lane, (lane_id,))
        self._connection.execute(SQL.lane_emptied, (lane_id,))

    def fence(self, run_id: int, url_ids: set[int]) -> set[int]:
        """Give the leases of the rows new tokens that no worker knows; they stay at
        the gates until they end.
        """
        held = url_ids.intersection(url_id for (url_id,) in rows(self._connection, SQL.leased, (run_id,)))
        for url_id in held:
            token = row(self._connection, SQL.next_tokens, (1,))
            assert token is not None  # noqa: S101 - meta rows are part of the schema
            self._connection.execute(SQL.fence, (token[0], url_id))
        return held

    def gate_changed(self, host_id: int) -> None:
        """Do nothing: gates are read at every lease."""

    def host_freed(self, host_id: int, now: float) -> None:
        """Open the lanes of the host when the next slot may start."""
        gates.reopen_lanes(self._connection, host_id, now)

    def run_changed(self, run_id: int) -> None:
        """Open the lanes at all hosts of the run, so that their gates are read again."""
        self._connection.execute(SQL.open_gates, (run_id,))

    def drop(self, run_id: int) -> None:
        """Delete lanes and postponed rows."""
        for statement in (SQL.empty_lanes, SQL.drop_lanes, SQL.drop_laters):
            self._connection.execute(statement, (run_id,))

    def is_counted(self, run_id: int) -> bool:
        """Return True: leases are rows of the same file."""
        del run_id
        return True
