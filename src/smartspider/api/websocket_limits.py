"""WebSocket connections with limits on what a client may send."""

from __future__ import annotations

from typing import Any

import msgspec
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

POLICY_VIOLATION = 1008
SLICE_BYTES = 4_096
"""Bytes that are parsed at once: a read may hold thousands of frames."""


class FrameLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Frames and their bytes that one connection may send: an average, and at once. Pings count."""

    frames_per_s: float = 25.0
    frames: float = 250.0
    bytes_per_s: float = 32_768.0
    bytes: float = 262_144.0


class LimitedWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket connection that is closed with 1008 when its client sends too many frames or bytes."""

    def __init__(self, *args: Any, limits: FrameLimits = FrameLimits(), **options: Any) -> None:
        super().__init__(*args, **options)
        self._limits = limits
        self._frames_left, self._bytes_left = limits.frames, limits.bytes
        self._filled_at = self.loop.time()

    def data_received(self, data: bytes) -> None:
        """Parse received bytes in slices, and count the frames in them."""
        if not self.handshake_initiated:
            super().data_received(data)
            return
        self._fill()
        for start in range(0, len(data), SLICE_BYTES):
            if self.transport.is_closing():
                return
            super().data_received(data[start : start + SLICE_BYTES])
            if min(self._frames_left, self._bytes_left) < 0.0:
                self._end()
                return

    def handle_events(self) -> None:
        """Count the frames that have been parsed, then handle them."""
        for event in self.conn.events:
            if isinstance(event, Frame):
                self._frames_left -= 1.0
                self._bytes_left -= len(event.data)
        super().handle_events()

    def _fill(self) -> None:
        """Allow what the time since the last read allows."""
        now, limits = self.loop.time(), self._limits
        passed_s, self._filled_at = now - self._filled_at, now
        self._frames_left = min(limits.frames, self._frames_left + passed_s * limits.frames_per_s)
        self._bytes_left = min(limits.bytes, self._bytes_left + passed_s * limits.bytes_per_s)

    def _end(self) -> None:
        if self.close_sent or self.transport.is_closing():
            return
        self.conn.fail(POLICY_VIOLATION, "too many frames")
        self.handle_parser_exception()
