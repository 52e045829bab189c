"""The app: routes, errors, headers, and the OpenAPI document."""

from __future__ import annotations

import importlib

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from smartspider import __version__
from smartspider.api import docs, problems, security, timing
from smartspider.api.declared import guard
from smartspider.api.document import document
from smartspider.wiring.house import House

ROUTES = (
    "auth",
    "tasks",
    "runs",
    "task_runs",
    "live",
    "explain",
    "results",
    "logs",
    "schedules",
    "notices",
    "preview",
    "hosts",
    "nodes",
    "users",
    "tokens",
    "audit",
    "schema",
    "health",
    "metrics",
)
"""Files of `api/routes`, in the order of the document; each has a `router`."""


def create_app(house: House) -> FastAPI:
    """The API of a house."""
    app = FastAPI(
        title="SmartSpider",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.house = house
    timing.install_inner(app)
    problems.install(app)
    app.add_middleware(WithoutSlash)
    security.install(app, house)
    timing.install_outer(app)
    for name in ROUTES:
        _add(app, importlib.import_module(f"smartspider.api.routes.{name}").router)
    app.add_route("/api/docs", docs.page, include_in_schema=False)
    app.add_route("/", _front, include_in_schema=False)
    app.openapi = lambda: document(app)  # type: ignore[method-assign]  # FastAPI's way to have one's own
    return app


def _add(app: FastAPI, router: APIRouter) -> None:
    """Put routes straight into the app: a router within a router costs each request another search."""
    for route in router.routes:
        if isinstance(route, APIRoute):
            route.operation_id = route.name
        if isinstance(route, APIRoute | APIWebSocketRoute):
            guard(route)
        app.router.routes.append(route)


async def _front(_request: Request) -> Response:
    """Whoever opens the address of the server sees what can be done there."""
    return RedirectResponse("/api/docs", 307)


class WithoutSlash:
    """A slash at the end of a path means nothing; nobody is sent to another address for it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "lifespan" and scope["path"].endswith("/") and scope["path"] != "/":
            scope = {**scope, "path": scope["path"].rstrip("/") or "/"}
        await self._app(scope, receive, send)
