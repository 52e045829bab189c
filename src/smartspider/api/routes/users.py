"""Users."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from smartspider.api.answers import LOCATION, answer, answers, answers_nothing, no_answer
from smartspider.api.house import Housed
from smartspider.api.idempotency import once
from smartspider.api.paging import Cursor, Limit
from smartspider.api.security import needs
from smartspider.core.access import Principal, Role
from smartspider.services import users
from smartspider.views.access import UserView
from smartspider.views.listed import Listed

router = APIRouter(prefix="/api/users", tags=["users"])

UserId = Annotated[str, Path(max_length=64, description="The id of a user, or their name.")]
Password = Annotated[str, Field(min_length=10, max_length=500)]
Reads = Annotated[Principal, needs("users", "read")]
Writes = Annotated[Principal, needs("users", "write")]


class UserBody(BaseModel):
    """A new user. Without a password they cannot sign in; tokens can act for them."""

    model_config = ConfigDict(
        extra="forbid",
        hide_input_in_errors=True,
        json_schema_extra={
            "examples": [{"name": "ann", "role": "operator", "password": "four random words here"}]
        },
    )

    name: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z][A-Za-z0-9._@-]*$")]
    role: Role = "viewer"
    password: Password | None = None


class UserChange(BaseModel):
    """What is to be another; the rest stays."""

    model_config = ConfigDict(
        extra="forbid", hide_input_in_errors=True, json_schema_extra={"examples": [{"role": "viewer"}]}
    )

    role: Role | None = None
    password: Password | None = None
    enabled: bool | None = None


@router.get("", name="list_users", summary="Users", **answers(Listed[UserView], "A page of users"))
async def list_users(house: Housed, principal: Reads, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """Users in the order they were added."""
    return answer(await users.find(house.access, principal, cursor=cursor, limit=limit))


@router.post(
    "",
    name="create_user",
    summary="Add a user",
    **answers(UserView, "The user", status=201, **LOCATION),
)
@once
async def create_user(body: UserBody, house: Housed, principal: Writes) -> Response:
    """Add a user."""
    user = await users.add(house.access, principal, body.name, body.role, body.password)
    return answer(user, 201, {"Location": f"/api/users/{user.id}"})


@router.get("/{user_id}", name="get_user", summary="A user", **answers(UserView, "The user"))
async def get_user(user_id: UserId, house: Housed, principal: Reads) -> Response:
    """A user."""
    return answer(await users.get(house.access, principal, user_id))


@router.patch(
    "/{user_id}",
    name="change_user",
    summary="Change a user",
    description="All their sessions end. Who is disabled loses their tokens too.",
    **answers(UserView, "The user as they are now"),
)
async def change_user(user_id: UserId, body: UserChange, house: Housed, principal: Writes) -> Response:
    """Change a user."""
    changed = await users.change(
        *(house.access, principal, user_id),
        password=body.password,
        role=body.role,
        is_enabled=body.enabled,
    )
    return answer(changed)


@router.delete(
    "/{user_id}", name="delete_user", summary="Forget a user", **answers_nothing("The user is forgotten")
)
async def delete_user(user_id: UserId, house: Housed, principal: Writes) -> Response:
    """Forget a user; their sessions and tokens end."""
    await users.delete(house.access, principal, user_id)
    return no_answer()
