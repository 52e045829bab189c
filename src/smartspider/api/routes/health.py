"""Health, and where the metrics are."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Request
from starlette.responses import Response

from smartspider import __version__
from smartspider.api.answers import answer, answers, described
from smartspider.api.house import Housed
from smartspider.api.security import needs
from smartspider.core.access import Principal
from smartspider.views.health import HealthView, ReadyView, TargetsView

router = APIRouter(tags=["operations"])

_PLAIN = re.compile(r"[A-Za-z0-9.:\[\]_-]{1,255}")


@router.get(
    "/healthz",
    name="get_health",
    summary="Whether the process lives",
    **answers(HealthView, "It does", example={"status": "ok", "version": __version__}),
)
async def get_health() -> Response:
    """Open to all, and always the same."""
    return answer(HealthView("ok", __version__))


@router.get(
    "/readyz",
    name="get_readiness",
    summary="Whether tasks can be run",
    **{
        **answers(ReadyView, "Everything is there"),
        "responses": {
            200: described(ReadyView, "Everything is there"),
            503: described(ReadyView, "Something is missing, and `missing` names it"),
        },
    },
)
async def get_readiness(house: Housed) -> Response:
    """The store can be written, workers are alive, and a keeper leads. Open to all."""
    view = await house.readiness.look()
    return answer(view, 200 if view.ready else 503)


@router.get(
    "/api/sd/prometheus",
    name="list_metric_targets",
    summary="Where Prometheus finds the metrics",
    response_class=Response,
    responses={
        200: {
            **described(TargetsView, "HTTP service discovery"),
            "content": {
                "application/json": {
                    "schema": {"type": "array", "items": {"$ref": "#/components/schemas/TargetsView"}},
                    "example": [{"targets": ["127.0.0.1:8000"], "labels": {"__metrics_path__": "/metrics"}}],
                }
            },
        }
    },
)
async def list_metric_targets(
    request: Request, _principal: Annotated[Principal, needs("metrics", "read")]
) -> Response:
    """This server, by the name it was asked by."""
    host = request.headers.get("host", "")
    server = request.scope.get("server") or ("127.0.0.1", 80)
    target = host if _PLAIN.fullmatch(host) else f"{server[0]}:{server[1]}"
    labels = {"__metrics_path__": "/metrics", "__scheme__": request.url.scheme, "job": "smartspider"}
    return answer([TargetsView([target], labels)])
