"""The ASGI app: routes, the console, error responses, middleware and the OpenAPI document."""

from __future__ import annotations

from functools import cache

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from smartspider import __version__
from smartspider.api import console, openapi, problems, security
from smartspider.api.limits import ApiLimits
from smartspider.api.middleware import timing
from smartspider.api.middleware.strict_parameters import make_strict
from smartspider.api.openapi import document
from smartspider.api.routes import browser_session, by_hand, live
from smartspider.api.routes.from_operations import add_routes
from smartspider.operations.operation import Operation
from smartspider.operations.services import Services
from smartspider.operations.table import OPERATIONS


def create_app(
    services: Services, operations: tuple[Operation, ...] = OPERATIONS, limits: ApiLimits = ApiLimits()
) -> FastAPI:
    """Create the API of an installation."""
    app = FastAPI(
        title="SmartSpider",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.services, app.state.limits = services, limits
    timing.install_inner(app)
    problems.install(app)
    app.add_middleware(IgnoreTrailingSlash)
    security.install(app, services, limits)
    timing.install_outer(app)
    # Added to the app itself: a nested router costs another search.
    app.router.routes += _routes_of_table() if operations is OPERATIONS else _build_routes(operations)
    app.add_route("/api/docs", openapi.docs_page, include_in_schema=False)
    console.install(app)
    app.openapi = lambda: document(app)  # type: ignore[method-assign]  # FastAPI's way to customize it
    return app


def _build_routes(operations: tuple[Operation, ...]) -> tuple[BaseRoute, ...]:
    """Return all routes, in the order of the table."""
    built = APIRouter()
    add_routes(built, operations)
    order = {operation.name: place for place, operation in enumerate(operations)}
    routes = [
        *built.routes,
        *by_hand.router.routes,
        *browser_session.router.routes,
        *live.router.routes,
    ]
    routes.sort(key=lambda one: order.get(getattr(one, "name", ""), len(order)))
    for route in routes:
        if isinstance(route, APIRoute):
            route.operation_id = route.name
        if isinstance(route, APIRoute | APIWebSocketRoute):
            make_strict(route)
    return tuple(routes)


@cache
def _routes_of_table() -> tuple[BaseRoute, ...]:
    """Return the routes of the operation table, built once (0.1 s) for all apps of a process."""
    return _build_routes(OPERATIONS)


class IgnoreTrailingSlash:
    """Treats a path with a trailing slash like the one without, and does not redirect."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "lifespan" and scope["path"].endswith("/") and scope["path"] != "/":
            scope = {**scope, "path": scope["path"].rstrip("/") or "/"}
        await self._app(scope, receive, send)
