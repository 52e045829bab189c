"""The updates of a transaction for a frontier outside the store: collected, and sent after the commit."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.frontier.lease import FencingToken, Lease
from smartspider.core.frontier.updates import FrontierUpdate, HostRow, QueuePosition
from smartspider.store import statements
from smartspider.store.database import Connection, row, rows
from smartspider.store.frontier_updates import QueueEntry

SQL = statements.load("sql/frontier.sql", __package__)


class _Postponed(msgspec.Struct, frozen=True):
    """A lease that ends, and when its row is queued again."""

    lease: Lease
    due_at: float
    is_alone: bool

    @property
    def position(self) -> QueuePosition:
        """The position of the row in the queue."""
        request = self.lease.request
        return QueuePosition(
            self.lease.url_id, request.host, -request.priority, self.due_at, is_alone=self.is_alone
        )


class CollectedUpdates:
    """See `store/frontier_updates.py`. Closed rows need no update: a lease looks up its row before use."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.held: frozenset[FencingToken] | None = None
        """Leases known to be held; None if unknown."""
        self.clear()

    def clear(self) -> None:
        """Drop everything collected."""
        self.held = None
        self._offered: list[tuple[QueueEntry, bool]] = []
        self._lanes: set[tuple[int, int]] = set()
        self._postponed: dict[int, _Postponed] = {}
        self._released: list[Lease] = []
        self._ended: list[Lease] = []
        self._gates: set[int] = set()

    def offer(self, run_id: int, entries: Sequence[QueueEntry]) -> None:
        """Queue open rows; their hosts get a lane of the run."""
        self._add(run_id, entries, is_alone=False)

    def set_apart(self, run_id: int, entries: Sequence[QueueEntry], now: float) -> None:
        """Queue open rows that are leased alone."""
        del now
        self._add(run_id, entries, is_alone=True)

    def _add(self, run_id: int, entries: Sequence[QueueEntry], *, is_alone: bool) -> None:
        self._lanes.update((run_id, entry.host_id) for entry in entries)
        self._offered += [(entry, is_alone) for entry in entries]

    def holds(self, lease: Lease) -> bool:
        """Return whether the frontier reported the lease as held before the transaction."""
        return self.held is None or lease.token in self.held

    def ending(self, run_id: int) -> int:
        """Return the leases that the frontier ends after the commit."""
        ending = (*self._ended, *self._released, *(one.lease for one in self._postponed.values()))
        return sum(lease.run_id == run_id for lease in ending)

    def end(self, lease: Lease) -> None:
        """End a lease whose row is closed."""
        self._ended.append(lease)

    def postpone(self, lease: Lease, due_at: float, *, is_alone: bool = False) -> None:
        """Queue the row again later. The store keeps the time, for a frontier that loses its data."""
        self._postponed[lease.url_id] = _Postponed(lease, due_at, is_alone)

    def release(self, lease: Lease, now: float) -> None:
        """Queue the row again; the next lease checks whether it is open."""
        del now
        self._released.append(lease)

    def forget(self, run_id: int, url_id: int) -> None:
        """End a postponed lease. A queued row is checked by its next lease."""
        del run_id
        if (postponed := self._postponed.pop(url_id, None)) is not None:
            self._ended.append(postponed.lease)

    def forget_host(self, run_id: int, host_id: int, url_ids: Sequence[int]) -> None:
        """End postponed leases of the rows."""
        del host_id
        for url_id in url_ids:
            self.forget(run_id, url_id)

    def fence(self, run_id: int, url_ids: set[int]) -> set[int]:
        """Return an empty set: leases of an ended run are no longer held."""
        del run_id, url_ids
        return set()

    def host_freed(self, host_id: int, now: float) -> None:
        """Do nothing: the frontier sees its leases end."""

    def gate_changed(self, host_id: int) -> None:
        """Send the gate again."""
        self._gates.add(host_id)

    def run_changed(self, run_id: int) -> None:
        """Discard the counts of a run, which say nothing about its new state. The keeper updates the
        frontier.
        """
        self._connection.execute(SQL.uncounted, (run_id,))

    def is_counted(self, run_id: int) -> bool:
        """Return whether the keeper has counted since the whole frontier knows the state of the run."""
        found = row(self._connection, SQL.is_counted, (run_id,))
        return found is not None and bool(found[0])

    def drop(self, run_id: int) -> None:
        """Drop the lanes of a run; the keeper updates the frontier."""
        self._lanes = {lane for lane in self._lanes if lane[0] != run_id}
        self._connection.execute(SQL.drop_lanes, (run_id,))
        self._connection.execute(SQL.drop_load, (run_id,))

    def write(self) -> None:
        """Store what a frontier that loses its data must be sent again. Last statement of a transaction."""
        self._connection.executemany(SQL.add_lane, sorted(self._lanes))
        self._connection.executemany(
            SQL.postpone, [(one.due_at, url_id) for url_id, one in sorted(self._postponed.items())]
        )

    def collected(self) -> FrontierUpdate:
        """Return the update, with gates and names as of this transaction."""
        host_ids = self._gates | {entry.host_id for entry, _ in self._offered if not entry.host}
        found = rows(self._connection, SQL.hosts, (sorted(host_ids),)) if host_ids else []
        hosts = {host_id: HostRow(*gate) for host_id, *gate in found}
        return FrontierUpdate(
            hosts=[hosts[host_id] for host_id in sorted(self._gates)],
            offered=[
                QueuePosition(
                    entry.url_id, entry.host or hosts[entry.host_id].name, entry.rank, is_alone=is_alone
                )
                for entry, is_alone in self._offered
            ],
            postponed=[(one.lease, one.position) for one in self._postponed.values()],
            released=self._released,
            ended=self._ended,
        )
