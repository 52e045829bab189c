"""Send windows for previews: they use a temporary folder, but pass the gates of the installation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from smartspider.core.frontier.lease import GateClosed, Lease, LeaseBatch, SendWindow
from smartspider.core.requests.politeness import WINDOW_MIN_S, PolitenessPolicy
from smartspider.core.runs.run import HTTP_ONLY
from smartspider.installation.installation import Installation, Permits
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.frontier import Frontier

MISSED = float("-inf")
"""The end of a missed window: the request asks for the next one."""


class PreviewGate:
    """A source of permits for requests that belong to no run."""

    def __init__(self, permits: Permits) -> None:
        self._permits = permits

    async def permit(self, host: str) -> SendWindow | GateClosed:
        """Return the next send window, after the default delay or a longer one of the host."""
        return await self._permits.reserve(host, PolitenessPolicy().delay_s)


def share_gates(folder: Installation, installation: Installation) -> Installation:
    """Return the folder with a frontier whose requests pass the gates of an installation as well."""
    frontier = cast("Frontier", SharedGates(folder.frontier, installation.permits, folder.clock))
    return msgspec.structs.replace(folder, frontier=frontier, other_crawls=installation.other_crawls)


class SharedGates:
    """A frontier whose requests pass its own gates and those of an installation."""

    def __init__(self, own: Frontier, permits: Permits, clock: Clock) -> None:
        self._own = own
        self._permits = permits
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        """Delegate everything else to the own frontier."""
        return getattr(self._own, name)

    async def lease(
        self,
        worker_id: int,
        want: int,
        runs: Sequence[int],
        own: bytes = b"",
        capabilities: frozenset[str] = HTTP_ONLY,
        *,
        ahead_s: float = 0.0,
    ) -> LeaseBatch:
        """Lease from the own frontier, with windows that both gates allow; none ahead, which the shared gate
        grants one by one.
        """
        del ahead_s
        batch = await self._own.lease(worker_id, want, runs, own, capabilities)
        leases: list[Lease] = []
        for lease in batch.leases:
            window = await self._both(lease.request.host, lease.window)
            if isinstance(window, GateClosed):
                window = SendWindow(lease.window.not_before, MISSED, lease.window.delay_s or WINDOW_MIN_S)
            leases.append(msgspec.structs.replace(lease, window=window))
        return msgspec.structs.replace(batch, leases=leases)

    async def permit(self, host: str) -> SendWindow | GateClosed:
        """Return the next window that both gates allow."""
        own = await self._own.permit(host)
        return own if isinstance(own, GateClosed) else await self._both(host, own)

    async def _both(self, host: str, own: SendWindow) -> SendWindow | GateClosed:
        """Reserve a window of the shared gate once the own one has opened: others count from that window, so
        the request must leave in it and not later.
        """
        while (wait_s := own.not_before - self._clock.monotonic()) > 0.0:
            await self._clock.sleep(wait_s)
        shared = await self._permits.reserve(host, own.delay_s)
        return own if isinstance(shared, SendWindow) and shared.is_free else shared
