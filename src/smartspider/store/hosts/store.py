"""Hosts and what is known of their gates, in SQL."""

from __future__ import annotations

from smartspider.core.errors import NotFound
from smartspider.interfaces.host_book import HostRecord
from smartspider.store import statements
from smartspider.store.database import Connection, Database, Row, row, rows

SQL = statements.load("hosts.sql", __package__)


class SqlHostBook:
    """See `interfaces/host_book.py`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def now(self) -> float:
        """Store time."""
        return self._db.now()

    async def find(self, *, is_held: bool = False, after: str = "", limit: int = 100) -> list[HostRecord]:
        """Hosts by name, a page at a time."""

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
