"""Leader election in the database. `check` runs inside the transaction of a leader's write."""

from __future__ import annotations

from smartspider.core.errors import LeadershipLost
from smartspider.interfaces.leadership import Term
from smartspider.store import statements
from smartspider.store.database import Connection, Database, Row, one, rows

SQL = statements.load("leadership.sql", __package__)


def check(connection: Connection, epoch: int) -> None:
    """Raise `LeadershipLost` unless this is the newest epoch."""
    _require(_newest(rows(connection, SQL.current)), epoch)


def _require(newest: Term, epoch: int) -> None:
    if newest.epoch != epoch:
        raise LeadershipLost(
            f"term {epoch} has ended: the newest is {newest.epoch}, of {newest.owner or 'no process'}"
        )


def _newest(found: list[Row]) -> Term:
    return Term(*found[0]) if found else Term("", 0, 0.0)


class SqlLeadership:
    """See `interfaces/leadership.py`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def now(self) -> float:
        """Return store time, as this process knows it."""
        return self._db.now()

    async def take(self, owner: str, term_s: float) -> Term | None:
        """Take or renew a term of `term_s` seconds. Return None while another process leads."""

        def work(connection: Connection) -> Term | None:
            now, newest = self._db.now(), _newest(rows(connection, SQL.contested))
            is_over = newest.until <= now
            if newest.owner != owner and not is_over:
                return None
            until = now + term_s
            epoch = one(connection, *((SQL.take, (owner, until)) if is_over else (SQL.prolong, (until,))))
            return Term(owner, int(epoch), until)

        return await self._db.write_concurrently(work)

    async def resign(self, owner: str) -> None:
        """End the owner's own term."""
        await self._db.write_concurrently(
            lambda connection: connection.execute(SQL.resign, (self._db.now(), owner))
        )

    async def current(self) -> Term | None:
        """Return the unexpired term, if there is one."""
        newest = await self.newest()
        return newest if newest.until > self._db.now() else None

    async def newest(self) -> Term:
        """Return the newest term, expired or not."""
        return _newest(await self._db.fetch(SQL.current))

    async def check(self, epoch: int) -> None:
        """Raise `LeadershipLost` unless this is the newest epoch."""
        _require(_newest(await self._db.fetch(SQL.current)), epoch)
