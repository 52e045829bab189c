"""Sign-in of browsers. Only `renew` reads the cookie; every other call takes an access token."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.responses import Response

from smartspider.api import problems
from smartspider.api.responses import document_response, empty_response, json_response
from smartspider.api.routes.sign_in import Secret, refuse_cross_site
from smartspider.api.security import CurrentServices, SignedIn, caller_address
from smartspider.core.errors import NotSignedIn
from smartspider.views.access import BrowserSessionView

router = APIRouter(prefix="/api/auth/session", tags=["auth"], default_response_class=Response)
PATH = "/api/auth"
"""The path that browsers send the cookie to."""


class BrowserSessionBody(BaseModel):
    """A name and a password, an API token, or the secret of a sign-in link."""

    model_config = ConfigDict(
        extra="forbid",
        hide_input_in_errors=True,
        json_schema_extra={"examples": [{"username": "ann", "password": "four random words here"}]},
    )

    username: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    password: Secret | None = None
    token: Secret | None = None
    link: Secret | None = None

    @model_validator(mode="after")
    def is_one_way(self) -> BrowserSessionBody:
        """Require one way to sign in."""
        sent = {name for name in ("username", "password", "token", "link") if getattr(self, name) is not None}
        if sent not in ({"username", "password"}, {"token"}, {"link"}):
            raise ValueError("send `username` and `password`, or `token`, or `link`")
        return self


@router.post(
    "",
    name="start_browser_session",
    summary="Sign in with a browser",
    responses={200: document_response(BrowserSessionView, "The first access token; a cookie is set")},
)
async def start_browser_session(
    sent: BrowserSessionBody, request: Request, services: CurrentServices
) -> Response:
    """Start a session that a cookie holds, with a password, an API token or a sign-in link.

    Answers an access token. Pages of other origins are refused.
    """
    refuse_cross_site(request)
    sessions, address = services.access.browser_sessions, caller_address(request)
    if sent.token is not None:
        session = await sessions.with_token(sent.token, address)
    elif sent.link is not None:
        session = await sessions.with_link(sent.link, address)
    else:
        session = await sessions.with_password(sent.username or "", sent.password or "", address)
    response = json_response(session.view)
    _set_cookie(response, request, services, session.secret, session.lifetime_s)
    return response


@router.post(
    "/renew",
    name="renew_browser_session",
    summary="Get the next access token of a browser",
    responses={200: document_response(BrowserSessionView, "The next access token")},
)
async def renew_browser_session(request: Request, services: CurrentServices) -> Response:
    """Return another access token for the session of the cookie. Pages of other origins are refused."""
    refuse_cross_site(request)
    secret = request.cookies.get(_cookie_name(request, services), "")
    try:
        view = await services.access.browser_sessions.renew(secret, caller_address(request))
    except NotSignedIn as error:
        response = problems.problem_response(error)
        if secret:
            _set_cookie(response, request, services, "", 0)
        return response
    return json_response(view)


@router.delete(
    "",
    name="end_browser_session",
    summary="Sign out with a browser",
    status_code=204,
    responses={204: {"description": "The session has ended and the cookie is deleted"}},
)
async def end_browser_session(
    principal: SignedIn,
    request: Request,
    services: CurrentServices,
    *,
    everywhere: Annotated[bool, Query(description="End all sessions of the user.")] = False,
) -> Response:
    """End the session of the access token, or all sessions of its user, and delete the cookie."""
    await services.access.browser_sessions.end(principal, everywhere=everywhere)
    response = empty_response()
    _set_cookie(response, request, services, "", 0)
    return response


def _cookie_name(request: Request, services: CurrentServices) -> str:
    prefix = "__Secure-" if request.url.scheme == "https" else ""
    return f"{prefix}{services.access.browser_sessions.cookie}"


def _set_cookie(
    response: Response, request: Request, services: CurrentServices, value: str, max_age_s: int
) -> None:
    response.set_cookie(
        _cookie_name(request, services),
        value,
        max_age=max_age_s,
        path=PATH,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
