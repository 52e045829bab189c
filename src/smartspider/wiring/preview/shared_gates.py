"""Previews keep nothing, so they work in a folder of their own; the gates they pass are those of all runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from smartspider.core.capabilities import HTTP_ONLY
from smartspider.core.frontier.lease import GateClosed, Lease, LeaseBatch, SendWindow
from smartspider.core.requests.politeness import WINDOW_MIN_S, PolitenessPolicy
from smartspider.installation.installation import Installation, Permits
from smartspider.interfaces.frontier import Frontier

MISSED = float("-inf")
"""The end of a window that is over: its request asks for the next one."""


class PreviewGate:
    """The part of a frontier that a permit asks, for a request without a run."""

    def __init__(self, permits: Permits) -> None:
        self._permits = permits

    async def permit(self, host: str) -> SendWindow | GateClosed:
        """The next slot, by the default delay or a longer one."""
        return await self._permits.reserve(host, PolitenessPolicy().delay_s)


def share_gates(folder: Installation, permits: Permits) -> Installation:
    """The folder, its requests waiting at the gates of another folder as well."""
    frontier = cast("Frontier", SharedGates(folder.frontier, permits))
    return msgspec.structs.replace(folder, frontier=frontier)


class SharedGates:
    """A frontier of one's own whose requests wait at the gates of another folder as well."""

    def __init__(self, own: Frontier, permits: Permits) -> None:
        self._own = own
        self._permits = permits

    def __getattr__(self, name: str) -> Any:
        """Everything else is one's own."""
        return getattr(self._own, name)

    async def lease(
        self,
        worker_id: int,
        want: int,
        runs: Sequence[int],
        own: bytes = b"",
        capabilities: frozenset[str] = HTTP_ONLY,
    ) -> LeaseBatch:
        """As one's own frontier, with windows that both gates allow."""
        batch = await self._own.lease(worker_id, want, runs, own, capabilities)
        leases: list[Lease] = []
        for lease in batch.leases:
            window = await self._both(lease.request.host, lease.window)
            if isinstance(window, GateClosed):
                window = SendWindow(lease.window.not_before, MISSED, lease.window.delay_s or WINDOW_MIN_S)
            leases.append(msgspec.structs.replace(lease, window=window))
        return msgspec.structs.replace(batch, leases=leases)

    async def permit(self, host: str) -> SendWindow | GateClosed:
        """The same for one more request."""
        own = await self._own.permit(host)
        return own if isinstance(own, GateClosed) else await self._both(host, own)

    async def _both(self, host: str, own: SendWindow) -> SendWindow | GateClosed:
        shared = await self._permits.reserve(host, own.delay_s)
        if isinstance(shared, GateClosed):
            return shared
        if shared.is_free or own.not_before > shared.not_before:
            return own
        return shared
