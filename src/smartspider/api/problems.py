"""Errors leave the API as problems (RFC 9457), whoever raised them."""

from __future__ import annotations

import logging

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from smartspider.core import errors
from smartspider.views.problem import ProblemView, Wrong, problem_of

MEDIA_TYPE = "application/problem+json"

STATUSES: tuple[tuple[type[errors.SmartSpiderError], int, str], ...] = (
    (errors.TaskInvalid, 422, "Not valid"),
    (errors.NotBuilt, 422, "Not built yet"),
    (errors.SettingInvalid, 422, "Setting not valid"),
    (errors.NotFound, 404, "Not found"),
    (errors.NotSignedIn, 401, "Not signed in"),
    (errors.Forbidden, 403, "Not allowed"),
    (errors.NotAllowed, 409, "Not possible now"),
    (errors.TooMany, 429, "Too many requests"),
    (errors.StoreUnavailable, 503, "Store not available"),
    (errors.PrivateAddress, 422, "Private address"),
    (errors.FetchFailed, 422, "Not fetched"),
    (errors.SmartSpiderError, 500, "Error"),
)
"""First match wins, so the special ones stand before what they derive from."""


def show(problem: ProblemView, headers: dict[str, str] | None = None) -> Response:
    """A problem as an answer."""
    return Response(msgspec.json.encode(problem), problem.status, headers, MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Teach an app to answer errors."""
    app.add_exception_handler(errors.SmartSpiderError, _ours)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(Exception, _unexpected)


async def _ours(_request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.SmartSpiderError)  # noqa: S101 - registered for it
    status, title = next((status, title) for kind, status, title in STATUSES if isinstance(error, kind))
    headers = {}
    if isinstance(error, errors.TooMany):
        headers["Retry-After"] = str(max(1, round(error.retry_after_s)))
    if isinstance(error, errors.NotSignedIn):
        headers["WWW-Authenticate"] = "Bearer"
    return show(problem_of(error, status, title), headers)


async def _not_valid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it
    wrong = [
        Wrong(".".join(str(part) for part in one["loc"][1:]) or str(one["loc"][0]), str(one["msg"]))
        for one in error.errors()
    ]
    detail = f"{wrong[0].path}: {wrong[0].message}" if wrong else "the request is not valid"
    return show(ProblemView("Not valid", 422, "request_invalid", detail, errors=wrong))


async def _of_http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    codes = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}
    code = codes.get(error.status_code, "http_error")
    problem = ProblemView(str(error.detail), error.status_code, code, str(error.detail))
    return show(problem, dict(error.headers or {}))


async def _unexpected(_request: Request, error: Exception) -> Response:
    logging.getLogger(__name__).error("an unexpected error", exc_info=error)
    return show(
        ProblemView(
            "Error", 500, "unexpected", "something went wrong here", "the server's log has the details"
        )
    )
