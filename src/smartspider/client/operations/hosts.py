"""Hosts and their gates."""

from __future__ import annotations

from smartspider.client.connection import place
from smartspider.client.operations.wired import Wired
from smartspider.views.hosts import HostGateView
from smartspider.views.listed import Listed

HOSTS = "/api/hosts"


class HostOperations(Wired):
    """Gates of hosts: what they stand at, and turning that by hand, for all runs."""

    async def list_hosts(
        self, *, held: bool = False, limit: int = 100, cursor: str | None = None
    ) -> Listed[HostGateView]:
        """Hosts by name, or only those that are held now."""
        params = {"held": "true" if held else None, "limit": str(limit), "cursor": cursor}
        return await self.connection.get(HOSTS, Listed[HostGateView], params)

    async def hold_host(self, host: str, *, seconds: float, reason: str = "") -> HostGateView:
        """Send nothing to a host for so long."""
        body = {"seconds": seconds, "reason": reason}
        return await self.connection.post(place(f"{HOSTS}/", host, "/hold"), HostGateView, body)

    async def resume_host(self, host: str) -> HostGateView:
        """Lift a hold, and forget what made the host slow."""
        return await self.connection.post(place(f"{HOSTS}/", host, "/resume"), HostGateView)

    async def slow_host(self, host: str, *, delay_s: float) -> HostGateView:
        """Keep at least this delay at a host; 0 takes that back."""
        answer = await self.connection.request("PATCH", place(f"{HOSTS}/", host), body={"delay_s": delay_s})
        return self.connection.read(answer, HostGateView)
