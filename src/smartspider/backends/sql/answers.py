"""Answers to requests that may be sent twice, in SQL."""

from __future__ import annotations

import msgspec

from smartspider.backends.sql import statements
from smartspider.backends.sql.connection import Connection, Database, row, rows
from smartspider.core.errors import Conflict
from smartspider.interfaces.answer_store import KEPT_S, WORKED_ON_S, KeptAnswer

SQL = statements.load("answers.sql")

PIECE = 500
"""Answers that are forgotten in one transaction."""


class SqlAnswerStore:
    """See `interfaces/answer_store.py`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def claim(self, actor: str, key: str, asked: bytes) -> KeptAnswer | None:
        """The answer that was given, or None: it is ours to work on."""
        found = await self._db.read(lambda connection: self._known(connection, actor, key, asked))
        if found is not None:
            return found

        def work(connection: Connection) -> KeptAnswer | None:
            known = self._known(connection, actor, key, asked)
            if known is None:
                connection.execute(SQL.claim, (actor, key, asked, self._db.now()))
            return known

        return await self._db.write(work)

    async def keep(self, actor: str, key: str, answer: KeptAnswer) -> None:
        """Keep the answer to what was claimed."""
        headers = msgspec.json.encode(answer.headers).decode()
        values = (answer.status, headers, answer.body, actor, key)
        await self._db.write(lambda connection: connection.execute(SQL.keep, values))

    async def give_up(self, actor: str, key: str) -> None:
        """Nothing was done; somebody may try again."""
        await self._db.write(lambda connection: connection.execute(SQL.give_up, (actor, key)))

    async def sweep(self) -> int:
        """Forget answers that are older than a day, so many at a time."""
        old = await self._db.read(
            lambda connection: rows(connection, SQL.old, (self._db.now() - KEPT_S, PIECE))
        )
        if old:  # a write transaction for nothing would wake whoever watches the file
            await self._db.write(lambda connection: connection.executemany(SQL.forget, old))
        return len(old)

    def _known(self, connection: Connection, actor: str, key: str, asked: bytes) -> KeptAnswer | None:
        found = row(connection, SQL.find, (actor, key))
        if found is None:
            return None
        before, created_at, status, headers, body = found
        age_s = self._db.now() - created_at
        if age_s >= (KEPT_S if status is not None else WORKED_ON_S):
            return None
        if before != asked:
            raise Conflict(
                "this Idempotency-Key came with another request before",
                hint="use a new key for a new request",
            )
        if status is None:
            raise Conflict("the first request with this key is not answered yet", hint="try again soon")
        return KeptAnswer(status, msgspec.json.decode(headers, type=dict[str, str]), body)
