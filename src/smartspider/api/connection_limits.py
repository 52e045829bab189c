"""Connections with bounds: what a client that never ends, never reads or says too much may cost."""

from __future__ import annotations

import asyncio
from asyncio import TimerHandle
from http import HTTPStatus
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from smartspider.api.default_hints import default_hint
from smartspider.api.problems import MEDIA_TYPE
from smartspider.views.problem import ProblemView

HEAD_S = 15.0
"""How long the first line and the headers of a request may take."""
BODY_S = 120.0
"""How long a body may take."""
UNREAD_S = 120.0
"""How long a client may read nothing of an answer that waits for it."""
LARGEST_HEAD = 65_536
MOST_CONNECTIONS = 10_000
SPARE_FILES = 128
"""Open files that are left for the store, the logs and the previews."""


class LimitedConnection(HttpToolsProtocol):
    """One connection. Whoever is too slow or too long is told so and sent away."""

    def __init__(self, *given: Any, most: int = MOST_CONNECTIONS, **more: Any) -> None:
        super().__init__(*given, **more)
        self._most = most
        self._timer: TimerHandle | None = None
        self._unread: TimerHandle | None = None
        self._head: int | None = 0
        """Bytes of the head so far; None after it."""
        self._is_within = False
        """Whether a request has begun and not ended."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the parent
        """Somebody came."""
        super().connection_made(transport)
        if len(self.connections) > self._most:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "too_many", "there are too many connections")
        else:
            self._within(HEAD_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """They left."""
        self._within(None)
        self._stop_unread()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """They said something."""
        if self.transport.is_closing():
            return
        if not self._is_within:
            self._is_within, self._head = True, 0
            self._within(HEAD_S)
        if self._head is not None:
            self._head += len(data)
        super().data_received(data)
        if self._head is not None and self._head > LARGEST_HEAD and not self.transport.is_closing():
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too_large", "the headers are too large")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; what comes after the body is passed over."""
        if self._head is not None:
            super().on_header(name, value)

    def on_message_begin(self) -> None:
        """A request begins, perhaps in the same bytes in which another ended."""
        self._is_within = True
        self._head = self._head or 0
        if self._timer is None:
            self._within(HEAD_S)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._head = None
        self._within(BODY_S)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The body is whole."""
        self._is_within = False
        self._within(None)
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Another protocol goes on, with bounds of its own."""
        self._within(None)
        super().handle_websocket_upgrade()

    def pause_writing(self) -> None:
        """What was answered is not read."""
        super().pause_writing()
        self._stop_unread()
        self._unread = self.loop.call_later(UNREAD_S, self.transport.abort)

    def resume_writing(self) -> None:
        """It is read again."""
        self._stop_unread()
        super().resume_writing()

    def _within(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._too_slow)

    def _stop_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _too_slow(self) -> None:
        if self.transport.is_closing():
            return
        has_answered = self._head is None and self.cycle.response_started
        if has_answered or not self._is_within:
            self.transport.close()
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "timeout", "the request did not come to an end")

    def send_400_response(self, msg: str) -> None:
        """What came is no HTTP."""
        self._refuse(HTTPStatus.BAD_REQUEST, "bad_request", msg[:1].lower() + msg[1:].rstrip("."))

    def _refuse(self, status: HTTPStatus, code: str, detail: str) -> None:
        problem = ProblemView(status.phrase, status.value, code, detail, default_hint(status.value))
        body = msgspec.json.encode(problem)
        lines = (
            f"HTTP/1.1 {status.value} {status.phrase}",
            f"content-type: {MEDIA_TYPE}",
            f"content-length: {len(body)}",
            "connection: close",
            "",
            "",
        )
        self.transport.write("\r\n".join(lines).encode("ascii") + body)
        self.transport.close()


def raise_file_limit() -> int:
    """Have as many open files as the system lets this process have; how many connections that makes."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_CONNECTIONS + SPARE_FILES
    wanted = most if hard == resource.RLIM_INFINITY else min(hard, most)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return max(most if soft == resource.RLIM_INFINITY else min(soft, most), 2 * SPARE_FILES) - SPARE_FILES
