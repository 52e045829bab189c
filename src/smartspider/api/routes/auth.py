"""Signing in and out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from smartspider.api.answers import answer, answers, answers_nothing, no_answer
from smartspider.api.house import Housed
from smartspider.api.security import Signed, address_of
from smartspider.api.sign_in_body import DOCUMENTED, Secret, SignInSent
from smartspider.views.access import MeView, SessionView, TicketView, me_view

router = APIRouter(prefix="/api/auth", tags=["auth"])


class PasswordBody(BaseModel):
    """Another password for oneself."""

    model_config = ConfigDict(
        extra="forbid",
        hide_input_in_errors=True,
        json_schema_extra={
            "examples": [{"password": "the one so far", "new_password": "four random words here"}]
        },
    )

    password: Secret
    new_password: Annotated[str, Field(min_length=10, max_length=500)]


@router.post(
    "/token",
    name="create_session",
    summary="Sign in, or prolong a session",
    description="A name and a password begin a session; its refresh token prolongs it, once. A refresh token "
    "that comes a second time ends the session.",
    openapi_extra=DOCUMENTED,
    **answers(SessionView, "The session"),
)
async def create_session(sent: SignInSent, request: Request, house: Housed) -> Response:
    """Sign in, or prolong a session."""
    sign_in, address = house.access.sign_in, address_of(request)
    if sent.refresh_token is not None:
        return answer(await sign_in.with_refresh(sent.refresh_token, address))
    return answer(await sign_in.with_password(sent.username or "", sent.password or "", address))


@router.get("/me", name="get_me", summary="Who asks", **answers(MeView, "Who asks, and what they may"))
async def get_me(principal: Signed) -> Response:
    """Who asks."""
    return answer(me_view(principal))


@router.post(
    "/ticket",
    name="create_ticket",
    summary="A ticket that opens one WebSocket",
    description="For browsers, which cannot send an Authorization header there: append `?ticket=`.",
    **answers(TicketView, "The ticket"),
)
async def create_ticket(principal: Signed, house: Housed) -> Response:
    """A ticket that opens one WebSocket."""
    return answer(await house.access.sign_in.ticket(principal))


@router.post("/logout", name="end_session", summary="Sign out", **answers_nothing("The session is over"))
async def end_session(principal: Signed, house: Housed) -> Response:
    """End the session this request came with."""
    await house.access.sign_in.out(principal)
    house.access.bearers.forget()
    return no_answer()


@router.post(
    "/password",
    name="change_password",
    summary="Change one's own password",
    description="All sessions end; the answer is a new one.",
    **answers(SessionView, "A new session"),
)
async def change_password(body: PasswordBody, principal: Signed, request: Request, house: Housed) -> Response:
    """Change one's own password."""
    session = await house.access.sign_in.change_password(
        principal, body.password, body.new_password, address_of(request)
    )
    house.access.bearers.forget()
    return answer(session)
