"""Routes written by hand: sign-in, metrics, the schema of task files."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from smartspider.api.prometheus import MEDIA_TYPE, render_metrics
from smartspider.api.responses import document_response, json_response
from smartspider.api.routes.sign_in import DOCUMENTED, SignInSent
from smartspider.api.security import CurrentServices, caller_address, needs
from smartspider.core.access import Principal
from smartspider.operations.access import SessionOperations
from smartspider.operations.operation import Operation, operations_of
from smartspider.operations.server import ServerOperations
from smartspider.views.access import SessionView
from smartspider.views.server import TargetsView

router = APIRouter()
_DECLARED: dict[str, Operation] = {
    one.name: one for one in (*operations_of(SessionOperations), *operations_of(ServerOperations))
}
_PLAIN_HOST = re.compile(r"[A-Za-z0-9.:\[\]_-]{1,255}")
_MetricsReader = Annotated[Principal, needs("metrics", "read")]


def _declared(name: str) -> dict[str, Any]:
    """Return the declaration of an operation as route options."""
    declared = _DECLARED[name]
    return {
        "name": name,
        "summary": declared.summary,
        "description": declared.description,
        "tags": list(declared.tags),
        "response_class": Response,
    }


@router.post(
    "/api/auth/token",
    openapi_extra=DOCUMENTED,
    responses={200: document_response(SessionView, "The session")},
    **_declared("create_session"),
)
async def create_session(sent: SignInSent, request: Request, services: CurrentServices) -> Response:
    """Sign in with JSON or a form."""
    sign_in, address = services.access.sign_in, caller_address(request)
    if sent.refresh_token is not None:
        return json_response(await sign_in.with_refresh(sent.refresh_token, address))
    return json_response(await sign_in.with_password(sent.username or "", sent.password or "", address))


@router.get(
    "/api/schema/task",
    responses={
        200: {
            "description": "JSON Schema, draft 2020-12",
            "content": {"application/json": {"schema": {"type": "object"}}},
        }
    },
    **_declared("get_task_schema"),
)
async def get_task_schema() -> Response:
    """Return the schema, encoded once."""
    return Response(_schema(), media_type="application/json")


@lru_cache(maxsize=1)
def _schema() -> bytes:
    from smartspider.taskfile.schema import task_schema

    return msgspec.json.encode(task_schema())


@router.get(
    "/api/sd/prometheus",
    name="list_metric_targets",
    summary="List metric targets for Prometheus",
    tags=["operations"],
    response_class=Response,
    responses={
        200: {
            **document_response(TargetsView, "HTTP service discovery"),
            "content": {
                "application/json": {
                    "schema": {"type": "array", "items": {"$ref": "#/components/schemas/TargetsView"}},
                    "example": [{"targets": ["127.0.0.1:8000"], "labels": {"__metrics_path__": "/metrics"}}],
                }
            },
        }
    },
)
async def list_metric_targets(request: Request, _principal: _MetricsReader) -> Response:
    """List this server as a scrape target for Prometheus HTTP service discovery, under the host name of the
    request.
    """
    host = request.headers.get("host", "")
    server = request.scope.get("server") or ("127.0.0.1", 80)
    target = host if _PLAIN_HOST.fullmatch(host) else f"{server[0]}:{server[1]}"
    labels = {"__metrics_path__": "/metrics", "__scheme__": request.url.scheme, "job": "smartspider"}
    return json_response([TargetsView([target], labels)])


@router.get(
    "/metrics",
    name="get_metrics",
    summary="Get metrics in the text format of Prometheus",
    tags=["operations"],
    response_class=Response,
    responses={
        200: {"description": "The metrics", "content": {"text/plain": {"schema": {"type": "string"}}}}
    },
)
async def get_metrics(request: Request, services: CurrentServices, _principal: _MetricsReader) -> Response:
    """Return totals of all workers, current values, API latencies, and metrics of this process."""
    text = await render_metrics(services, request.app.state.timings)
    return Response(text, media_type=MEDIA_TYPE)
