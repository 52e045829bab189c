"""Errors leave the API as problems (RFC 9457), whoever raised them."""

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

from smartspider.api import default_hints, suggestions
from smartspider.core import errors
from smartspider.views.problem import ProblemView, Wrong, problem_of

MEDIA_TYPE = "application/problem+json"

STATUSES: tuple[tuple[type[errors.SmartSpiderError], int, str], ...] = (
    (errors.RequestInvalid, 422, "Not valid"),
    (errors.NotBuilt, 422, "Not built yet"),
    (errors.SettingInvalid, 422, "Setting not valid"),
    (errors.NotFound, 404, "Not found"),
    (errors.NotSignedIn, 401, "Not signed in"),
    (errors.Forbidden, 403, "Not allowed"),
    (errors.Outdated, 412, "Changed meanwhile"),
    (errors.NotAllowed, 409, "Not possible now"),
    (errors.TooMany, 429, "Too many requests"),
    (errors.StoreUnavailable, 503, "Store not available"),
    (errors.PrivateAddress, 422, "Private address"),
    (errors.FetchFailed, 422, "Not fetched"),
    (errors.SmartSpiderError, 500, "Error"),
)
"""First match wins, so the special ones stand before what they derive from."""

CODES = {
    400: "bad_request",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "media_type_unknown",
}
MOST_WRONG = 100
"""Mistakes told at once."""
MOST_HINTS = 20
"""Looking for what was meant takes a while."""
LONGEST = 2000
UNKNOWN_KEY = "extra_forbidden"

COME_BACK = "come back in a moment; look first whether what you sent was done"

_log = logging.getLogger(__name__)


def render_problem(problem: ProblemView, headers: dict[str, str] | None = None) -> Response:
    """A problem as an answer."""
    try:
        body = msgspec.json.encode(problem)
    except UnicodeEncodeError:  # a key or value that was sent holds half a character, and is repeated
        body = msgspec.json.encode(msgspec.convert(_clean(msgspec.to_builtins(problem)), ProblemView))
    return Response(body, problem.status, headers, MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Teach an app to answer errors."""
    app.add_exception_handler(errors.SmartSpiderError, _ours)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(Exception, _unexpected)
    app.add_middleware(CatchUnexpected)


class CatchUnexpected:
    """What nobody expected becomes one line in the log and a problem that names it; the rest stays here."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def watched(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:  # in the middle of a body: nobody is there to be answered
            return
        except asyncio.CancelledError:  # by the server, which leaves and has waited long enough
            if has_begun:
                raise
            await problem_response(errors.StoreUnavailable("the server is stopping", hint=COME_BACK))(
                scope, receive, send
            )
        except Exception as error:
            if has_begun:  # only a broken connection tells the client that the rest is missing
                raise
            await _logged(scope, error)(scope, receive, send)


async def _ours(_request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.SmartSpiderError)  # noqa: S101 - registered for it
    return problem_response(error)


def problem_response(error: errors.SmartSpiderError) -> Response:
    """An error of ours as an answer."""
    status, title = next((status, title) for kind, status, title in STATUSES if isinstance(error, kind))
    headers = {}
    if isinstance(error, errors.TooMany):
        headers["Retry-After"] = str(max(1, round(error.retry_after_s)))
    if isinstance(error, errors.NotSignedIn):
        headers["WWW-Authenticate"] = "Bearer"
    problem = problem_of(error, status, title)
    if not problem.hint:
        own = problem.errors[0].hint if problem.errors else ""
        problem = msgspec.structs.replace(problem, hint=own or default_hints.hint_for(error, status))
    return render_problem(problem, headers)


async def _not_valid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it
    found = error.errors()[:MOST_WRONG]
    if found and found[0]["type"] == "json_invalid":
        return render_problem(_not_json(found[0], error.body))
    wrong = [_wrong(one) for one in found]
    for at, one in enumerate(found[:MOST_HINTS]):
        if one["type"] == UNKNOWN_KEY:
            wrong[at] = msgspec.structs.replace(wrong[at], hint=_key_hint(request, list(one["loc"])))
    first = wrong[0] if wrong else Wrong("", "the request is not valid")
    detail = f"{first.path}: {first.message}" if first.path else first.message
    hint = first.hint or default_hints.default_hint(422)
    return render_problem(ProblemView("Not valid", 422, "request_invalid", detail, hint, errors=wrong))


def _wrong(one: Any) -> Wrong:
    """Where it stands and what is wrong, in the words of task files: `fields[0].name`."""
    where, *parts = one["loc"]
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    message = str(one["msg"]).removeprefix("Value error, ")
    if one["type"] == UNKNOWN_KEY and parts:
        message = f"unknown key {str(parts[-1])[: suggestions.MAX_NAME]!r}"
    hint = "" if where == "body" else f"it is read from the {where}"
    return Wrong(path[:LONGEST] or str(where), message[:LONGEST], hint)


def _not_json(one: Any, body: Any) -> ProblemView:
    """Says where the reading stopped; the reader of FastAPI knows the position, that of pydantic the line."""
    reason = str(one.get("ctx", {}).get("error") or one["msg"]).removeprefix("Invalid JSON: ")
    reason = reason[:1].lower() + reason[1:]
    if isinstance(body, str) and isinstance(one["loc"][-1], int):
        position = one["loc"][-1]
        line, column = body.count("\n", 0, position) + 1, position - body.rfind("\n", 0, position)
        reason = f"{reason} at line {line} column {column}"
    message = f"the body is not JSON: {reason[:LONGEST]}"
    hint = default_hints.default_hint(400)
    return ProblemView("Not readable", 400, CODES[400], message, hint, errors=[Wrong("", message, hint)])


def _key_hint(request: Request, location: list[int | str]) -> str:
    """What may have been meant by an unknown key, where the route says what its body is."""
    where, *parts = location
    field = getattr(request.scope.get("route"), "body_field", None)
    if where != "body" or field is None or not parts:
        return ""
    keys = suggestions.keys_at(field.field_info.annotation, parts[:-1])
    return suggestions.nearest_hint(str(parts[-1]), keys) or suggestions.list_known(keys)


async def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    status, detail, headers = error.status_code, str(error.detail), dict(error.headers or {})
    hint = default_hints.default_hint(status)
    if status == 404 and detail == "Not Found":
        detail, hint = f"there is nothing at {request.url.path[:200]}", default_hints.PATHS
    if status == 405:
        detail = f"{request.method} is not possible at {request.url.path[:200]}"
        headers["Allow"] = ", ".join(sorted(_allowed(request)))
        hint = f"possible here: {headers['Allow']}"
    if "body" in detail and status == 400:  # FastAPI's words for a body that cannot be decoded
        detail = "the body cannot be read"
    title = {404: "Not found", 405: "Not possible here", 413: "Too large", 415: "Not understood"}
    code = CODES.get(status, "http_error")
    return render_problem(ProblemView(title.get(status, "Error"), status, code, detail, hint), headers)


def _allowed(request: Request) -> set[str]:
    """Everything that is possible at a path; the router itself only knows of its first route."""
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
    detail = "something went wrong here"
    hint = f"the server's log tells more under {number}"
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
