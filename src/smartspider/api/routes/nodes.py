"""Machines and the processes that work on them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from smartspider.api.answers import answer, answers
from smartspider.api.house import Housed
from smartspider.api.security import needs
from smartspider.core.access import Principal
from smartspider.services import nodes
from smartspider.services.scaling import scaling
from smartspider.views.listed import Listed
from smartspider.views.nodes import Drained, NodeTuned, NodeView
from smartspider.views.scaling import ScalingView

router = APIRouter(prefix="/api/nodes", tags=["nodes"])

Node = Annotated[str, Path(max_length=200, description="The name of a machine, or the id of a worker.")]
WorkerId = Annotated[int | None, Query(ge=1, le=10**15, description="Only this worker.")]
SCALING = {
    "desired": 3,
    "workers": 2,
    "elastic": 2,
    "reason": "politeness allows 96 requests at a time at 24 hosts; one worker makes up to 32",
    "at": "2026-11-15T13:49:19.073Z",
    "slots": 32,
    "request_s": 0.31,
    "pages_per_s": 80.0,
    "runs": [
        {
            "run_id": "7",
            "open": 51200,
            "hosts": 24,
            "in_flight": 96.0,
            "wanted": 96.0,
            "reason": "politeness allows 96 requests at a time at 24 hosts",
        }
    ],
}


@router.get(
    "", name="list_nodes", summary="Machines and their workers", **answers(Listed[NodeView], "All of them")
)
async def list_nodes(house: Housed, _principal: Annotated[Principal, needs("nodes", "read")]) -> Response:
    """Each machine with its workers: what they hold, for which hosts and runs, and what they use."""
    return answer(Listed(await nodes.nodes(house.premises.workers), None))


@router.get(
    "/scaling",
    name="get_scaling",
    summary="How many workers are wanted, and why",
    **answers(ScalingView, "The figure", example=SCALING),
)
async def get_scaling(house: Housed, _principal: Annotated[Principal, needs("nodes", "read")]) -> Response:
    """Enough to fetch the backlog in time, never more than the gates of hosts can use; for a scaler."""
    return answer(await scaling(house.premises.scaling, house.premises.workers))


class NodeChange(BaseModel):
    """What is to be another."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        hide_input_in_errors=True,
        json_schema_extra={"examples": [{"slots": 16}]},
    )

    slots: Annotated[int, Field(ge=0, le=nodes.MOST_SLOTS)]
    """Requests each worker has in flight at most; 0: it takes nothing more."""


@router.patch(
    "/{node}",
    name="tune_node",
    summary="Give workers another number of slots",
    **answers(NodeTuned, "They have it", example={"node": "crawler-1", "slots": 16, "workers": 4}),
)
async def tune_node(
    node: Node,
    body: NodeChange,
    house: Housed,
    principal: Annotated[Principal, needs("nodes", "write")],
    worker_id: WorkerId = None,
) -> Response:
    """All workers of a machine, or one of them, while they work."""
    workers = house.premises.workers
    return answer(await nodes.tune(workers, principal, node, body.slots, worker_id=worker_id))


@router.post(
    "/{node}/drain",
    name="drain_node",
    summary="Ask the workers of a machine to leave",
    **answers(Drained, "They were asked", status=202, example={"node": "crawler-1", "asked": 4}),
)
async def drain_node(
    node: Node,
    house: Housed,
    principal: Annotated[Principal, needs("nodes", "write")],
    worker_id: WorkerId = None,
) -> Response:
    """They finish what they hold, and leave; what they leave the others take up."""
    return answer(await nodes.drain(house.premises.workers, principal, node, worker_id), 202)
