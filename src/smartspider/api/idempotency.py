"""Requests that may be sent twice: `@once` under the decorator of every POST that creates something.

With an `Idempotency-Key` a second request gets the answer of the first, marked `Idempotency-Replayed: true`.
It waits for that a little; when the process of the first died, the second does the work, or tells what came
of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from typing import Annotated, Any, get_type_hints

import msgspec
from fastapi import Depends, Header, Request
from starlette.responses import Response

from smartspider.api.house import Housed
from smartspider.api.security import Signed
from smartspider.core.claims import Claim, working_on
from smartspider.core.errors import Conflict, StoreUnavailable, Unanswered
from smartspider.core.failpoints import reach
from smartspider.interfaces.answer_store import WORKED_ON_S, KeptAnswer, Made
from smartspider.wiring.house import House

RENEW_S = WORKED_ON_S / 4
PATIENCE_S = WORKED_ON_S + 1.0
"""How long a request waits for the answer of one before it: by then that one has it, works on, or is dead."""
LOOK_S = 0.2
MAX_KEY = 200
LARGEST_KEPT = 1_000_000
KEPT_HEADERS = frozenset({"location", "etag", "content-type"})
REPLAYED = "Idempotency-Replayed"

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=MAX_KEY,
        description="Any text that is new for each act: sent again with the same request within a day, the "
        "first answer comes again and nothing is done twice.",
        examples=["5f0c6d1e-start-of-monday"],
    ),
]
Handler = Callable[..., Awaitable[Response]]
Retell = Callable[[House, str], Awaitable[Response]]
"""The answer about what was made, such as `run:7`, once more."""


class Manner(msgspec.Struct, frozen=True):
    """How the answer of a route is given again."""

    is_secret: bool = False
    retell: Retell | None = None


class Once:
    """One request, and whether it was answered before."""

    def __init__(self, house: House, actor: str, key: str, asked: bytes) -> None:
        self._house, self._actor, self._key, self._asked = house, actor, key, asked
        self._store, self._clock = house.premises.answers, house.premises.clock

    async def answer(self, work: Callable[[], Awaitable[Response]], manner: Manner) -> Response:
        """The answer of `work`, or the one it gave before. Errors are not kept: they may be tried again."""
        found = await self._claimed()
        if isinstance(found, KeptAnswer):
            return _replayed(found)
        if isinstance(found, Made):
            return await self._retold(found.subject, manner)
        try:
            async with self._held(found):
                reach("answer.claimed")
                with working_on(found):
                    response = await work()
                reach("answer.made")
        except Exception:  # when cancelled, nobody knows what was done: then the key stays taken for a while
            await self._store.give_up(found)
            raise
        if response.status_code >= 300 or len(response.body) > LARGEST_KEPT:
            await self._store.give_up(found)
        else:
            await self._store.keep(found, _kept(response, is_secret=manner.is_secret))
        return response

    async def _claimed(self) -> KeptAnswer | Made | Claim:
        give_up_at = self._clock.monotonic() + PATIENCE_S
        while True:
            try:
                return await self._store.claim(self._actor, self._key, self._asked)
            except Unanswered:
                if self._clock.monotonic() >= give_up_at:
                    raise
            await self._clock.sleep(LOOK_S)

    @asynccontextmanager
    async def _held(self, claim: Claim) -> AsyncIterator[None]:
        """Whoever works on it for long says so now and then."""

        async def renew() -> None:
            while True:
                await self._clock.sleep(RENEW_S)
                with contextlib.suppress(StoreUnavailable):
                    await self._store.renew(claim)

        renewing = asyncio.create_task(renew())
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.wait([renewing])

    async def _retold(self, subject: str, manner: Manner) -> Response:
        if manner.retell is None or manner.is_secret:
            raise Conflict(
                f"this was done before, and its answer is lost: {subject} came of it",
                hint="look at what was made; use a new key to do it once more",
            )
        response = await manner.retell(self._house, subject)
        response.headers[REPLAYED] = "true"
        return response


async def _once(request: Request, house: Housed, principal: Signed, key: Key = None) -> Once | None:
    if key is None:
        return None
    # with a key: a body may hold a password, and what is kept must not help to guess it
    asked = hashlib.blake2b(digest_size=32, key=house.access.keys.derived("idempotency"))
    for part in (
        *(request.method.encode(), request.url.path.encode(), request.url.query.encode()),
        *(request.headers.get("content-type", "").encode(), await request.body()),
    ):
        asked.update(b"%d:%b," % (len(part), part))
    return Once(house, principal.name, key, asked.digest())


def once(handler: Handler) -> Handler:
    """A route that creates: with an Idempotency-Key it is done once, and answered alike as often as asked."""
    return _wrapped(handler, Manner())


def once_retold(retell: Retell) -> Callable[[Handler], Handler]:
    """The same for a route that can answer from what was made alone, when the first answer got lost."""
    return lambda handler: _wrapped(handler, Manner(retell=retell))


def once_without_secret(handler: Handler) -> Handler:
    """The same for an answer that is shown only once: it is not kept, and asking again is a `Conflict`."""
    return _wrapped(handler, Manner(is_secret=True))


def _wrapped(handler: Handler, manner: Manner) -> Handler:
    @wraps(handler)
    async def asked(*args: Any, asked_once: Once | None, **more: Any) -> Response:
        if asked_once is None:
            return await handler(*args, **more)
        return await asked_once.answer(lambda: handler(*args, **more), manner)

    hints = get_type_hints(handler, include_extras=True)
    signature = inspect.signature(handler)
    known = [
        one.replace(annotation=hints.get(name, one.annotation)) for name, one in signature.parameters.items()
    ]
    extra = inspect.Parameter(
        "asked_once", inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[Once | None, Depends(_once)]
    )
    asked.__signature__ = signature.replace(  # type: ignore[attr-defined]  # read by FastAPI
        parameters=[*known, extra], return_annotation=Response
    )
    return asked


def _kept(response: Response, *, is_secret: bool) -> KeptAnswer:
    headers = {name: value for name, value in response.headers.items() if name in KEPT_HEADERS}
    return KeptAnswer(response.status_code, headers, b"" if is_secret else bytes(response.body))


def _replayed(kept: KeptAnswer) -> Response:
    if not kept.body and "content-type" in kept.headers:
        raise Conflict(
            "this was done before, and its answer held a secret that is shown only once",
            hint="look for what was created, revoke it and create another",
        )
    return Response(kept.body, kept.status, {**kept.headers, REPLAYED: "true"})
