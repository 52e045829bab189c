"""What a transaction means for a frontier apart from the store: collected, and told after the commit."""

from __future__ import annotations

from collections.abc import Sequence

from smartspider.backends.sql import statements
from smartspider.backends.sql.connection import Connection, rows
from smartspider.backends.sql.moves import Spot
from smartspider.core.lease import Lease, Token
from smartspider.core.placing import HostRow, Moves, Place

SQL = statements.load("frontier.sql", __package__)


class CollectedMoves:
    """See `backends/sql/moves.py`. Closed rows need no word: a lease looks its row up before it is used."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.held: frozenset[Token] | None = None
        """Leases that are known to be held; None: nobody asked."""
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self._offered: dict[int, list[tuple[Spot, bool]]] = {}
        self._postponed: list[tuple[Lease, float]] = []
        self._released: list[Lease] = []
        self._ended: list[Lease] = []
        self._gates: set[int] = set()

    def offer(self, run_id: int, spots: Sequence[Spot]) -> None:
        """Queue open rows; the run stands at their hosts from now on."""
        self._stand(run_id, spots, is_alone=False)

    def set_apart(self, run_id: int, spots: Sequence[Spot], now: float) -> None:
        """Queue open rows that are only handed out alone."""
        del now
        self._stand(run_id, spots, is_alone=True)

    def _stand(self, run_id: int, spots: Sequence[Spot], *, is_alone: bool) -> None:
        lanes = sorted({(run_id, spot.host_id) for spot in spots})
        self._connection.executemany(SQL.add_lane, lanes)
        self._offered.setdefault(run_id, []).extend((spot, is_alone) for spot in spots)

    def holds(self, lease: Lease) -> bool:
        """Whether the frontier said so before the transaction."""
        return self.held is None or lease.token in self.held

    def end(self, lease: Lease) -> None:
        """Its row is closed."""
        self._ended.append(lease)

    def postpone(self, lease: Lease, due_at: float) -> None:
        """The row comes back later; the store keeps when, for a frontier that is wiped."""
        self._connection.execute(SQL.postpone, (due_at, lease.url_id))
        self._postponed.append((lease, due_at))

    def release(self, lease: Lease, now: float) -> None:
        """The row is queued again if it is open, which the next lease finds out."""
        del now
        self._released.append(lease)

    def forget(self, run_id: int, url_id: int) -> None:
        """Nothing: a lease looks its row up."""

    def forget_host(self, run_id: int, host_id: int, url_ids: Sequence[int]) -> None:
        """Nothing: a lease looks its row up."""

    def fence(self, run_id: int, url_ids: set[int]) -> set[int]:
        """None: whoever held a row of a run that ended holds it no more."""
        del run_id, url_ids
        return set()

    def host_freed(self, host_id: int, now: float) -> None:
        """Nothing: the frontier sees its leases end."""

    def gate_changed(self, host_id: int) -> None:
        """The gate is told again."""
        self._gates.add(host_id)

    def run_changed(self, run_id: int) -> None:
        """Nothing: the keeper tells the frontier about runs."""

    def drop(self, run_id: int) -> None:
        """The run stands nowhere any more; the keeper tells the frontier."""
        self._connection.execute(SQL.drop_lanes, (run_id,))

    def collected(self) -> Moves:
        """What the transaction means, with gates and names as they stand in it."""
        spots = [(spot, is_alone) for spots in self._offered.values() for spot, is_alone in spots]
        asked = sorted(self._gates | {spot.host_id for spot, _ in spots})
        found = rows(self._connection, SQL.hosts, (asked,)) if asked else []
        hosts = {host_id: HostRow(*gate) for host_id, *gate in found}
        return Moves(
            hosts=[hosts[host_id] for host_id in sorted(self._gates)],
            offered=[
                Place(spot.url_id, hosts[spot.host_id].name, spot.rank, is_alone=is_alone)
                for spot, is_alone in spots
            ],
            postponed=[
                (lease, Place(lease.url_id, lease.request.host, -lease.request.priority, due_at))
                for lease, due_at in self._postponed
            ],
            released=self._released,
            ended=self._ended,
        )
