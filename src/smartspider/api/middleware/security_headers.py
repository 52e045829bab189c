"""Headers that every answer has: it is for who asked, it is what it says, and no page may use it."""

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
UNLESS_SAID: tuple[tuple[bytes, bytes], ...] = (
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
)
"""What a page for people sets itself, more widely."""
HSTS = (b"strict-transport-security", b"max-age=31536000")


class SecureHeaders:
    """Adds them to every answer, also to problems and to refused WebSockets."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        always = (*HEADERS, HSTS) if scope.get("scheme") in ("https", "wss") else HEADERS

        async def sent(message: Message) -> None:
            if message["type"].endswith("http.response.start"):
                said = list(message.get("headers", ()))
                names = {name.lower() for name, _ in said}
                more = [header for header in UNLESS_SAID if header[0] not in names]
                message = {**message, "headers": [*said, *always, *more]}
            await send(message)

        await self._app(scope, receive, sent)
