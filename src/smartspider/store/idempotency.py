"""Answers to requests that may be sent twice, in SQL. `mark_claim` runs in the transaction that makes something."""

from __future__ import annotations

import secrets

import msgspec

from smartspider.core.errors import Conflict, RequestInProgress
from smartspider.core.idempotency import IdempotencyClaim
from smartspider.store import statements
from smartspider.store.database import Connection, Database, row, rows

SQL = statements.load("idempotency.sql", __package__)

PIECE = 500
"""Answers that are forgotten in one transaction."""


RESPONSE_TTL_S = 86_400.0


CLAIM_TIMEOUT_S = 5.0
"""After this without a word of its holder a claim counts as given up: its process died."""


class StoredResponse(msgspec.Struct, frozen=True):
    """An answer as it was given."""

    status: int
    headers: dict[str, str]
    body: bytes


class LostResponse(msgspec.Struct, frozen=True):
    """What was made of a request whose answer got lost with its process, such as `run:7`."""

    subject: str


def mark_claim(connection: Connection, claim: IdempotencyClaim, subject: str) -> None:
    """Write down what is made under a claim; raises `Conflict` for one that was lost, and nothing is made."""
    connection.execute(SQL.mark, (subject.encode(), *_place(claim)))
    if not connection.changes():
        raise Conflict(
            "another request with this Idempotency-Key was begun meanwhile", hint="ask again for its answer"
        )


def _place(claim: IdempotencyClaim) -> tuple[str, str, str]:
    return claim.actor, claim.key, claim.token


class IdempotencyStore:
    """1. Of several requests of one actor with one key, one is worked on; others get its answer, or
       `Unanswered` while there is none, or a `Conflict` when they ask for something else.
    2. A request that was given up, or whose holder has been silent for `CLAIM_TIMEOUT_S`, can be worked on again,
       unless something was made of it.
    3. Answers are kept for a day.
    4. What is audited while a claim is worked on (`core.idempotency.claim_context`) is made in one transaction with a
       mark at that claim. Who asks again is told of it (`LostResponse`), and nothing is made twice, wherever the
       first one died.
    5. Whoever lost a claim, because another has it or its answer is kept, can make nothing under it any more.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def claim(
        self, actor: str, key: str, asked: bytes
    ) -> StoredResponse | LostResponse | IdempotencyClaim:
        """The answer that was given, what was made without an answer, or the claim: it is ours to work on."""
        found = await self._db.read(lambda connection: self._known(connection, actor, key, asked))
        if found is not None:
            return found
        claim = IdempotencyClaim(actor, key, secrets.token_hex(8))

        def work(connection: Connection) -> StoredResponse | LostResponse | IdempotencyClaim:
            known = self._known(connection, actor, key, asked)
            if known is not None:
                return known
            connection.execute(SQL.claim, (actor, key, asked, self._db.now(), claim.token))
            return claim

        return await self._db.write(work)

    async def renew(self, claim: IdempotencyClaim) -> None:
        """It is still worked on."""
        values = (self._db.now(), *_place(claim))
        await self._db.write(lambda connection: connection.execute(SQL.renew, values))

    async def keep(self, claim: IdempotencyClaim, answer: StoredResponse) -> None:
        """Keep the answer to what was claimed."""
        headers = msgspec.json.encode(answer.headers).decode()
        values = (answer.status, headers, answer.body, *_place(claim))
        await self._db.write(lambda connection: connection.execute(SQL.keep, values))

    async def give_up(self, claim: IdempotencyClaim) -> None:
        """No answer will come; somebody may try again, and gets what was made, if anything was."""

        def work(connection: Connection) -> None:
            connection.execute(SQL.give_up, _place(claim))
            connection.execute(SQL.lapse, (CLAIM_TIMEOUT_S, *_place(claim)))

        await self._db.write(work)

    async def sweep(self) -> int:
        """Forget some answers that are older than a day; how many, 0 when there are no more."""
        old = await self._db.read(
            lambda connection: rows(connection, SQL.old, (self._db.now() - RESPONSE_TTL_S, PIECE))
        )
        if old:  # a write transaction for nothing would wake whoever watches the file
            await self._db.write(lambda connection: connection.executemany(SQL.forget, old))
        return len(old)

    def _known(
        self, connection: Connection, actor: str, key: str, asked: bytes
    ) -> StoredResponse | LostResponse | None:
        found = row(connection, SQL.find, (actor, key))
        if found is None:
            return None
        before, created_at, status, headers, body = found
        age_s = self._db.now() - created_at
        is_silent = status is None and age_s >= CLAIM_TIMEOUT_S
        if age_s >= RESPONSE_TTL_S or (is_silent and body is None):
            return None
        if before != asked:
            raise Conflict(
                "this Idempotency-Key came with another request before",
                hint="use a new key for a new request",
            )
        if is_silent:
            return LostResponse(bytes(body).decode())
        if status is None:
            raise RequestInProgress(
                "the first request with this key is not answered yet", hint="try again soon"
            )
        return StoredResponse(status, msgspec.json.decode(headers, type=dict[str, str]), body)
