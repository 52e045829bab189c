"""A server of the standard library in a thread, for commands that run in the process of a test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from socketserver import BaseRequestHandler

from smartspider_testing.waiting import join


@contextmanager
def serve_in_thread(handler: Callable[..., BaseRequestHandler]) -> Iterator[str]:
    """Serve on a free port of loopback for the duration of the block; yield the origin."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            join(thread)
