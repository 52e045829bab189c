"""Holds of hosts, kept by the store for ever and told to a frontier apart from it."""

from __future__ import annotations

from typing import Protocol

from smartspider.core.frontier.updates import HostRow


class Holds(Protocol):
    """1. A hold is committed before anybody hears of it, and never shortened but by resuming.
    2. What an `actor` does is in the audit, in the same transaction.
    """

    async def hold_host(self, host: str, seconds: float, reason: str, *, actor: str | None = None) -> HostRow:
        """Send nothing to a host for so long; the host as it stands now."""

    async def resume_host(self, host: str, *, actor: str | None = None) -> HostRow:
        """Lift a hold, and forget what made the host slow; the host as it stands now."""

    async def slow_host(self, host: str, delay_s: float, *, actor: str | None = None) -> HostRow:
        """Keep at least this delay at a host, whatever runs and robots.txt ask; the host as it stands now."""
