"""Tokens of programs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from smartspider.api.answers import LOCATION, answer, answers
from smartspider.api.house import Housed
from smartspider.api.idempotency import once_without_secret
from smartspider.api.ids import Id
from smartspider.api.paging import Cursor, Limit
from smartspider.api.security import needs
from smartspider.core.access import AREAS, SCOPES, Principal, Role
from smartspider.services import tokens
from smartspider.services.paging import number
from smartspider.views.access import NewTokenView, TokenView
from smartspider.views.listed import Listed

router = APIRouter(prefix="/api/tokens", tags=["tokens"])

Scope = Annotated[str, Field(max_length=40, json_schema_extra={"enum": list(SCOPES)})]
Reads = Annotated[Principal, needs("tokens", "read")]
Writes = Annotated[Principal, needs("tokens", "write")]


class TokenBody(BaseModel):
    """A token to be made. Without `user` a token that an admin makes acts as itself, `token:NAME`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "nightly-export",
                    "role": "viewer",
                    "scopes": ["results:read", "runs:read"],
                    "expires_in_s": 7_776_000,
                }
            ]
        },
    )

    name: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._@ -]*$")]
    role: Role
    scopes: Annotated[list[Scope], Field(max_length=2 * len(AREAS))] = []
    expires_in_s: Annotated[float, Field(ge=1, le=tokens.LONGEST_S)] | None = None
    user: Annotated[str, Field(min_length=1, max_length=80)] | None = None


@router.get(
    "",
    name="list_tokens",
    summary="Tokens",
    description="An admin sees all, others those that act for them. No answer holds a secret.",
    **answers(Listed[TokenView], "A page of tokens"),
)
async def list_tokens(
    house: Housed,
    principal: Reads,
    actor: Annotated[str | None, Query(max_length=80, description="Whom they act for.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Tokens in the order they were made."""
    return answer(await tokens.find(house.access, principal, actor=actor, cursor=cursor, limit=limit))


@router.post(
    "",
    name="create_token",
    summary="Make a token",
    description="The answer holds the secret, this once. Who is no admin makes tokens that act for them and "
    "may do no more than they.",
    **answers(NewTokenView, "The token with its secret", status=201, **LOCATION),
)
@once_without_secret
async def create_token(body: TokenBody, house: Housed, principal: Writes) -> Response:
    """Make a token."""
    wish = tokens.Wish(body.name, body.role, tuple(body.scopes), body.expires_in_s, body.user)
    made = await tokens.make(house.access, principal, wish)
    return answer(made, 201, {"Location": f"/api/tokens/{made.id}"})


@router.get("/{token_id}", name="get_token", summary="A token", **answers(TokenView, "The token"))
async def get_token(token_id: Id, house: Housed, principal: Reads) -> Response:
    """A token."""
    return answer(await tokens.get(house.access, principal, number(token_id, "token")))


@router.delete(
    "/{token_id}",
    name="revoke_token",
    summary="Revoke a token",
    **answers(TokenView, "The token, good for nothing"),
)
async def revoke_token(token_id: Id, house: Housed, principal: Writes) -> Response:
    """Revoke a token."""
    return answer(await tokens.revoke(house.access, principal, number(token_id, "token")))
