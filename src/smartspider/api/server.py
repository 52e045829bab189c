"""The HTTP server, as all of ours are set up."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import Any

import uvicorn

from smartspider.api.connection_limits import LimitedConnection, raise_file_limit

DATE_S = 1.0
"""How often the date is put right that answers bear."""


class ApiServer(uvicorn.Server):
    """A server that leaves signals to the process it runs in, and sleeps while nobody asks for anything."""

    def __init__(self, config: uvicorn.Config) -> None:
        self._is_leaving = asyncio.Event()
        super().__init__(config)

    @property
    def should_exit(self) -> bool:
        """Whether it was asked to end."""
        return self._is_leaving.is_set()

    @should_exit.setter
    def should_exit(self, is_leaving: bool) -> None:
        """Asked to end, it wakes up at once."""
        if is_leaving:
            self._is_leaving.set()
        else:
            self._is_leaving.clear()

    async def main_loop(self) -> None:
        """Until it is asked to end: ten looks a second, as there, cost more than all else of an idle API."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(DATE_S):
                    await self._is_leaving.wait()

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]  # no generator
        """Nothing: somebody else listens to them."""
        return nullcontext()


def build_server(app: Any, **more: Any) -> ApiServer:
    """A server for an app. Nothing is logged for each request, and no header names what serves."""
    wire = partial(LimitedConnection, most=raise_file_limit())
    return ApiServer(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            http=wire,  # type: ignore[arg-type]  # it is only called
            server_header=False,
            proxy_headers=False,
            **more,
        )
    )
