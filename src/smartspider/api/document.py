"""The OpenAPI document: FastAPI's, with the views, the task file, the problems and who may call what."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from smartspider.api.answers import REF, view_schemas
from smartspider.api.problems import MEDIA_TYPE
from smartspider.views.problem import ProblemView

DESCRIPTION = """Describe what you want from web sites in one JSON task; get clean, deduplicated rows.

Errors are problems (RFC 9457), each with `code`, `detail` and `hint`. Lists take `limit` and `cursor` and
answer `items` and `next`. Ids are opaque strings; where a task is named in a path, its name does as well.
Moments are ISO 8601 in UTC. A POST that creates takes an `Idempotency-Key`."""

TAGS = {
    "auth": "Signing in, and who one is.",
    "tasks": "What to crawl: task files with all their versions.",
    "runs": "Executions of tasks: how they stand, and steering them.",
    "results": "The rows that runs found.",
    "explain": "Why a URL was or was not fetched, and why a run does not move.",
    "logs": "What happened, line by line.",
    "preview": "Rules tried on a page; nothing is kept.",
    "schedules": "When runs start by themselves.",
    "notices": "Who is told when a run ends.",
    "hosts": "Hosts and their gates, for all runs.",
    "nodes": "The machines and processes that work.",
    "users": "People who sign in.",
    "tokens": "What programs sign in with.",
    "audit": "Who did what; a chain that tells when somebody changed it.",
    "operations": "Health, metrics, and the schema of task files.",
}

_WHY = {
    "401": "No token, or one that is forged, expired or revoked",
    "403": "Not for this token: its role, its scopes, or somebody else's task",
    "404": "Not there",
    "409": "Not possible now, or somebody was there first",
    "412": "There is a newer version",
    "413": "The body is too large",
    "415": "The body is of a kind that is not understood",
    "422": "What was sent is not valid; `errors` names each key",
    "429": "Too many requests for now",
    "503": "The store is not available",
}
_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
_PROBLEM = {
    "title": "Not found",
    "status": 404,
    "code": "not_found",
    "detail": "there is no task 'shop'",
    "hint": "GET /api/tasks lists the tasks there are",
}


def document(app: FastAPI) -> dict[str, Any]:
    """The document of an app, made once."""
    if app.openapi_schema is None:
        whole = get_openapi(
            title=app.title,
            version=app.version,
            openapi_version="3.1.0",
            summary="A crawling platform",
            description=DESCRIPTION,
            tags=[{"name": name, "description": about} for name, about in TAGS.items()],
            routes=app.routes,
        )
        _complete(whole, _needs(app))
        app.openapi_schema = whole
    return app.openapi_schema


def _complete(whole: dict[str, Any], needs: dict[str, str]) -> None:
    schemas = whole.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(view_schemas())
    schemas.update(_task_schemas())
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    whole["components"]["responses"] = {f"Problem{status}": _problem(status, _WHY[status]) for status in _WHY}
    for path, operations in whole["paths"].items():
        for method, operation in operations.items():
            _complete_operation(path, method, operation)
            if operation["operationId"] in needs:
                operation["x-needs"] = needs[operation["operationId"]]


def _complete_operation(path: str, method: str, operation: dict[str, Any]) -> None:
    """Every status an operation can answer with: its own, the problems it may have, and `default`."""
    own = operation["responses"]
    own.pop("422", None)
    statuses = {"429", "503"}
    if operation.get("security"):
        statuses |= {"401", "403"}
    if "{" in path:
        statuses.add("404")
    if operation.get("parameters") or operation.get("requestBody"):
        statuses.add("422")
    if operation.get("requestBody"):
        statuses |= {"413", "415"}
    if method in ("post", "put", "patch", "delete"):
        statuses.add("409")
    if any(one["name"] == "If-Match" for one in operation.get("parameters", ())):
        statuses.add("412")
    for status in sorted(statuses - own.keys()):
        own[status] = {"$ref": f"#/components/responses/Problem{status}"}
    own["default"] = _problem("", "A problem (RFC 9457)")


def _problem(status: str, description: str) -> dict[str, Any]:
    content: dict[str, Any] = {"schema": {"$ref": f"{REF}{ProblemView.__name__}"}}
    if status == "404":
        content["example"] = _PROBLEM
    more = {"headers": _RETRY_AFTER} if status == "429" else {}
    return {"description": description, "content": {MEDIA_TYPE: content}, **more}


def _task_schemas() -> dict[str, Any]:
    """The schema of task files, its parts under names of their own."""
    from smartspider.taskfile.schema import task_schema

    text = msgspec.json.encode(task_schema()).decode().replace('"#/$defs/', f'"{REF}Task')
    schema = msgspec.json.decode(text)
    parts = {f"Task{name}": part for name, part in schema.pop("$defs").items()}
    schema.pop("$schema")
    return {"Task": schema, **parts}


def _needs(app: FastAPI) -> dict[str, str]:
    """What each operation needs, as `area:verb`."""
    found = {}
    for route in app.routes:
        if isinstance(route, APIRoute):
            needs = _asked(route.dependant)
            if needs is not None:
                found[route.name] = ":".join(needs)
    return found


def _asked(dependant: Dependant) -> tuple[str, str] | None:
    needs: tuple[str, str] | None = getattr(dependant.call, "needs", None)
    for below in dependant.dependencies:
        needs = needs or _asked(below)
    return needs
