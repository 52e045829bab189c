"""Permits from the host gate: a request leaves inside its window or waits for another one."""

from __future__ import annotations

from typing import Protocol

from smartspider.core.failpoints import reach
from smartspider.core.frontier.lease import GateClosed, SendWindow
from smartspider.core.frontier.verdict import SentRequest
from smartspider.interfaces.clock import Clock

NEAR_S = 0.5
"""How long before a window the connection for it may be opened."""
ASK_S = 1.0
"""A closed gate is asked again this often: it may have been opened by hand."""


class PermitSource(Protocol):
    """The part of a frontier that a permit asks."""

    async def permit(self, host: str) -> SendWindow | GateClosed:
        """Reserve one more slot of a host, if that is near."""


class SendLog:
    """What the permits of one lease did: the requests that left, and how long they waited for it."""

    __slots__ = ("sends", "waited_s")

    def __init__(self) -> None:
        self.sends: list[SentRequest] = []
        self.waited_s = 0.0


class GatePermit:
    """See `interfaces/fetcher.py`. All permits of one lease write the same trail."""

    __slots__ = ("_clock", "_entered", "_gate", "_host", "_trail", "_window")

    def __init__(
        self,
        gate: PermitSource,
        clock: Clock,
        host: str,
        window: SendWindow | None,
        trail: SendLog | None = None,
    ) -> None:
        self._gate = gate
        self._clock = clock
        self._host = host
        self._window = window
        self._entered: SendWindow | None = None
        self._trail = trail or SendLog()

    @property
    def sends(self) -> tuple[SentRequest, ...]:
        """The requests that left under this lease for hosts with a delay."""
        return tuple(self._trail.sends)

    @property
    def waited_s(self) -> float:
        """How long requests under this lease waited for their windows."""
        return self._trail.waited_s

    async def approach(self) -> None:
        """Come back shortly before the window opens."""
        window = await self._next_window()
        if not window.is_free:
            await self._wait_until(window.not_before - NEAR_S)

    async def enter(self) -> None:
        """Come back inside the window; a window that was missed is replaced by the next one."""
        while True:
            window = await self._next_window()
            if window.is_free:
                return
            await self._wait_until(window.not_before)
            self._window = None
            if self._clock.monotonic() <= window.not_after:
                self._entered = window
                return

    def sent(self) -> None:
        """Note for the receipt that a request left, where it had to keep a distance."""
        reach("fetch.sent")
        if self._entered is not None:
            self._trail.sends.append(SentRequest(self._host, self._clock.monotonic(), self._entered.delay_s))

    async def _next_window(self) -> SendWindow:
        """The window that is there, or the next one: a gate that is closed is asked again until it is not."""
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
        """A permit for one more request; on the same host it may have the window this one has not used."""
        window = None
        if host == self._host:
            window, self._window = self._window, None
        return GatePermit(self._gate, self._clock, host, window, self._trail)
