"""Errors as problem responses (RFC 9457). Every problem has a hint."""

from __future__ import annotations

import asyncio
import logging
import secrets
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smartspider.api import suggestions
from smartspider.core import errors
from smartspider.core.errors import FetchFailed, SmartSpiderError, TaskInvalid
from smartspider.views.problem import ProblemView, Wrong, problem_of

MEDIA_TYPE = "application/problem+json"

STATUSES: tuple[tuple[type[errors.SmartSpiderError], int, str], ...] = (
    (errors.RequestInvalid, 422, "Invalid request"),
    (errors.NotBuilt, 422, "Not supported yet"),
    (errors.SettingInvalid, 422, "Invalid setting"),
    (errors.NotFound, 404, "Not found"),
    (errors.NotSignedIn, 401, "Not authenticated"),
    (errors.Forbidden, 403, "Forbidden"),
    (errors.Outdated, 412, "Newer version exists"),
    (errors.NotAllowed, 409, "Conflict"),
    (errors.TooMany, 429, "Too many requests"),
    (errors.StoreUnavailable, 503, "Store unavailable"),
    (errors.PrivateAddress, 422, "Private address"),
    (errors.FetchFailed, 422, "Fetch failed"),
    (errors.SmartSpiderError, 500, "Error"),
)
"""The first match applies, so a subclass comes before its base class."""

CODES = {
    400: "bad_request",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "media_type_unknown",
}
MAX_ERRORS = 100
"""Maximum number of errors in one response."""
MAX_HINTS = 20
"""Maximum number of suggestions in one response, because they are slow."""
MAX_TEXT = 2000
UNKNOWN_KEY = "extra_forbidden"

RETRY_HINT = "check whether the request took effect, then try again"

_log = logging.getLogger(__name__)


