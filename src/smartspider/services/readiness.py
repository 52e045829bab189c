"""Whether tasks can be run here: what has to be there, and what is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from smartspider.core.errors import SmartSpiderError, StoreFull, StoreUnavailable
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.leadership import Leadership
from smartspider.interfaces.worker_registry import WorkerRegistry
from smartspider.services.trouble import (
    NO_WORKER,
    TAKES_NO_WRITES,
    CountServing,
    WhyAway,
    nobody_leads,
    nothing_known,
    words_for_all,
)
from smartspider.views.health import CheckView, ReadyView

FRESH_S = 1.0
"""Anybody may ask, so the answer is found at most this often."""

CHECK_S = 3.0
"""Who asks whether a server is ready does not wait for one that is away."""

Check = Callable[[], Awaitable[str]]
"""Says that it is there, or raises what is missing."""


class Readiness:
    """The checks of a server, and what they said last."""

    def __init__(self, clock: Clock, checks: Mapping[str, Check]) -> None:
        self._clock = clock
        self._checks = dict(checks)
        self._known: tuple[float, ReadyView] | None = None

    async def look(self) -> ReadyView:
        """What is there and what is not, at most a moment old."""
        now = self._clock.monotonic()
        if self._known is None or now - self._known[0] >= FRESH_S:
            found = await asyncio.gather(*(_run(name, check) for name, check in self._checks.items()))
            missing = [one.name for one in found if not one.ok]
            self._known = (now, ReadyView(not missing, missing, found))
        return self._known[1]


async def _run(name: str, check: Check) -> CheckView:
    try:
        async with asyncio.timeout(CHECK_S):
            return CheckView(name, ok=True, detail=await check())
    except TimeoutError:
        return CheckView(name, ok=False, detail=f"no answer in {CHECK_S:g} s")
    except StoreFull:
        return CheckView(name, ok=False, detail=TAKES_NO_WRITES)
    except StoreUnavailable:  # its words name the place, which is nobody's business outside
        return CheckView(name, ok=False, detail="the store cannot be written")
    except SmartSpiderError as error:
        return CheckView(name, ok=False, detail=error.message)


def workers_alive(workers: WorkerRegistry) -> Check:
    """Somebody takes up runs."""

    async def check() -> str:
        alive = [one for one in await workers.find() if one.is_alive and not one.is_draining]
        if not alive:
            raise SmartSpiderError(NO_WORKER)
        return f"{len(alive)} alive"

    return check


def keeper_leads(leadership: Leadership, now: Callable[[], float], *, is_cluster: bool) -> Check:
    """Somebody keeps house; on a cluster nothing is handed out otherwise."""
    waits = "nothing is handed out" if is_cluster else "schedules and notices wait"

    async def check() -> str:
        words = nobody_leads(await leadership.newest(), now())
        if words:
            raise SmartSpiderError(f"{words}; {waits} until one does")
        return "a keeper leads"

    return check


def frontier_serves(count_serving: CountServing, why_away: WhyAway = nothing_known) -> Check:
    """Every part of a frontier apart from the store hands out requests."""

    async def check() -> str:
        serving, parts = await count_serving()
        told = f"{serving} of {parts} parts serve"
        if serving < parts:
            why = await why_away()
            if why is not None:
                raise SmartSpiderError(f"{told}: {words_for_all(why)}")
            raise SmartSpiderError(f"{told}; requests of the others wait for the keeper")
        return told

    return check


def store_writable(check_writable: Callable[[], Awaitable[None]]) -> Check:
    """What is said can be kept."""

    async def check() -> str:
        await check_writable()
        return "writable"

    return check
