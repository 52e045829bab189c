"""Permits from the host gate: a request is sent inside its window or gets another one."""

from __future__ import annotations

from typing import Protocol

from smartspider.core.failpoints import reach
from smartspider.core.frontier.lease import GateClosed, SendWindow
from smartspider.core.frontier.verdict import PreviousSend, SentRequest
from smartspider.interfaces.clock import Clock

NEAR_S = 0.5
"""A connection may be opened this long before the window."""
ASK_S = 1.0
"""Interval of asking a closed gate again: an operator may open it."""


class PermitSource(Protocol):
    """The part of a frontier that grants permits."""

    async def permit(self, host: str) -> SendWindow | GateClosed:
        """Reserve the next slot of a host if it is near, else say when to ask again."""


class LastLook(Protocol):
    """The crawls of this machine with other data folders, seen just before a request leaves."""

    def is_free(self, host: str) -> bool:
        """Return whether a request may be sent without a slot."""

    def record(self, host: str, at: float, delay_s: float) -> PreviousSend | None:
        """Record that a request is sent in its slot. Return the one before it if another crawl sent it."""


class SendLog:
    """The sends of one lease and the time spent waiting for send windows."""

    __slots__ = ("sends", "waited_s")

    def __init__(self) -> None:
        self.sends: list[SentRequest] = []
        self.waited_s = 0.0


class GatePermit:
    """See `interfaces/fetcher.py`. All permits of one lease share a send log."""

    __slots__ = ("_clock", "_entered", "_gate", "_host", "_others", "_trail", "_window")

    def __init__(
        self,
        gate: PermitSource,
        clock: Clock,
        host: str,
        window: SendWindow | None,
        *,
        trail: SendLog | None = None,
        others: LastLook | None = None,
    ) -> None:
        self._gate = gate
        self._others = others
        self._clock = clock
        self._host = host
        self._window = window
        self._entered: SendWindow | None = None
        self._trail = trail or SendLog()

    @property
    def sends(self) -> tuple[SentRequest, ...]:
        """The requests sent under this lease to hosts with a delay."""
        return tuple(self._trail.sends)

    @property
    def waited_s(self) -> float:
        """Seconds that requests of this lease waited for their windows."""
        return self._trail.waited_s

    async def approach(self) -> None:
        """Return shortly before the window opens."""
        window = await self._next_window()
        if not window.is_free:
            await self._wait_until(window.not_before - NEAR_S)

    async def enter(self) -> None:
        """Return inside the window; a missed window is replaced by the next one."""
        while True:
            window = await self._next_window()
            if window.is_free:
                if self._others is None or self._others.is_free(self._host):
                    return
                self._window = None
                continue
            await self._wait_until(window.not_before)
            self._window = None
            if self._clock.monotonic() <= window.not_after:
                self._entered = window
                return

    def sent(self) -> None:
        """Record the send for the receipt, if the host has a delay."""
        reach("fetch.sent")
        if self._entered is None:
            return
        at, delay_s = self._clock.monotonic(), self._entered.delay_s
        previous = None if self._others is None else self._others.record(self._host, at, delay_s)
        self._trail.sends.append(SentRequest(self._host, at, delay_s, previous))

    async def _next_window(self) -> SendWindow:
        """Return the reserved window, or reserve the next one, asking again while the gate is closed."""
        while self._window is None:
            answer = await self._gate.permit(self._host)
            if isinstance(answer, SendWindow):
                self._window = answer
            else:
                await self._wait_until(min(answer.at, self._clock.monotonic() + ASK_S))
        return self._window

    async def _wait_until(self, moment: float) -> None:
        started = self._clock.monotonic()
        while (wait_s := moment - self._clock.monotonic()) > 0.0:
            await self._clock.sleep(wait_s)  # timers may wake a little early
        self._trail.waited_s += self._clock.monotonic() - started

    def another(self, host: str) -> GatePermit:
        """Return a permit for one more request; on the same host it takes over an unused window."""
        window = None
        if host == self._host:
            window, self._window = self._window, None
        return GatePermit(self._gate, self._clock, host, window, trail=self._trail, others=self._others)
