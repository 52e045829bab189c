"""Hosts and what is known of their gates, in SQL."""

from __future__ import annotations

import msgspec

from smartspider.core.errors import NotFound
from smartspider.store import statements
from smartspider.store.database import Connection, Database, Row, row, rows

SQL = statements.load("hosts.sql", __package__)


class HostRecord(msgspec.Struct, frozen=True):
    """A host as the store knows it."""

    host: str
    domain: str
    """Registrable domain: hosts of one share its cap."""
    run_s: float
    """The longest delay of the runs that stand there."""
    robots_s: float
    adaptive_s: float
    operator_s: float
    held_until: float
    """In store time; 0: it is not held."""
    hold_reason: str
    is_on_trial: bool
    """Its circuit has opened and no answer was good since: one request at a time."""
    in_flight: int
    runs: int
    """That stand there."""

    @property
    def delay_s(self) -> float:
        """Seconds from start to start: the longest of all who have a say."""
        return max(self.run_s, self.robots_s, self.adaptive_s, self.operator_s)


class HostStore:
    """1. Hosts are listed by name, by a cursor that never skips or repeats one.
    2. Nothing is ever changed by asking; a host that nobody met is not there.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    def now(self) -> float:
        """Store time, which holds are told in."""
        return self._db.now()

    async def find(self, *, is_held: bool = False, after: str = "", limit: int = 100) -> list[HostRecord]:
        """Hosts with a name greater than `after`; only those that are held now, if asked."""

        def work(connection: Connection) -> list[HostRecord]:
            if is_held:
                found = rows(connection, SQL.held, (self._db.now(), after, limit))
            else:
                found = rows(connection, SQL.all, (after, limit))
            return [_record(each) for each in found]

        return await self._db.read(work)

    async def get(self, host: str) -> HostRecord:
        """One of them."""

        def work(connection: Connection) -> HostRecord:
            found = row(connection, SQL.by_name, (host,))
            if found is None:
                raise NotFound(
                    f"no run has met the host {host[:200]!r}", hint="`smartspider host list` shows all others"
                )
            return _record(found)

        return await self._db.read(work)


def _record(found: Row) -> HostRecord:
    values: Row = (*found[:-3], found[-3] > 0, *found[-2:])
    return HostRecord(*values)
