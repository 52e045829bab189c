"""Hosts and their gates: the rate limits that all runs share."""

from __future__ import annotations

from typing import Annotated

from smartspider.operations.operation import Body, Operations, operation
from smartspider.views.hosts import HostGateView
from smartspider.views.listed import Listed
from smartspider.views.params import Cursor, Limit, Param, body, query

MAX_HOLD_S = 366 * 86_400.0
MAX_DELAY_S = 86_400.0
Host = Annotated[str, Param(about="The name of a host.", rules={"max_length": 300})]


class HostOperations(Operations):
    """The gates of hosts."""

    @operation("GET", "/api/hosts", needs=("hosts", "read"), summary="List hosts", answer="A page of hosts")
    async def list_hosts(
        self,
        *,
        held: Annotated[bool, query("Only hosts on hold.")] = False,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Listed[HostGateView]:
        """List hosts in order of name, with the delay between requests, its source, and holds."""
        from smartspider.services import hosts

        return await hosts.list_hosts(
            self.installation, self.principal, held=held, cursor=cursor, limit=limit
        )

    @operation(
        "POST",
        "/api/hosts/{host}/hold",
        needs=("hosts", "write"),
        summary="Hold a host",
        answer="The host",
        body=Body(
            "HoldBody",
            "Duration and reason of the hold.",
            examples=({"seconds": 600, "reason": "maintenance"},),
            is_strict=True,
            is_secret=True,
        ),
    )
    async def hold_host(
        self,
        host: Host,
        *,
        seconds: Annotated[float, body(gt=0, le=MAX_HOLD_S)],
        reason: Annotated[str, body(max_length=300)] = "",
    ) -> HostGateView:
        """Pause requests to a host for all runs. An existing longer hold stays in effect."""
        from smartspider.services import hosts

        return await hosts.hold_host(self.installation, self.principal, host, seconds, reason)

    @operation(
        "POST",
        "/api/hosts/{host}/resume",
        needs=("hosts", "write"),
        summary="Resume a host",
        answer="The host",
    )
    async def resume_host(self, host: Host) -> HostGateView:
        """Lift a hold immediately and reset the adaptive delay."""
        from smartspider.services import hosts

        return await hosts.resume_host(self.installation, self.principal, host)

    @operation(
        "PATCH",
        "/api/hosts/{host}",
        needs=("hosts", "write"),
        summary="Set the minimum delay of a host",
        answer="The host",
        body=Body(
            "HostChange",
            "The settings to change.",
            examples=({"delay_s": 5},),
            is_strict=True,
            is_secret=True,
        ),
    )
    async def slow_host(
        self, host: Host, *, delay_s: Annotated[float, body(ge=0, le=MAX_DELAY_S)]
    ) -> HostGateView:
        """Set the minimum delay between requests. It overrides shorter delays of runs and robots.txt; 0
        removes it.
        """
        from smartspider.services import hosts

        return await hosts.slow_host(self.installation, self.principal, host, delay_s)
