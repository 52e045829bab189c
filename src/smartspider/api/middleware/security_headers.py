"""Security headers of all responses."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
DEFAULT_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
)
"""Headers that a response may set itself; HTML pages do."""
HSTS = (b"strict-transport-security", b"max-age=31536000")


class SecureHeaders:
    """Adds security headers to every response, including problems and refused WebSockets."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        always = (*HEADERS, HSTS) if scope.get("scheme") in ("https", "wss") else HEADERS

        async def sent(message: Message) -> None:
            if message["type"].endswith("http.response.start"):
                own = list(message.get("headers", ()))
                names = {name.lower() for name, _ in own}
                more = [header for header in DEFAULT_HEADERS if header[0] not in names]
                message = {**message, "headers": [*own, *always, *more]}
            await send(message)

        await self._app(scope, receive, sent)
