"""Permits from the host gate: a request leaves inside its window or waits for another one."""

from __future__ import annotations

from smartspider.core.failpoints import reach
from smartspider.core.lease import Window
from smartspider.core.verdict import Send
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.frontier import Frontier


class GatePermit:
    """See `interfaces/fetcher.py`. All permits of one lease write into the same list of sends."""

    __slots__ = ("_clock", "_frontier", "_host", "_sends", "_window")

    def __init__(
        self,
        frontier: Frontier,
        clock: Clock,
        host: str,
        window: Window | None,
        sends: list[Send] | None = None,
    ) -> None:
        self._frontier = frontier
        self._clock = clock
        self._host = host
        self._window = window
        self._sends = [] if sends is None else sends

    @property
    def sends(self) -> tuple[Send, ...]:
        """The requests that left under this lease for hosts with a delay."""
        return tuple(self._sends)

    async def enter(self) -> None:
        """Come back inside the window; a window that was missed is replaced by the next one."""
        while True:
            window = self._window
            if window is None:
                window = self._window = await self._frontier.permit(self._host)
            if window.is_free:
                break
            while (wait_s := window.not_before - self._clock.monotonic()) > 0.0:
                await self._clock.sleep(wait_s)  # timers may wake a little early
            self._window = None
            if self._clock.monotonic() <= window.not_after:
                self._sends.append(Send(self._host, self._clock.now(), window.delay_s))
                break
        reach("fetch.sent")

    def another(self, host: str) -> GatePermit:
        """A permit for one more request; on the same host it may have the window this one has not used."""
        window = None
        if host == self._host:
            window, self._window = self._window, None
        return GatePermit(self._frontier, self._clock, host, window, self._sends)
