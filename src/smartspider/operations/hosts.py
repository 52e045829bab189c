"""Hosts and their gates: the rate limits that all runs share."""

from __future__ import annotations

from typing import Annotated

from smartspider.operations.operation import Body, Operations, operation
from smartspider.views.hosts import HostGateView, HostScope
from smartspider.views.listed import Listed
from smartspider.views.params import Cursor, Limit, Param, body, query

MAX_HOLD_S = 366 * 86_400.0
MAX_DELAY_S = 86_400.0
Scope = Annotated[
    HostScope | None,
    body(
        "`own`: for the runs of your own tasks, now and later; `all`: for all runs, which needs the role "
        "admin. Default: `all` for an admin, otherwise `own`."
    ),
]
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
        scope: Scope = None,
    ) -> HostGateView:
        """Pause requests to a host, for your own runs or for all. An existing longer hold stays in effect."""
        from smartspider.services import hosts

        return await hosts.hold_host(
            self.installation, self.principal, host, seconds, reason=reason, scope=scope
        )

    @operation(
        "POST",
        "/api/hosts/{host}/resume",
        needs=("hosts", "write"),
        summary="Resume a host",
        answer="The host",
        body=Body(
            "ResumeBody",
            "The runs that are resumed.",
            named_examples={"own": {"summary": "Your own runs", "value": {"scope": "own"}}},
            is_strict=True,
            is_optional=True,
        ),
    )
    async def resume_host(self, host: Host, *, scope: Scope = None) -> HostGateView:
        """Lift a hold immediately. For all runs, also reset the adaptive delay."""
        from smartspider.services import hosts

        return await hosts.resume_host(self.installation, self.principal, host, scope)

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
        self, host: Host, *, delay_s: Annotated[float, body(ge=0, le=MAX_DELAY_S)], scope: Scope = None
    ) -> HostGateView:
        """Set the minimum delay between requests, of your own runs or of all. It overrides shorter delays of
        runs and robots.txt; 0 removes it.
        """
        from smartspider.services import hosts

        return await hosts.slow_host(self.installation, self.principal, host, delay_s, scope)
