"""Idempotency keys: a call that is repeated with its key returns the first response and has no further
effect.

The repeated response is marked `Idempotency-Replayed: true`. A repeated call waits for the first one; if
the process of the first one died, the repeated call does the work, or builds its response from what the
first one created.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, Header, Request
from starlette.responses import Response

from smartspider.api.limits import ApiLimits
from smartspider.api.security import SignedIn, current_limits, current_services
from smartspider.core.errors import Conflict, RequestInProgress, StoreUnavailable
from smartspider.core.failpoints import reach
from smartspider.core.idempotency import IdempotencyClaim, claim_context
from smartspider.operations.services import Services
from smartspider.store.idempotency import LostResponse, StoredResponse
from smartspider.views.params import IdempotencyKey

POLL_S = 0.2
MAX_KEPT_BYTES = 1_000_000
KEPT_HEADERS = frozenset({"location", "etag", "content-type"})
REPLAYED = "Idempotency-Replayed"

Work = Callable[[], Awaitable[Response]]
Rebuild = Callable[[str], Awaitable[Response]]
"""Builds a response from the subject the first call created, such as `run:7`."""


class KeyedCall:
    """A call with an Idempotency-Key."""

    def __init__(
        self, services: Services, limits: ApiLimits, actor: str, key: str, digest: bytes, *, is_secret: bool
    ) -> None:
        self._actor, self._key, self._digest, self._is_secret = actor, key, digest, is_secret
        self._limits = limits
        self._store, self._clock = services.installation.idempotency, services.installation.clock

    async def answer(self, work: Work, rebuild: Rebuild | None) -> Response:
        """Return the response of `work`, or the stored one. Errors are not stored: the call
        may be retried.
        """
        found = await self._claim()
        if isinstance(found, StoredResponse):
            return _replay(found)
        if isinstance(found, LostResponse):
            return await self._rebuilt(found.subject, rebuild)
        try:
            async with self._renewed(found):
                reach("answer.claimed")
                with claim_context(found):
                    response = await work()
                reach("answer.made")
        except Exception:  # after a cancellation the outcome is unknown: the key stays claimed for a while
            await self._store.abandon(found)
            raise
        if response.status_code >= 300 or len(response.body) > MAX_KEPT_BYTES:
            await self._store.abandon(found)
        else:
            await self._store.store(found, _stored(response, is_secret=self._is_secret))
        return response

    async def _claim(self) -> StoredResponse | LostResponse | IdempotencyClaim:
        give_up_at = self._clock.monotonic() + self._limits.replay_wait_s
        while True:
            try:
                return await self._store.claim(self._actor, self._key, self._digest)
            except RequestInProgress:
                if self._clock.monotonic() >= give_up_at:
                    raise
            await self._clock.sleep(POLL_S)

    @asynccontextmanager
    async def _renewed(self, claim: IdempotencyClaim) -> AsyncIterator[None]:
        """Renew the claim while the block runs."""

        async def renew() -> None:
            while True:
                await self._clock.sleep(self._limits.claim_renewal_s)
                with contextlib.suppress(StoreUnavailable):
                    await self._store.renew(claim)

        renewing = asyncio.create_task(renew())
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.wait([renewing])

    async def _rebuilt(self, subject: str, rebuild: Rebuild | None) -> Response:
        if rebuild is None or self._is_secret:
            raise Conflict(
                f"an earlier request with this Idempotency-Key created {subject}, but its response was lost",
                hint=f"use {subject}, or repeat the request with a new key",
            )
        response = await rebuild(subject)
        response.headers[REPLAYED] = "true"
        return response


def keyed_call(*, is_secret: bool) -> Callable[..., Awaitable[KeyedCall | None]]:
    """Return the dependency of a route that accepts a key; None for a call without one."""

    async def call(
        request: Request,
        services: Annotated[Services, Depends(current_services)],
        principal: SignedIn,
        key: Key = None,
    ) -> KeyedCall | None:
        if key is None:
            return None
        digest, limits = await _digest(request, services), current_limits(request)
        return KeyedCall(services, limits, principal.name, key, digest, is_secret=is_secret)

    return call


async def _digest(request: Request, services: Services) -> bytes:
    """Return the digest of a request. The hash is keyed, so that a password in the body cannot be guessed
    from it.
    """
    digest = hashlib.blake2b(digest_size=32, key=services.access.keys.derive("idempotency"))
    for part in (
        *(request.method.encode(), request.url.path.encode(), request.url.query.encode()),
        *(request.headers.get("content-type", "").encode(), await request.body()),
    ):
        digest.update(b"%d:%b," % (len(part), part))
    return digest.digest()


def _header(described: Any) -> Any:
    """Return the header parameter of the shared description."""
    (param,) = described.__metadata__
    rules = {**param.rules, "alias": param.alias, "description": param.about}
    return Header(**rules, examples=list(param.examples))


Key = Annotated[str | None, _header(IdempotencyKey)]


def _stored(response: Response, *, is_secret: bool) -> StoredResponse:
    headers = {name: value for name, value in response.headers.items() if name in KEPT_HEADERS}
    return StoredResponse(response.status_code, headers, b"" if is_secret else bytes(response.body))


def _replay(stored: StoredResponse) -> Response:
    if not stored.body and "content-type" in stored.headers:
        raise Conflict(
            "this call was made before, and its response contained a secret that is shown only once",
            hint="revoke or delete the created object, and create a new one",
        )
    return Response(stored.body, stored.status, {**stored.headers, REPLAYED: "true"})
