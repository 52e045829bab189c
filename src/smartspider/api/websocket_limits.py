"""WebSocket connections with limits on what a client and its user may send."""

from __future__ import annotations

from typing import Any

import msgspec
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame, Opcode

from smartspider.api.connection_limits import ConnectionLimits, WriteTimeout
from smartspider.api.middleware.authentication import POLICY_VIOLATION, PRINCIPAL
from smartspider.core.limits.rate_limits import RateLimit, TokenBuckets

SLICE_BYTES = 4_096
"""Bytes that are parsed at once: a read may hold thousands of frames."""
UNIT_BYTES = 1_024


class InboundRates(msgspec.Struct, frozen=True, kw_only=True):
    """Rates in units of work: one for each read and each frame, another one for a message, and one for each
    1,024 bytes of it. A small message takes three.
    """

    of_connection: RateLimit = RateLimit(30.0, 300.0)
    of_user: RateLimit = RateLimit(300.0, 3_000.0)
    """On all connections of a user. Watching a screen takes a dozen messages at once."""


class InboundBudgets:
    """The rates of a server, and the budget of each user."""

    def __init__(self, rates: InboundRates = InboundRates()) -> None:
        self.rates = rates
        self.of_user = TokenBuckets(rates.of_user)


class LimitedWebSocket(WriteTimeout, WebSocketsSansIOProtocol):
    """A WebSocket connection that is closed with 1008 when its client or its user sends too much, and
    disconnected when its client stops reading or sends frames before the handshake.
    """

    def __init__(
        self,
        *args: Any,
        budgets: InboundBudgets,
        limits: ConnectionLimits = ConnectionLimits(),
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.write_timeout_s = limits.write_timeout_s
        self._of_user = budgets.of_user
        self._of_connection = TokenBuckets(budgets.rates.of_connection, size=1)
        self._user = ""

    def data_received(self, data: bytes) -> None:
        """Parse received bytes in slices, each if there is something left of the budgets."""
        if not self.handshake_initiated:
            super().data_received(data)
            return
        if not self.handshake_complete:
            self.transport.abort()
            return
        for start in range(0, len(data), SLICE_BYTES):
            if self.transport.is_closing():
                return
            if not self._may_spend(1.0):
                self._end()
                return
            super().data_received(data[start : start + SLICE_BYTES])

    def handle_events(self) -> None:
        """Take the work of the parsed frames from the budgets, then handle them."""
        work = sum(_work_of(event) for event in self.conn.events if isinstance(event, Frame))
        if work:
            self._may_spend(work)
        super().handle_events()

    def _may_spend(self, work: float) -> bool:
        if not self._user:
            self._user = self.scope["state"][PRINCIPAL].name
        now = self.loop.time()
        waits_s = (self._of_connection.take(None, now, work), self._of_user.take(self._user, now, work))
        return not any(waits_s)

    def _end(self) -> None:
        if self.close_sent:  # and still it sends: there is no use in waiting for its reply
            self.transport.abort()
            return
        self.conn.fail(POLICY_VIOLATION, "too many messages")
        self.handle_parser_exception()


def _work_of(frame: Frame) -> float:
    is_message = frame.opcode in (Opcode.TEXT, Opcode.BINARY)
    return 1.0 + is_message + len(frame.data) / UNIT_BYTES
