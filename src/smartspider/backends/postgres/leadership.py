"""Leader election on PostgreSQL: renewing a term is one statement."""

from __future__ import annotations

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.interfaces.leadership import Term
from smartspider.store.nodes.leadership import SqlLeadership
from smartspider.store.statements import load

SQL = load("sql/terms.sql", __package__)


class PostgresLeadership(SqlLeadership):
    """See `interfaces/leadership.py`."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database)
        self._postgres = database

    async def take(self, owner: str, term_s: float) -> Term | None:
        """Take or renew a term of `term_s` seconds. Return None while another process leads."""
        now = self.now()
        until = now + term_s
        # Idempotent: sent again after an error, it sets the same end.
        for (epoch,) in await self._postgres.fetch(SQL.prolong, (until, owner, now)):
            return Term(owner, epoch, until)
        return await super().take(owner, term_s)
