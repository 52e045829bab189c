"""Strict query parameters, and JSON bodies with any content type."""

from __future__ import annotations

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.datastructures import QueryParams
from starlette.types import ASGIApp, Receive, Scope, Send

from smartspider.api.problems import render_problem
from smartspider.api.suggestions import MAX_NAME, list_known, nearest_hint
from smartspider.views.problem import ProblemView, Wrong

TICKET = "ticket"
"""Accepted by every WebSocket; the authentication middleware reads it."""
STRICT = "/api/"
"""Other paths are for probes and scrapers, which add parameters of their own."""
MAX_ERRORS = 20
NO_PARAMETERS = "this operation has no parameters"
CONTENT_TYPE = b"content-type"
JSON = b"application/json"


class StrictParameters:
    """Wraps a route: refuses undeclared query parameters, and marks the body as JSON if the
    route takes one.
    """

    def __init__(self, app: ASGIApp, known: frozenset[str] | None, *, has_json: bool) -> None:
        self.app, self._known, self._has_json = app, known, has_json

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if self._known is not None and scope.get("query_string"):
            sent = QueryParams(scope["query_string"])
            if unknown := [name for name in sent if name not in self._known]:
                await render_problem(_refusal(unknown, self._known))(scope, receive, send)
                return
        if self._has_json:
            others = [(name, value) for name, value in scope["headers"] if name != CONTENT_TYPE]
            scope = {**scope, "headers": [*others, (CONTENT_TYPE, JSON)]}
        await self.app(scope, receive, send)


def make_strict(route: APIRoute | APIWebSocketRoute) -> None:
    """Make a route refuse query parameters it does not declare."""
    known: frozenset[str] | None = None
    if route.path.startswith(STRICT):
        own = {TICKET} if isinstance(route, APIWebSocketRoute) else set()
        known = frozenset(_parameters(route.dependant) | own)
    has_json = isinstance(route, APIRoute) and route.body_field is not None
    if not isinstance(route.app, StrictParameters):  # routes are shared by all apps of a process
        route.app = StrictParameters(route.app, known, has_json=has_json)


def _refusal(unknown: list[str], known: frozenset[str]) -> ProblemView:
    listing = list_known(known) or NO_PARAMETERS
    found = [
        Wrong(name[:MAX_NAME], f"unknown parameter {name[:MAX_NAME]!r}", nearest_hint(name, known) or listing)
        for name in unknown[:MAX_ERRORS]
    ]
    return ProblemView(
        "Invalid request", 422, "request_invalid", found[0].message, found[0].hint, errors=found
    )


def _parameters(dependant: Dependant) -> set[str]:
    names = {one.alias for one in dependant.query_params}
    for below in dependant.dependencies:
        names |= _parameters(below)
    return names
