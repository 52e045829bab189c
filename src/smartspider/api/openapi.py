"""The OpenAPI document: that of FastAPI, completed with views, task files, problems and required rights."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache
from importlib import resources
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from smartspider.api.problems import MEDIA_TYPE
from smartspider.api.responses import REF, view_schemas
from smartspider.views.problem import ProblemView

DESCRIPTION = """Crawl websites with JSON task files and get clean, deduplicated rows.

Errors are problem documents (RFC 9457) with `code`, `detail` and `hint`. Lists take `limit` and `cursor` and
answer `items` and `next`. Ids are opaque strings; a task in a path is named by its id or its name.
Times are ISO 8601 in UTC. POST requests that create an object accept an `Idempotency-Key` header."""

TAGS = {
    "auth": "Sessions.",
    "tasks": "Task files and their versions.",
    "runs": "Executions of tasks: state, progress and control.",
    "results": "The rows of runs.",
    "explain": "Explanations of fetched and unfetched URLs and of stalled runs.",
    "logs": "Log lines.",
    "preview": "Try rules on a page without storing anything.",
    "schedules": "Schedules that start runs.",
    "notifications": "Notifications about runs by webhook, email or Slack.",
    "cookies": "Cookies of logins, for tasks with `use_cookie` or `cookie_id`.",
    "proxies": "Proxies by pool, for tasks with `fetch.proxy_pool`.",
    "secrets": "Named secrets of tasks, and the vault that keeps them encrypted.",
    "demo": "Tasks of the demo shop, where it runs with the server.",
    "hosts": "Hosts and their gates (rate limits), for all runs.",
    "nodes": "Machines and workers.",
    "users": "User accounts.",
    "tokens": "API tokens.",
    "audit": "Audit log: every change with its actor, in a tamper-evident hash chain.",
    "search": "Search tasks, runs, hosts and other objects.",
    "suggest": "Suggestions of tasks for pages.",
    "operations": "Health, metrics, and the schema of task files.",
}

_WHY = {
    "401": "The token is missing, invalid, expired or revoked",
    "403": "The role or scopes of the token do not allow this, or the task belongs to another user",
    "404": "Not found",
    "409": "Not possible in the current state",
    "412": "The resource has a newer version",
    "413": "The body is too large",
    "415": "The content type is not supported",
    "422": "The request is invalid; `errors` lists each invalid key",
    "429": "Too many requests",
    "503": "The store is not available",
}
_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
_PROBLEM = {
    "title": "Not found",
    "status": 404,
    "code": "not_found",
    "detail": "there is no task 'shop'",
    "hint": "`smartspider task list` shows all tasks",
}


def document(app: FastAPI) -> dict[str, Any]:
    """Return the document of an app; it is built once."""
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
    """Add every status an operation can return: its own, problems, and `default`."""
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
    """Return the schema of task files, with prefixed names for its parts."""
    from smartspider.taskfile.schema import task_schema

    text = msgspec.json.encode(task_schema()).decode().replace('"#/$defs/', f'"{REF}Task')
    schema = msgspec.json.decode(text)
    parts = {f"Task{name}": part for name, part in schema.pop("$defs").items()}
    schema.pop("$schema")
    return {"Task": schema, **parts}


def _needs(app: FastAPI) -> dict[str, str]:
    """Return the right each operation needs, as `area:verb`."""
    found = {}
    for route in app.routes:
        if isinstance(route, APIRoute):
            needs = _required_right(route.dependant)
            if needs is not None:
                found[route.name] = ":".join(needs)
    return found


def _required_right(dependant: Dependant) -> tuple[str, str] | None:
    needs: tuple[str, str] | None = getattr(dependant.call, "needs", None)
    for below in dependant.dependencies:
        needs = needs or _required_right(below)
    return needs


async def docs_page(_request: Request) -> Response:
    """Return the page."""
    text, policy = _page()
    return HTMLResponse(text, headers={"Content-Security-Policy": policy})


@lru_cache(maxsize=1)
def _page() -> tuple[str, str]:
    """Return the page and a content security policy that allows only its own script and style."""
    text = (resources.files(__package__) / "docs.html").read_text(encoding="utf-8")
    hashes = {
        kind: " ".join(_hash(part) for part in re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL))
        for kind in ("script", "style")
    }
    policy = (
        f"default-src 'none'; connect-src 'self'; script-src {hashes['script']}; "
        f"style-src {hashes['style']}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return text, policy


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