def render_problem(problem: ProblemView, headers: dict[str, str] | None = None) -> Response:
    """Return a problem as a response."""
    try:
        body = msgspec.json.encode(problem)
    except UnicodeEncodeError:  # the problem repeats a lone surrogate that was sent
        body = msgspec.json.encode(msgspec.convert(_clean(msgspec.to_builtins(problem)), ProblemView))
    return Response(body, problem.status, headers, MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Add the exception handlers to an app."""
    app.add_exception_handler(errors.SmartSpiderError, _expected)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected)
    app.add_middleware(CatchUnexpected)


class CatchUnexpected:
    """Turns an unexpected exception into one log line and a problem with its number; sends no internals."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_started = False

        async def tracked(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            await self._app(scope, receive, tracked)
        except ClientDisconnect:  # the client disconnected in the middle of its body
            return
        except asyncio.CancelledError:  # the grace period of the server has ended
            if has_started:
                raise
            await problem_response(errors.StoreUnavailable("the server is shutting down", hint=RETRY_HINT))(
                scope, receive, send
            )
        except Exception as error:
            if has_started:  # aborting the connection is the only way to report an incomplete response
                raise
            await _logged(scope, error)(scope, receive, send)


async def _expected(_request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.SmartSpiderError)  # noqa: S101 - registered for it
    return problem_response(error)


def problem_response(error: errors.SmartSpiderError) -> Response:
    """Return an error as a problem response."""
    headers = {}
    if isinstance(error, errors.TooMany):
        headers["Retry-After"] = str(max(1, round(error.retry_after_s)))
    if isinstance(error, errors.NotSignedIn):
        headers["WWW-Authenticate"] = "Bearer"
    return render_problem(problem_view(error), headers)


def problem_view(error: errors.SmartSpiderError) -> ProblemView:
    """Return an error as a problem, always with a hint."""
    status, title = next((status, title) for kind, status, title in STATUSES if isinstance(error, kind))
    problem = problem_of(error, status, title)
    if problem.hint:
        return problem
    own = problem.errors[0].hint if problem.errors else ""
    return msgspec.structs.replace(problem, hint=own or hint_for(error, status))


async def _invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it
    found = error.errors()[:MAX_ERRORS]
    if found and found[0]["type"] == "json_invalid":
        return render_problem(_not_json(found[0], error.body))
    mistakes = [_wrong(one) for one in found]
    for at, one in enumerate(found[:MAX_HINTS]):
        if one["type"] == UNKNOWN_KEY:
            mistakes[at] = msgspec.structs.replace(mistakes[at], hint=_key_hint(request, list(one["loc"])))
    first = mistakes[0] if mistakes else Wrong("", "the request is invalid")
    detail = f"{first.path}: {first.message}" if first.path else first.message
    hint = first.hint or default_hint(422)
    return render_problem(
        ProblemView("Invalid request", 422, "request_invalid", detail, hint, errors=mistakes)
    )


def _wrong(one: Any) -> Wrong:
    """Return a validation error with its path written as in task files: `fields[0].name`."""
    where, *parts = one["loc"]
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    message = str(one["msg"]).removeprefix("Value error, ")
    if one["type"] == UNKNOWN_KEY and parts:
        message = f"unknown key {str(parts[-1])[: suggestions.MAX_NAME]!r}"
    hint = "" if where == "body" else f"expected in the {where}"
    return Wrong(path[:MAX_TEXT] or str(where), message[:MAX_TEXT], hint)


def _not_json(one: Any, body: Any) -> ProblemView:
    """Return the problem of a body that is not JSON, with line and column. FastAPI reports the position,
    pydantic the line.
    """
    reason = str(one.get("ctx", {}).get("error") or one["msg"]).removeprefix("Invalid JSON: ")
    reason = reason[:1].lower() + reason[1:]
    if isinstance(body, str) and isinstance(one["loc"][-1], int):
        position = one["loc"][-1]
        line, column = body.count("\n", 0, position) + 1, position - body.rfind("\n", 0, position)
        reason = f"{reason} at line {line} column {column}"
    message = f"the body is not JSON: {reason[:MAX_TEXT]}"
    hint = default_hint(400)
    return ProblemView("Invalid JSON", 400, CODES[400], message, hint, errors=[Wrong("", message, hint)])


def _key_hint(request: Request, location: list[int | str]) -> str:
    """Return a suggestion for an unknown key, if the route declares its body."""
    where, *parts = location
    field = getattr(request.scope.get("route"), "body_field", None)
    if where != "body" or field is None or not parts:
        return ""
    keys = suggestions.keys_at(field.field_info.annotation, parts[:-1])
    return suggestions.nearest_hint(str(parts[-1]), keys) or suggestions.list_known(keys)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    status, detail, headers = error.status_code, str(error.detail), dict(error.headers or {})
    hint = default_hint(status)
    if status == 404 and detail == "Not Found":
        detail, hint = f"no resource at {request.url.path[:200]}", PATHS
    if status == 405:
        detail = f"{request.method} is not allowed for {request.url.path[:200]}"
        headers["Allow"] = ", ".join(sorted(_allowed(request)))
        hint = f"allowed methods: {headers['Allow']}"
    if "body" in detail and status == 400:  # FastAPI's message for a body that cannot be decoded
        detail = "the body cannot be read"
    title = {404: "Not found", 405: "Method not allowed", 413: "Too large", 415: "Unsupported media type"}
    code = CODES.get(status, "http_error")
    return render_problem(ProblemView(title.get(status, "Error"), status, code, detail, hint), headers)


def _allowed(request: Request) -> set[str]:
    """Return all methods allowed at a path; the router itself considers only its first route."""
    found: set[str] = set()
    for route in request.app.routes:
        match, _ = route.matches(request.scope)
        if match is not Match.NONE:
            found |= getattr(route, "methods", None) or set()
    return found


async def _unexpected(request: Request, error: Exception) -> Response:
    return _logged(request.scope, error)


def _logged(scope: Scope, error: Exception) -> Response:
    number = secrets.token_hex(8)
    _log.error("unexpected error %s in %s %s", number, scope.get("method"), scope.get("path"), exc_info=error)
    detail = "internal error"
    hint = f"the server log has details under {number}"
    return render_problem(ProblemView("Error", 500, "unexpected", detail, hint, correlation_id=number))


def _clean(value: Any) -> Any:
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case list():
            return [_clean(one) for one in value]
        case dict():
            return {name: _clean(one) for name, one in value.items()}
        case _:
            return value


PATHS = "GET /api/openapi.json lists all paths; /api/docs shows them"
EXPECTED = "see the operation in GET /api/openapi.json or at /api/docs"
TASKS = "GET /api/schema/task is the JSON Schema of tasks"
PAGES = "check the page in a browser; `smartspider fetch URL` shows the response"

BY_STATUS = {
    400: "send JSON, with `Content-Type: application/json`",
    401: "send `Authorization: Bearer TOKEN` with a valid token",
    403: "use a token whose role and scopes allow this",
    404: "list the resources to find valid ids",
    405: PATHS,
    408: "send the complete request before the timeout",
    409: "get the current state and try again",
    412: "get the newest version and apply the change to it",
    413: "send a smaller body, or split the request",
    415: "send application/json",
    422: EXPECTED,
    429: "try again after the number of seconds in `Retry-After`",
    431: "send fewer or shorter headers",
    500: "try again; the server log has details",
    503: "try again in a moment; /readyz and `smartspider doctor` show failed checks",
}
"""Default hints by status."""


def default_hint(status: int) -> str:
    """Return the default hint of a status."""
    return BY_STATUS.get(status, EXPECTED)


def hint_for(error: SmartSpiderError, status: int) -> str:
    """Return the default hint of an error that is answered with a status."""
    match error:
        case TaskInvalid():
            return TASKS
        case FetchFailed():
            return PAGES
        case _:
            return default_hint(status)
