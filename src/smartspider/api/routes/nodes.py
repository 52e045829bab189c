"""Machines and the processes that work on them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from smartspider.api.answers import answer, answers
from smartspider.api.house import Housed
from smartspider.api.security import needs
from smartspider.core.access import Principal
from smartspider.services import nodes
from smartspider.views.listed import Listed
from smartspider.views.nodes import Drained, NodeView

router = APIRouter(prefix="/api/nodes", tags=["nodes"])


@router.get(
    "", name="list_nodes", summary="Machines and their workers", **answers(Listed[NodeView], "All of them")
)
async def list_nodes(house: Housed, _principal: Annotated[Principal, needs("nodes", "read")]) -> Response:
    """Each machine with its workers: what they hold, for which hosts and runs, and what they use."""
    return answer(Listed(await nodes.nodes(house.folder.workers), None))


@router.post(
    "/{node}/drain",
    name="drain_node",
    summary="Ask the workers of a machine to leave",
    **answers(Drained, "They were asked", status=202, example={"node": "crawler-1", "asked": 4}),
)
async def drain_node(
    node: Annotated[str, Path(max_length=200, description="The name of a machine.")],
    house: Housed,
    principal: Annotated[Principal, needs("nodes", "write")],
    worker_id: Annotated[int | None, Query(ge=1, le=10**15, description="Only this worker.")] = None,
) -> Response:
    """They finish what they hold, and leave; what they leave the others take up."""
    return answer(await nodes.drain(house.folder.workers, principal, node, worker_id), 202)
