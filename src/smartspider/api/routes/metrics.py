"""Metrics for Prometheus."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from starlette.responses import Response

from smartspider.api.exposition import MEDIA_TYPE, exposition
from smartspider.api.house import Housed
from smartspider.api.security import needs
from smartspider.core.access import Principal
from smartspider.services.metrics import gather

router = APIRouter(tags=["operations"])


@router.get(
    "/metrics",
    name="get_metrics",
    summary="Metrics in the text format of Prometheus",
    response_class=Response,
    responses={
        200: {"description": "The metrics", "content": {"text/plain": {"schema": {"type": "string"}}}}
    },
)
async def get_metrics(
    request: Request, house: Housed, _principal: Annotated[Principal, needs("metrics", "read")]
) -> Response:
    """Sums over all workers, what there is now, the API's times, and this process."""
    premises = house.premises
    families, histograms = await gather(premises.metrics, premises.layers, await premises.refusals())
    text = exposition(families, histograms + request.app.state.times.histograms())
    return Response(text, media_type=MEDIA_TYPE)
