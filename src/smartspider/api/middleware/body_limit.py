"""A size limit for request bodies."""

from __future__ import annotations

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smartspider.api import problems
from smartspider.views.problem import ProblemView


class BodyLimit:
    """Refuses bodies over the limit, by Content-Length and by the bytes received."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app, self._max_bytes = app, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not declared.isdigit() or len(declared) > 15 or int(declared) > self._max_bytes:
            problem = ProblemView(
                "Too large", 413, "too_large", self._detail(), "send a smaller body, or split it"
            )
            await problems.render_problem(problem, {"Connection": "close"})(scope, receive, send)
            return
        size = 0

        async def received() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._max_bytes:
                raise HTTPException(413, self._detail(), {"Connection": "close"})
            return message

        await self._app(scope, received, send)

    def _detail(self) -> str:
        return f"the body is larger than {self._max_bytes} bytes"
