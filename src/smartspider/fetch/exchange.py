"""The timing of one exchange: when its bytes may be sent, and when it times out."""

from __future__ import annotations

import asyncio

from aiohttp.connector import Connection
from multidict import CIMultiDict

from smartspider.interfaces.clock import Clock
from smartspider.interfaces.fetcher import Permit

PreparedHeaders = tuple[CIMultiDict[str], bool]
"""Headers with a slot for Host in front, and whether the request sets Host itself."""


class StaleConnection(Exception):
    """The connection closed while waiting for the permit; nothing was sent."""


class Exchange:
    """Enters the permit once the connection is open, and starts the time limit then.

    The limit cancels the task like `asyncio.timeout`, at a fifth of the cost.
    """

    __slots__ = (
        "_cancels_before",
        "_clock",
        "_is_late",
        "_permit",
        "_task",
        "_timeout_s",
        "_timer",
        "headers",
        "sent_at",
    )

    def __init__(self, headers: PreparedHeaders, permit: Permit, timeout_s: float, clock: Clock) -> None:
        self.headers = headers
        self.sent_at = 0.0
        self._permit = permit
        self._timeout_s = timeout_s
        self._clock = clock
        self._is_late = False
        self._timer: asyncio.TimerHandle | None = None

    async def begin(self, connection: Connection) -> None:
        """Return when the bytes may be sent; raise `StaleConnection` if the connection closed meanwhile."""
        await self._permit.enter()
        protocol = connection.protocol
        if protocol is None or not protocol.is_connected():
            raise StaleConnection
        self._permit.sent()
        self.sent_at = self._clock.monotonic()
        self._task = asyncio.current_task()
        self._cancels_before = 0 if self._task is None else self._task.cancelling()
        self._timer = asyncio.get_running_loop().call_later(self._timeout_s, self._expire)

    def end(self) -> None:
        """Stop the time limit."""
        if self._timer is not None:
            self._timer.cancel()

    def has_timed_out(self) -> bool:
        """Return whether a cancellation came from the time limit alone; if so, undo it."""
        if not self._is_late or self._task is None:
            return False
        return self._task.uncancel() <= self._cancels_before

    def _expire(self) -> None:
        self._is_late = True
        if self._task is not None:
            self._task.cancel()
