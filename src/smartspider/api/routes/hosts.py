"""Hosts and their gates."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from smartspider.api.answers import answer, answers
from smartspider.api.house import Housed
from smartspider.api.paging import Cursor, Limit
from smartspider.api.security import needs
from smartspider.core.access import Principal
from smartspider.services import hosts
from smartspider.services.hosts import LONGEST_DELAY_S, LONGEST_HOLD_S, Gates
from smartspider.views.hosts import HostGateView
from smartspider.views.listed import Listed
from smartspider.wiring.desk import gates_of

router = APIRouter(prefix="/api/hosts", tags=["hosts"])

Host = Annotated[str, Path(max_length=300, description="The name of a host.")]
Reads = Annotated[Principal, needs("hosts", "read")]
Writes = Annotated[Principal, needs("hosts", "write")]


def _gates(house: Housed) -> Gates:
    return gates_of(house.premises)


Gated = Annotated[Gates, Depends(_gates)]


class HoldBody(BaseModel):
    """How long nothing is sent to a host, and why."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        hide_input_in_errors=True,
        json_schema_extra={"examples": [{"seconds": 600, "reason": "maintenance"}]},
    )

    seconds: Annotated[float, Field(gt=0, le=LONGEST_HOLD_S)]
    reason: Annotated[str, Field(max_length=300)] = ""


class HostChange(BaseModel):
    """What is to be another."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        hide_input_in_errors=True,
        json_schema_extra={"examples": [{"delay_s": 5}]},
    )

    delay_s: Annotated[float, Field(ge=0, le=LONGEST_DELAY_S)]
    """At least so many seconds from start to start; 0 leaves it to runs and robots.txt."""


@router.get(
    "", name="list_hosts", summary="Hosts and their gates", **answers(Listed[HostGateView], "A page of hosts")
)
async def list_hosts(
    gates: Gated,
    principal: Reads,
    held: Annotated[bool, Query(description="Only those that are held now.")] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Hosts by name: how far apart requests leave, who set that, and which are left alone for now."""
    return answer(await hosts.find(gates, principal, held=held, cursor=cursor, limit=limit))


@router.post(
    "/{host}/hold", name="hold_host", summary="Send nothing to a host", **answers(HostGateView, "The host")
)
async def hold_host(host: Host, body: HoldBody, gates: Gated, principal: Writes) -> Response:
    """For so long, for all runs; a hold that lasts longer already is not shortened."""
    return answer(await hosts.hold(gates, principal, host, body.seconds, body.reason))


@router.post("/{host}/resume", name="resume_host", summary="Lift a hold", **answers(HostGateView, "The host"))
async def resume_host(host: Host, gates: Gated, principal: Writes) -> Response:
    """Go on at once, and forget what made the host slow."""
    return answer(await hosts.resume(gates, principal, host))


@router.patch(
    "/{host}", name="slow_host", summary="Keep a delay at a host", **answers(HostGateView, "The host")
)
async def slow_host(host: Host, body: HostChange, gates: Gated, principal: Writes) -> Response:
    """At least this delay, whatever runs and robots.txt ask; 0 takes that back."""
    return answer(await hosts.slow(gates, principal, host, body.delay_s))
