"""Idempotent requests (Idempotency-Key) and their stored responses.

`mark_claim` runs in the transaction that creates something.
"""

from __future__ import annotations

import secrets

import msgspec

from smartspider.core.errors import Conflict, RequestInProgress
from smartspider.core.idempotency import IdempotencyClaim
from smartspider.store import statements
from smartspider.store.database import Connection, Database, row, rows

SQL = statements.load("idempotency.sql", __package__)

BATCH = 500
"""Responses deleted in one transaction."""


RESPONSE_TTL_S = 86_400.0


CLAIM_TIMEOUT_S = 5.0
"""A claim that was not renewed for this long is abandoned: its process died."""


class StoredResponse(msgspec.Struct, frozen=True):
    """A response as it was sent."""

    status: int
    headers: dict[str, str]
    body: bytes


class LostResponse(msgspec.Struct, frozen=True):
    """The subject that a request created before its response was lost, such as `run:7`."""

    subject: str


def mark_claim(connection: Connection, claim: IdempotencyClaim, subject: str) -> None:
    """Record what is created under a claim. Raise `Conflict` if the claim was lost."""
    connection.execute(SQL.mark, (subject.encode(), *_place(claim)))
    if not connection.changes():
        raise Conflict(
            "another request with this Idempotency-Key was started meanwhile",
            hint="repeat the request to get its response",
        )


def _place(claim: IdempotencyClaim) -> tuple[str, str, str]:
    return claim.actor, claim.key, claim.token


class IdempotencyStore:
    """1. Of several requests of one actor with one key, one is processed. The others get its response, or
       `RequestInProgress` while there is none, or `Conflict` if they differ.
    2. A request that was abandoned, or not renewed for `claim_timeout_s`, can be processed again, unless
       it has created something.
    3. Responses are stored for a day.
    4. Whatever is audited under a claim (`core.idempotency.claim_context`) is committed together with a
       mark at that claim. A repeated request gets the mark (`LostResponse`), and nothing is created twice,
       wherever the first one died.
    5. A process that lost its claim, to another one or to a stored response, can create nothing under it.
    """

    def __init__(self, database: Database, *, claim_timeout_s: float = CLAIM_TIMEOUT_S) -> None:
        self._db, self._claim_timeout_s = database, claim_timeout_s

    async def claim(
        self, actor: str, key: str, request: bytes
    ) -> StoredResponse | LostResponse | IdempotencyClaim:
        """Return the stored response, what was created without a response, or a new claim to process the
        request.
        """
        found = await self._db.read(lambda connection: self._known(connection, actor, key, request))
        if found is not None:
            return found
        claim = IdempotencyClaim(actor, key, secrets.token_hex(8))

        def work(connection: Connection) -> StoredResponse | LostResponse | IdempotencyClaim:
            known = self._known(connection, actor, key, request)
            if known is not None:
                return known
            connection.execute(SQL.claim, (actor, key, request, self._db.now(), claim.token))
            return claim

        return await self._db.write(work)

    async def renew(self, claim: IdempotencyClaim) -> None:
        """Renew a claim that is being processed."""
        values = (self._db.now(), *_place(claim))
        await self._db.write(lambda connection: connection.execute(SQL.renew, values))

    async def store(self, claim: IdempotencyClaim, response: StoredResponse) -> None:
        """Store the response of a claimed request."""
        headers = msgspec.json.encode(response.headers).decode()
        values = (response.status, headers, response.body, *_place(claim))
        await self._db.write(lambda connection: connection.execute(SQL.keep, values))

    async def abandon(self, claim: IdempotencyClaim) -> None:
        """Abandon a claim without a response. A repeated request gets what was created, if anything was."""

        def work(connection: Connection) -> None:
            connection.execute(SQL.give_up, _place(claim))
            connection.execute(SQL.lapse, (self._claim_timeout_s, *_place(claim)))

        await self._db.write(work)

    async def sweep(self) -> int:
        """Delete some responses older than a day. Return the number, 0 when none are left."""
        old = await self._db.read(
            lambda connection: rows(connection, SQL.old, (self._db.now() - RESPONSE_TTL_S, BATCH))
        )
        if old:  # an empty write transaction would wake everything that watches the file
            await self._db.write(lambda connection: connection.executemany(SQL.forget, old))
        return len(old)

    def _known(
        self, connection: Connection, actor: str, key: str, request: bytes
    ) -> StoredResponse | LostResponse | None:
        found = row(connection, SQL.find, (actor, key))
        if found is None:
            return None
        before, created_at, status, headers, body = found
        age_s = self._db.now() - created_at
        is_silent = status is None and age_s >= self._claim_timeout_s
        if age_s >= RESPONSE_TTL_S or (is_silent and body is None):
            return None
        if before != request:
            raise Conflict(
                "this Idempotency-Key was used with another request",
                hint="use a new key for a new request",
            )
        if is_silent:
            return LostResponse(bytes(body).decode())
        if status is None:
            raise RequestInProgress(
                "the first request with this key is still in progress", hint="try again soon"
            )
        return StoredResponse(status, msgspec.json.decode(headers, type=dict[str, str]), body)
