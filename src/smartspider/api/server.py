"""The configuration of HTTP servers."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import Any

import uvicorn

from smartspider.api.connection_limits import ConnectionLimits, LimitedConnection, raise_file_limit
from smartspider.api.websocket_limits import InboundBudgets, LimitedWebSocket

DATE_S = 1.0
"""Interval at which the Date header is updated."""


class ApiServer(uvicorn.Server):
    """A server without signal handlers that stays asleep while it is idle."""

    def __init__(self, config: uvicorn.Config) -> None:
        self._shutdown = asyncio.Event()
        super().__init__(config)

    @property
    def should_exit(self) -> bool:
        """True once shutdown is requested."""
        return self._shutdown.is_set()

    @should_exit.setter
    def should_exit(self, is_requested: bool) -> None:
        """Request shutdown; wakes the server at once."""
        if is_requested:
            self._shutdown.set()
        else:
            self._shutdown.clear()

    async def main_loop(self) -> None:
        """Wait for shutdown. Uvicorn's loop wakes up ten times a second, which is most of the load of an idle
        API.
        """
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(DATE_S):
                    await self._shutdown.wait()

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]  # not a generator
        """Do nothing: the process handles signals."""
        return nullcontext()


def build_server(app: Any, limits: ConnectionLimits | None = None, **options: Any) -> ApiServer:
    """Return a server for an app, without an access log and a Server header.

    By default it accepts as many connections as the limit of open files allows.
    """
    limits = limits or ConnectionLimits(max_connections=raise_file_limit())
    options.setdefault("ws", partial(LimitedWebSocket, limits=limits, budgets=InboundBudgets()))
    return ApiServer(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            http=partial(LimitedConnection, limits=limits),  # type: ignore[arg-type]  # it is only called
            server_header=False,
            proxy_headers=False,
            **options,
        )
    )
