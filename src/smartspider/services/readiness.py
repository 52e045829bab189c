"""Readiness checks: the parts of an installation that runs need."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from smartspider.core.errors import SmartSpiderError, StoreFull, StoreUnavailable
from smartspider.core.workers.worker import describe_silent
from smartspider.installation.installation import Installation
from smartspider.services.runs.blockers import DISK_FULL, NO_WORKER, missing_leader, public_reason
from smartspider.views.server import CheckView, ReadyView

FRESH_S = 1.0
"""Time for which an answer is reused: the endpoint is open to everyone."""

CHECK_S = 3.0
"""Time limit of each check."""

Check = Callable[[Installation], Awaitable[str]]
"""Return a detail if all is well, or raise what is missing."""


class Readiness:
    """The checks of an installation, with their last result."""

    def __init__(self, installation: Installation, *, timeout_s: float = CHECK_S) -> None:
        self._installation, self._timeout_s = installation, timeout_s
        self._last: tuple[float, ReadyView] | None = None

    async def check(self) -> ReadyView:
        """Run the checks, or return their result of less than a second ago."""
        now = self._installation.clock.monotonic()
        if self._last is None or now - self._last[0] >= FRESH_S:
            checks = _CHECKS | _CLUSTER_CHECKS if self._installation.is_cluster else _CHECKS
            found = await asyncio.gather(*(self._run(name, check) for name, check in checks.items()))
            missing = [one.name for one in found if not one.ok]
            self._last = (now, ReadyView(not missing, missing, found))
        return self._last[1]

    async def _run(self, name: str, check: Check) -> CheckView:
        try:
            async with asyncio.timeout(self._timeout_s):
                return CheckView(name, ok=True, detail=await check(self._installation))
        except TimeoutError:
            return CheckView(name, ok=False, detail=f"no answer in {self._timeout_s:g} s")
        except StoreFull:
            return CheckView(name, ok=False, detail=DISK_FULL)
        except StoreUnavailable:  # its message names the address, which is not public
            return CheckView(name, ok=False, detail="the store is not writable")
        except SmartSpiderError as error:
            return CheckView(name, ok=False, detail=error.message)


async def _store(installation: Installation) -> str:
    await installation.check_writable()
    return "writable"


async def _clock(installation: Installation) -> str:
    status = await installation.store_clock.status()
    return status.problem or "agrees with store time"


async def _workers(installation: Installation) -> str:
    found, now = await installation.workers.find(), installation.leadership.now()
    alive = [one for one in found if one.is_alive and not one.is_draining]
    silent = [one for one in alive if one.is_silent(now)]
    if not alive:
        raise SmartSpiderError(NO_WORKER)
    if len(silent) == len(alive):
        raise SmartSpiderError(f"no worker responds: {describe_silent(silent, now)}")
    others = f"; {describe_silent(silent, now)}" if silent else ""
    return f"{len(alive) - len(silent)} alive{others}"


async def _keeper(installation: Installation) -> str:
    leadership = installation.leadership
    reason = missing_leader(await leadership.newest(), leadership.now())
    if reason:
        waits = "no request is leased" if installation.is_cluster else "schedules and notifications wait"
        raise SmartSpiderError(f"{reason}; {waits} until one does")
    return "a keeper is the leader"


async def _frontier(installation: Installation) -> str:
    serving, shards = await installation.count_serving()
    detail = f"{serving} of {shards} shards ready"
    if serving < shards:
        error = await installation.frontier_error()
        if error is not None:
            raise SmartSpiderError(f"{detail}: {public_reason(error)}")
        raise SmartSpiderError(f"{detail}; the others are waiting for the keeper")
    return detail


_CHECKS: dict[str, Check] = {
    "store": _store,
    "clock": _clock,
    "workers": _workers,
    "keeper": _keeper,
}
_CLUSTER_CHECKS: dict[str, Check] = {"frontier": _frontier}
