"""A limit on the messages that clients send over WebSockets, for each connection and for each user."""

from __future__ import annotations

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smartspider.api.middleware.authentication import POLICY_VIOLATION, PRINCIPAL
from smartspider.core.limits.rate_limits import RateLimit, TokenBuckets
from smartspider.interfaces.clock import Clock


class InboundRates(msgspec.Struct, frozen=True, kw_only=True):
    """Messages that a server reads. Watching a screen takes a dozen at once."""

    of_connection: RateLimit = RateLimit(10.0, 100.0)
    of_user: RateLimit = RateLimit(100.0, 1_000.0)


class InboundLimit:
    """Closes a WebSocket with 1008 when its client or its user sends too many messages."""

    def __init__(self, app: ASGIApp, clock: Clock, rates: InboundRates = InboundRates()) -> None:
        self._app, self._clock, self._rates = app, clock, rates
        self._of_user = TokenBuckets(rates.of_user)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a connection."""
        principal = scope.get("state", {}).get(PRINCIPAL)
        if scope["type"] != "websocket" or principal is None:
            await self._app(scope, receive, send)
            return
        own = TokenBuckets(self._rates.of_connection, size=1)

        async def limited() -> Message:
            message = await receive()
            if message["type"] != "websocket.receive":
                return message
            now = self._clock.monotonic()
            if own.take(None, now) or self._of_user.take(principal.name, now):
                end = {"code": POLICY_VIOLATION, "reason": "too many messages"}
                await send({"type": "websocket.close", **end})
                return {"type": "websocket.disconnect", **end}
            return message

        await self._app(scope, limited, send)
