"""Calls to the API of a cluster under test, and a receiver for its webhooks."""

from __future__ import annotations

import http.client
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import msgspec

from smartspider_testing.chaos.processes import ADMIN_TOKEN, wait_until
from smartspider_testing.waiting import join

READY_S = 30.0


def call_api(
    port: int, path: str, method: str = "GET", headers: dict[str, str] | None = None
) -> tuple[int, Any] | None:
    """Return status and JSON of a response, or None without one."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        try:
            connection.request(
                method, path, headers={"Authorization": f"Bearer {ADMIN_TOKEN}", **(headers or {})}
            )
            answer = connection.getresponse()
            return answer.status, msgspec.json.decode(answer.read() or b"null")
        except (OSError, http.client.HTTPException, msgspec.DecodeError):
            return None


def wait_until_serving(port: int) -> None:
    """Wait until the API answers."""
    wait_until(
        lambda: (call_api(port, "/healthz") or (0, None))[0] == http.HTTPStatus.OK, "the API answers", READY_S
    )


class WebhookReceiver:
    """An HTTP server on this machine that records webhook notifications."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        received = self.received

        class Listener(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                """Record the body and answer 204."""
                size = int(self.headers.get("Content-Length", "0"))
                received.append(msgspec.json.decode(self.rfile.read(size)))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_args: Any) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """The URL of the receiver."""
        return f"http://127.0.0.1:{self._server.server_port}/"

    def has_received(self, event: str) -> bool:
        """Return True if a notification of this event has arrived."""
        return any(one.get("event") == event for one in self.received)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        join(self._thread)
