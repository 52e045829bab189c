"""A separate port for metrics, without authentication."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from smartspider.api.problems import render_problem
from smartspider.api.prometheus import MEDIA_TYPE, render_metrics
from smartspider.api.server import build_server
from smartspider.core.errors import SettingInvalid
from smartspider.views.problem import ProblemView

SHUTDOWN_S = 1


class MetricsOnly:
    """An app that answers `GET /metrics` and nothing else."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] == "http":
            await (await self._answer(scope))(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response:
        if (scope["method"], scope["path"]) != ("GET", "/metrics"):
            return render_problem(
                ProblemView("Not found", 404, "not_found", "this port serves only /metrics", "GET /metrics")
            )
        text = await render_metrics(self._app.state.services.installation, self._app.state.timings)
        return Response(text, media_type=MEDIA_TYPE)


@asynccontextmanager
async def metrics_port(app: FastAPI) -> AsyncIterator[int | None]:
    """Serve metrics at `SMARTSPIDER_METRICS_PORT` if it is set; yield the port, or None."""
    address = app.state.services.installation.settings.metrics_address
    if address is None:
        yield None
        return
    server = build_server(
        MetricsOnly(app), host=address[0], port=address[1], ws="none", timeout_graceful_shutdown=SHUTDOWN_S
    )
    task = asyncio.create_task(_serve(server, address))
    while not server.started:
        if task.done():
            await task  # raises the reason why it did not start
        await asyncio.sleep(0.005)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await task


async def _serve(server: uvicorn.Server, address: tuple[str, int]) -> None:
    try:
        await server.serve()
    except SystemExit:  # uvicorn exits if it cannot listen
        raise SettingInvalid(
            f"SMARTSPIDER_METRICS_PORT: cannot listen on {address[0]}:{address[1]}",
            hint="choose another port, or stop the process that uses it",
        ) from None
