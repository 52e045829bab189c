"""The store of hosts."""

from __future__ import annotations

import msgspec

from smartspider.core.errors import NotFound
from smartspider.store import statements
from smartspider.store.database import Connection, Database, Row, row, rows

SQL = statements.load("hosts.sql", __package__)


class HostRecord(msgspec.Struct, frozen=True):
    """A host with the state of its gate."""

    host: str
    domain: str
    """Registrable domain: its hosts share a limit."""
    run_s: float
    """The longest delay of the runs with requests for this host."""
    robots_s: float
    adaptive_s: float
    operator_s: float
    held_until: float
    """In store time; 0 if the host is not held."""
    hold_reason: str
    is_on_trial: bool
    """The circuit has opened and no answer succeeded since: one request at a time."""
    in_flight: int
    runs: int
    """Runs with requests for this host."""

    @property
    def delay_s(self) -> float:
        """The delay from start to start in seconds: the longest of all sources."""
        return max(self.run_s, self.robots_s, self.adaptive_s, self.operator_s)


class OwnerGate(msgspec.Struct, frozen=True):
    """A hold and a delay that a user set at a host for the user's own runs."""

    host: str
    owner: str
    delay_s: float
    held_until: float
    hold_reason: str


class HostStore:
    """1. Hosts are listed by name, by a cursor that neither skips nor repeats one.
    2. Reading changes nothing; a host that no run has met is not found.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    def now(self) -> float:
        """Return store time, in which holds are given."""
        return self._db.now()

    async def find(self, *, is_held: bool = False, after: str = "", limit: int = 100) -> list[HostRecord]:
        """Return hosts with names greater than `after`, optionally only those held now."""

        def work(connection: Connection) -> list[HostRecord]:
            if is_held:
                found = rows(connection, SQL.held, (self._db.now(), after, limit))
            else:
                found = rows(connection, SQL.all, (after, limit))
            return [_record(each) for each in found]

        return await self._db.read(work)

    async def own_gates(self, first: str, last: str) -> list[OwnerGate]:
        """Return what users set for their own runs at the hosts between two names, both included."""
        return await self._db.read(
            lambda connection: [
                OwnerGate(*found) for found in rows(connection, SQL.own, (first, last, self._db.now()))
            ]
        )

    async def get(self, host: str) -> HostRecord:
        """Return a host by name."""

        def work(connection: Connection) -> HostRecord:
            found = row(connection, SQL.by_name, (host,))
            if found is None:
                raise NotFound(
                    f"no run has met the host {host[:200]!r}", hint="`smartspider host list` shows all hosts"
                )
            return _record(found)

        return await self._db.read(work)


def _record(found: Row) -> HostRecord:
    values: Row = (*found[:-3], found[-3] > 0, *found[-2:])
    return HostRecord(*values)
