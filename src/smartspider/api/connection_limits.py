"""HTTP connections with timeouts and size limits, against clients that are too slow or send too much."""

from __future__ import annotations

import asyncio
from asyncio import TimerHandle
from http import HTTPStatus
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from smartspider.api.problems import MEDIA_TYPE, default_hint
from smartspider.views.problem import ProblemView

MAX_CONNECTIONS = 10_000
SPARE_FILES = 128
"""File descriptors reserved for the store, logs and previews."""


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Timeouts and sizes that one connection must keep, and the number of connections."""

    head_timeout_s: float = 15.0
    """Timeout for the request line and the headers."""
    body_timeout_s: float = 120.0
    write_timeout_s: float = 120.0
    """Timeout for a client that does not read its response."""
    max_head_bytes: int = 65_536
    max_connections: int = MAX_CONNECTIONS


class WriteTimeout(asyncio.Protocol):
    """A connection that is disconnected when its client does not read for too long."""

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    write_timeout_s: float
    _write_timeout: TimerHandle | None = None

    def pause_writing(self) -> None:
        """Start the write timeout."""
        super().pause_writing()
        self._cancel_write_timeout()
        self._write_timeout = self.loop.call_later(self.write_timeout_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Cancel the write timeout."""
        self._cancel_write_timeout()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the write timeout."""
        self._cancel_write_timeout()
        super().connection_lost(exc)

    def _cancel_write_timeout(self) -> None:
        if self._write_timeout is not None:
            self._write_timeout.cancel()
            self._write_timeout = None


class LimitedConnection(WriteTimeout, HttpToolsProtocol):
    """An HTTP connection. A client that exceeds a timeout or a size limit gets an error response and is
    disconnected.
    """

    def __init__(self, *args: Any, limits: ConnectionLimits = ConnectionLimits(), **options: Any) -> None:
        super().__init__(*args, **options)
        self._limits = limits
        self.write_timeout_s = limits.write_timeout_s
        self._timeout: TimerHandle | None = None
        self._head: int | None = 0
        """Bytes of the request head received; None once it is complete."""
        self._is_receiving = False
        """True while a request is being received."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the parent
        """Start the header timeout, or refuse the connection if there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.max_connections:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "too_many", "too many connections")
        else:
            self._set_timeout(self._limits.head_timeout_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers."""
        self._set_timeout(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes, and refuse a head that is too large."""
        if self.transport.is_closing():
            return
        if not self._is_receiving:
            self._is_receiving, self._head = True, 0
            self._set_timeout(self._limits.head_timeout_s)
        if self._head is not None:
            self._head += len(data)
        super().data_received(data)
        is_too_large = self._head is not None and self._head > self._limits.max_head_bytes
        if is_too_large and not self.transport.is_closing():
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too_large", "the headers are too large")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collect a header; ignore trailers after the body."""
        if self._head is not None:
            super().on_header(name, value)

    def on_message_begin(self) -> None:
        """Start the header timeout. A pipelined request may begin in the bytes that end the previous one."""
        self._is_receiving = True
        self._head = self._head or 0
        if self._timeout is None:
            self._set_timeout(self._limits.head_timeout_s)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Replace the header timeout by the body timeout."""
        self._head = None
        self._set_timeout(self._limits.body_timeout_s)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Cancel the body timeout."""
        self._is_receiving = False
        self._set_timeout(None)
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Cancel the timeout: the WebSocket protocol has limits of its own."""
        self._set_timeout(None)
        super().handle_websocket_upgrade()

    def _set_timeout(self, seconds: float | None) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
        self._timeout = None if seconds is None else self.loop.call_later(seconds, self._time_out)

    def _time_out(self) -> None:
        if self.transport.is_closing():
            return
        has_response = self._head is None and self.cycle.response_started
        if has_response or not self._is_receiving:
            self.transport.close()
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "timeout", "the request was not received in time")

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not valid HTTP."""
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
    """Raise the limit of open files as far as the system allows; return the number of
    connections that fit.
    """
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    max_files = MAX_CONNECTIONS + SPARE_FILES
    wanted = max_files if hard == resource.RLIM_INFINITY else min(hard, max_files)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return (
        max(max_files if soft == resource.RLIM_INFINITY else min(soft, max_files), 2 * SPARE_FILES)
        - SPARE_FILES
    )
