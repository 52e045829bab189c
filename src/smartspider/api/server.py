"""The HTTP server, as all of ours are set up."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import uvicorn

from smartspider.api.wire import Wire, open_files


class Server(uvicorn.Server):
    """A server that leaves signals to the process it runs in."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]  # no generator
        """Nothing: somebody else listens to them."""
        return nullcontext()


def server_of(app: Any, **more: Any) -> Server:
    """A server for an app. Nothing is logged for each request, and no header names what serves."""
    wire = partial(Wire, most=open_files())
    return Server(
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
