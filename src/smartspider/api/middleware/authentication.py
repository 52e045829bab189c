"""Authentication. Every protected path needs a token, whatever its route declares; no body is read before."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smartspider.api import problems
from smartspider.core.access import Principal
from smartspider.core.errors import NotSignedIn, SmartSpiderError, TooMany
from smartspider.core.limits.rate_limits import RateLimit, TokenBuckets
from smartspider.services.access.access import Access
from smartspider.services.access.authenticator import invalid_token
from smartspider.services.access.sign_in import MAX_QUERY_FIELDS, TICKET, address_of

PUBLIC_PATHS = frozenset(
    {
        "/api/auth/token",
        "/api/auth/session",
        "/api/auth/session/renew",
        "/api/openapi.json",
        "/api/docs",
        "/api/schema/task",
        "/healthz",
        "/readyz",
    }
)
"""Paths that need no token, except to delete something."""
PROTECTED_PREFIXES = ("/api/", "/metrics")
"""Prefixes of protected paths; all other paths are files of the console."""

SOCKET_WORK = 10.0
"""The number of calls that opening a WebSocket counts as."""

PRINCIPAL = "principal"
"""The key of the principal in the state of the scope."""


def is_public(path: str, method: str = "GET") -> bool:
    """Return true if a path needs no token."""
    path = path.rstrip("/")
    is_api = path == "/api" or path.startswith(PROTECTED_PREFIXES)
    return not is_api or (path in PUBLIC_PATHS and method != "DELETE")


class Authentication:
    """Authenticates requests and applies the rate limit of each principal."""

    def __init__(self, app: ASGIApp, access: Access, rate: RateLimit, recheck_s: float) -> None:
        self._app, self._access, self._recheck_s = app, access, recheck_s
        self._buckets = TokenBuckets(rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        is_call = scope["type"] in ("http", "websocket")
        if is_call and not is_public(scope["path"], scope.get("method", "")):
            try:
                principal = await self._authenticate(scope)
                self._apply_rate_limit(principal, SOCKET_WORK if scope["type"] == "websocket" else 1.0)
            except SmartSpiderError as error:
                await problems.problem_response(error)(scope, receive, send)
                return
            scope.setdefault("state", {})[PRINCIPAL] = principal
            is_valid = partial(self._access.is_still_valid, principal)
            receive = ending_when_invalid(scope["type"], receive, send, is_valid, self._recheck_s)
        await self._app(scope, receive, send)

    async def _authenticate(self, scope: Scope) -> Principal:
        token = bearer_token(scope["headers"])
        is_socket = scope["type"] == "websocket"
        if token is not None or not (is_socket or scope["method"] == "GET"):
            return await self._access.authenticator.principal(token or b"")
        query = scope.get("query_string", b"").decode("latin-1")
        try:
            tickets = parse_qs(query, max_num_fields=MAX_QUERY_FIELDS).get(TICKET)
            address = address_of(scope["path"], query)
        except ValueError:
            tickets = None
        if not tickets:
            raise invalid_token()
        caller = client[0] if (client := scope.get("client")) else ""
        principal = await self._access.sign_in.with_ticket(tickets[0], address, caller, is_socket=is_socket)
        scope["query_string"] = address.partition("?")[2].encode()
        return principal

    def _apply_rate_limit(self, principal: Principal, work: float) -> None:
        key = (principal.name, principal.token_id, principal.family)
        wait_s = self._buckets.take(key, self._access.clock.monotonic(), work)
        if wait_s:
            raise TooMany(
                "rate limit exceeded for this token",
                retry_after_s=wait_s,
                hint="send fewer requests; SMARTSPIDER_RATE_LIMIT sets the limit",
            )


def bearer_token(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """Return the token of the Authorization header; None without one. Raise `NotSignedIn` if it is malformed
    or sent twice.
    """
    found = [value for name, value in headers if name == b"authorization"]
    if not found:
        return None
    scheme, _, token = found[0].strip().partition(b" ")
    if len(found) > 1 or scheme.lower() != b"bearer":
        raise NotSignedIn("the Authorization header is malformed", hint="send `Authorization: Bearer TOKEN`")
    return token.strip()


POLICY_VIOLATION = 1008
"""Close code: policy violation."""

IsValid = Callable[[], Awaitable[bool]]


def ending_when_invalid(
    kind: str, receive: Receive, send: Send, is_valid: IsValid, recheck_s: float
) -> Receive:
    """Return a `receive` that also reports a disconnect when `is_valid`, called every `recheck_s`, returns
    false.
    """
    is_waiting = False
    loop = asyncio.get_running_loop()
    check_at = loop.time() + recheck_s

    async def received() -> Message:
        nonlocal is_waiting, check_at
        if not is_waiting:
            message = await receive()
            is_waiting = message["type"] != "http.request" or not message.get("more_body", False)
            return message
        next_message = asyncio.ensure_future(receive())
        try:
            while True:
                await asyncio.wait({next_message}, timeout=max(check_at - loop.time(), 0.0))
                if loop.time() >= check_at:  # also while messages arrive all the time
                    if not await is_valid():
                        return await _end(send, is_websocket=kind == "websocket")
                    check_at = loop.time() + recheck_s
                if next_message.done():
                    return next_message.result()
        finally:
            next_message.cancel()

    return received


async def _end(send: Send, *, is_websocket: bool) -> Message:
    if is_websocket:
        await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": "signed out"})
        return {"type": "websocket.disconnect", "code": POLICY_VIOLATION, "reason": "signed out"}
    await send({"type": "http.response.body", "body": b"", "more_body": False})
    return {"type": "http.disconnect"}


_TICKET = re.compile(r"(ticket=)[^&\s\"']+", re.IGNORECASE)


def mask_tickets_in_logs() -> None:
    """Add the filter to the log of the server."""
    logging.getLogger("uvicorn.error").addFilter(without_tickets)


def without_tickets(record: logging.LogRecord) -> bool:
    """Mask the tickets in a log record; return true, so that it is logged."""
    if isinstance(record.args, tuple):
        record.args = tuple(_mask(one) for one in record.args)
    record.msg = _mask(record.msg)
    return True


def _mask(value: object) -> object:
    return _TICKET.sub(r"\1***", value) if isinstance(value, str) else value
