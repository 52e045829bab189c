"""How much a request may bring."""

from __future__ import annotations

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smartspider.api import problems
from smartspider.views.problem import ProblemView


class BodyLimit:
    """Refuses bodies that are too large, by what is announced and by what comes."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app, self._most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not announced.isdigit() or len(announced) > 15 or int(announced) > self._most:
            problem = ProblemView("Too large", 413, "too_large", self._detail(), "send less, or in parts")
            await problems.render_problem(problem, {"Connection": "close"})(scope, receive, send)
            return
        came = 0

        async def received() -> Message:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > self._most:
                raise HTTPException(413, self._detail(), {"Connection": "close"})
            return message

        await self._app(scope, received, send)

    def _detail(self) -> str:
        return f"the body is larger than {self._most} bytes"
