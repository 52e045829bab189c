"""Requests that may be sent twice: `@once` under the decorator of every POST that creates something.

With an `Idempotency-Key` a second request gets the answer of the first, marked `Idempotency-Replayed: true`.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Annotated, Any, get_type_hints

from fastapi import Depends, Header, Request
from starlette.responses import Response

from smartspider.api.house import Housed
from smartspider.api.security import Signed
from smartspider.core.errors import Conflict
from smartspider.interfaces.answer_store import AnswerStore, KeptAnswer

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


class Once:
    """One request, and whether it was answered before."""

    def __init__(self, store: AnswerStore, actor: str, key: str, asked: bytes) -> None:
        self._store, self._actor, self._key, self._asked = store, actor, key, asked

    async def answer(self, work: Callable[[], Awaitable[Response]], *, is_secret: bool) -> Response:
        """The answer of `work`, or the one it gave before. Errors are not kept: they may be tried again."""
        kept = await self._store.claim(self._actor, self._key, self._asked)
        if kept is not None:
            return _replayed(kept)
        try:
            response = await work()
        except Exception:  # when cancelled, nobody knows what was done: then the key stays taken for a while
            await self._store.give_up(self._actor, self._key)
            raise
        if response.status_code >= 300 or len(response.body) > LARGEST_KEPT:
            await self._store.give_up(self._actor, self._key)
        else:
            await self._store.keep(self._actor, self._key, _kept(response, is_secret=is_secret))
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
    return Once(house.premises.answers, principal.name, key, asked.digest())


def once(handler: Handler) -> Handler:
    """A route that creates: with an Idempotency-Key it is done once, and answered alike as often as asked."""
    return _wrapped(handler, is_secret=False)


def once_without_secret(handler: Handler) -> Handler:
    """The same for an answer that is shown only once: it is not kept, and asking again is a `Conflict`."""
    return _wrapped(handler, is_secret=True)


def _wrapped(handler: Handler, *, is_secret: bool) -> Handler:
    @wraps(handler)
    async def asked(*args: Any, asked_once: Once | None, **more: Any) -> Response:
        if asked_once is None:
            return await handler(*args, **more)
        return await asked_once.answer(lambda: handler(*args, **more), is_secret=is_secret)

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
