"""What a route declares is what is taken: no unknown parameters, and JSON however it is labelled."""

from __future__ import annotations

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.datastructures import QueryParams
from starlette.types import ASGIApp, Receive, Scope, Send

from smartspider.api.problems import render_problem
from smartspider.api.suggestions import MAX_NAME, list_known, nearest_hint
from smartspider.views.problem import ProblemView, Wrong

TICKET = "ticket"
"""Read at the door, for every WebSocket."""
STRICT = "/api/"
"""Elsewhere are probes and scrapers, which add parameters of their own."""
MOST_TOLD = 20
NONE = "there are no parameters here"
CONTENT_TYPE = b"content-type"
JSON = b"application/json"


class StrictParameters:
    """Stands before a route: refuses parameters it does not know, and hands on its body as JSON."""

    def __init__(self, app: ASGIApp, known: frozenset[str] | None, *, has_json: bool) -> None:
        self._app, self._known, self._has_json = app, known, has_json

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if self._known is not None and scope.get("query_string"):
            sent = QueryParams(scope["query_string"])
            if unknown := [name for name in sent if name not in self._known]:
                await render_problem(_refusal(unknown, self._known))(scope, receive, send)
                return
        if self._has_json:
            others = [(name, value) for name, value in scope["headers"] if name != CONTENT_TYPE]
            scope = {**scope, "headers": [*others, (CONTENT_TYPE, JSON)]}
        await self._app(scope, receive, send)


def make_strict(route: APIRoute | APIWebSocketRoute) -> None:
    """Let a route take what it declares and nothing else."""
    known: frozenset[str] | None = None
    if route.path.startswith(STRICT):
        own = {TICKET} if isinstance(route, APIWebSocketRoute) else set()
        known = frozenset(_parameters(route.dependant) | own)
    has_json = isinstance(route, APIRoute) and route.body_field is not None
    if not isinstance(route.app, StrictParameters):  # an app may be made more than once in a process
        route.app = StrictParameters(route.app, known, has_json=has_json)


def _refusal(unknown: list[str], known: frozenset[str]) -> ProblemView:
    there_are = list_known(known) or NONE
    wrong = [
        Wrong(
            name[:MAX_NAME], f"unknown parameter {name[:MAX_NAME]!r}", nearest_hint(name, known) or there_are
        )
        for name in unknown[:MOST_TOLD]
    ]
    return ProblemView("Not valid", 422, "request_invalid", wrong[0].message, wrong[0].hint, errors=wrong)


def _parameters(dependant: Dependant) -> set[str]:
    found = {one.alias for one in dependant.query_params}
    for below in dependant.dependencies:
        found |= _parameters(below)
    return found
