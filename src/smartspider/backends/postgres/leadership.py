"""Who keeps house, on PostgreSQL: a term is prolonged by one statement."""

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
        """Lead, or go on leading, for so long; None while another does."""
        now = self.now()
        until = now + term_s
        # Sent again after an error, it changes nothing: what it says of the end is what was asked for then.
        for (epoch,) in await self._postgres.fetch(SQL.prolong, (until, owner, now)):
            return Term(owner, epoch, until)
        return await super().take(owner, term_s)
