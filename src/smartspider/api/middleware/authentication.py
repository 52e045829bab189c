"""The door: nobody comes in without a token, whatever a route says. Nothing is read before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smartspider.api import problems
from smartspider.core.access import Principal
from smartspider.core.errors import NotSignedIn, SmartSpiderError, TooMany
from smartspider.core.rate_limits import RateLimit, TokenBuckets
from smartspider.services.access.access import Access
from smartspider.services.access.authenticator import unknown

OPEN = frozenset(
    {"/api/auth/token", "/api/openapi.json", "/api/docs", "/api/schema/task", "/healthz", "/readyz"}
)
"""What everybody may ask for."""
GUARDED = ("/api/", "/metrics")
"""Where the rest begins; what is elsewhere are files of the console."""

MOST_FIELDS = 50
PRINCIPAL = "principal"
"""Where the scope has who came."""


def is_public(path: str) -> bool:
    """Whether a path needs no token."""
    path = path.rstrip("/")
    return path in OPEN or not (path == "/api" or path.startswith(GUARDED))


class Authentication:
    """Finds out who comes, and how often they do."""

    def __init__(self, app: ASGIApp, access: Access, rate: RateLimit) -> None:
        self._app, self._access = app, access
        self._buckets = TokenBuckets(rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] in ("http", "websocket") and not is_public(scope["path"]):
            try:
                principal = await self._who(scope)
                self._count(principal)
            except SmartSpiderError as error:
                await problems.problem_response(error)(scope, receive, send)
                return
            scope.setdefault("state", {})[PRINCIPAL] = principal
            is_good = partial(self._access.is_still_valid, principal)
            receive = ending_when_invalid(scope["type"], receive, send, is_good)
        await self._app(scope, receive, send)

    async def _who(self, scope: Scope) -> Principal:
        token = bearer_token(scope["headers"])
        if token is not None or scope["type"] == "http":
            return await self._access.authenticator.principal(token or b"")
        try:
            query = parse_qs(scope.get("query_string", b"").decode("latin-1"), max_num_fields=MOST_FIELDS)
        except ValueError:
            query = {}
        tickets = query.get("ticket")
        if not tickets:
            raise unknown()
        client = scope.get("client")
        return await self._access.sign_in.with_ticket(tickets[0], client[0] if client else "")

    def _count(self, principal: Principal) -> None:
        wait_s = self._buckets.take(
            (principal.name, principal.token_id, principal.family), self._access.clock.monotonic()
        )
        if wait_s:
            raise TooMany(
                "this token sends more requests than it may",
                retry_after_s=wait_s,
                hint="slow down; SMARTSPIDER_RATE_LIMIT sets how many there may be",
            )


def bearer_token(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """The token of an Authorization header; None without one. Two of them are none we can trust."""
    found = [value for name, value in headers if name == b"authorization"]
    if not found:
        return None
    scheme, _, token = found[0].strip().partition(b" ")
    if len(found) > 1 or scheme.lower() != b"bearer":
        raise NotSignedIn(
            "the Authorization header is not understood", hint="send `Authorization: Bearer TOKEN`"
        )
    return token.strip()


EVERY_S = 5.0
"""How often somebody who watches is looked at again."""
NOT_ANY_MORE = 1008
"""Close code: against the rules."""

IsGood = Callable[[], Awaitable[bool]]


def ending_when_invalid(kind: str, receive: Receive, send: Send, is_good: IsGood) -> Receive:
    """`receive` of a kind of scope, with an end that comes also when `is_good` says no."""
    is_waiting = False

    async def received() -> Message:
        nonlocal is_waiting
        if not is_waiting:
            message = await receive()
            is_waiting = message["type"] != "http.request" or not message.get("more_body", False)
            return message
        coming = asyncio.ensure_future(receive())
        try:
            while True:
                done, _ = await asyncio.wait({coming}, timeout=EVERY_S)
                if done:
                    return coming.result()
                if not await is_good():
                    return await _end(send, is_websocket=kind == "websocket")
        finally:
            coming.cancel()

    return received


async def _end(send: Send, *, is_websocket: bool) -> Message:
    if is_websocket:
        await send({"type": "websocket.close", "code": NOT_ANY_MORE, "reason": "signed out"})
        return {"type": "websocket.disconnect", "code": NOT_ANY_MORE, "reason": "signed out"}
    await send({"type": "http.response.body", "body": b"", "more_body": False})
    return {"type": "http.disconnect"}
