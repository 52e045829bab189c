"""Sessions, users and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from smartspider.core.access import AREAS, SCOPES, Role
from smartspider.operations.operation import Body, Operations, Replay, operation
from smartspider.services.inputs import parse_id
from smartspider.views.access import (
    MeView,
    NewTokenView,
    SessionView,
    TicketView,
    TokenView,
    UserView,
    me_view,
)
from smartspider.views.listed import Listed
from smartspider.views.params import Cursor, Id, IdempotencyKey, Limit, Param, body, query

MAX_TOKEN_AGE_S = 10 * 366 * 86_400.0
UserId = Annotated[str, Param(about="The id of a user, or their name.", rules={"max_length": 64})]
Secret = Annotated[str, body(min_length=1, max_length=4096)]
NewPassword = Annotated[str, body(min_length=10, max_length=500)]
OptionalPassword = Annotated[str | None, body(min_length=10, max_length=500)]


class SessionOperations(Operations):
    """Sign-in sessions."""

    caller_address: str = ""
    """The network address of the caller; failed sign-ins are counted by it."""

    @operation(
        "POST",
        "/api/auth/token",
        needs="open",
        summary="Sign in or refresh a session",
        answer="The session",
        body=Body("SignInBody", is_secret=True),
        is_routed=False,
    )
    async def create_session(
        self,
        *,
        username: str | None = None,
        password: str | None = None,
        refresh_token: str | None = None,
    ) -> SessionView:
        """Start a session with a user name and a password, or refresh one with its refresh token.

        A refresh token can be used once; reusing it ends the session.
        """
        sign_in = self.services.access.sign_in
        if refresh_token is not None:
            return await sign_in.with_refresh(refresh_token, self.caller_address)
        return await sign_in.with_password(username or "", password or "", self.caller_address)

    @operation(
        "GET",
        "/api/auth/me",
        needs="signed_in",
        summary="Return the authenticated principal",
        answer="The principal and its permissions",
    )
    async def get_me(self) -> MeView:
        """Return the principal of the token and its permissions."""
        return me_view(self.principal)

    @operation(
        "POST",
        "/api/auth/ticket",
        needs="signed_in",
        summary="Create a ticket",
        answer="The ticket",
        body=Body(
            "TicketBody",
            "The address that the ticket opens.",
            named_examples={
                "address": {"summary": "Open one address", "value": {"for": "/api/runs/7/events"}}
            },
            is_optional=True,
        ),
    )
    async def create_ticket(
        self,
        *,
        opens: Annotated[
            str | None,
            Param(
                about="An address below `/api/`, with its query: a WebSocket or a GET.",
                place="body",
                alias="for",
                rules={"min_length": 1, "max_length": 4000},
            ),
        ] = None,
    ) -> TicketView:
        """Create a single-use ticket; pass it as `?ticket=`.

        For browsers, which cannot send an Authorization header with a WebSocket or a download. With `for` it
        opens that address only, by WebSocket or GET; without, any one WebSocket.
        """
        return await self.services.access.sign_in.ticket(self.principal, opens or "")

    @operation(
        "POST",
        "/api/auth/logout",
        needs="signed_in",
        summary="Sign out",
        answer="The session has ended",
        status=204,
    )
    async def end_session(self) -> None:
        """End the session of the token in this request."""
        await self.services.access.sign_in.sign_out(self.principal)
        self.services.access.authenticator.clear_cache()

    @operation(
        "POST",
        "/api/auth/password",
        needs="signed_in",
        summary="Change your password",
        answer="A new session",
        body=Body(
            "PasswordBody",
            "Your current and new password.",
            examples=({"password": "the current one", "new_password": "four random words here"},),
            is_secret=True,
        ),
    )
    async def change_password(self, *, password: Secret, new_password: NewPassword) -> SessionView:
        """Change your own password. All existing sessions end; the response contains a new session."""
        session = await self.services.access.sign_in.change_password(
            self.principal, password, new_password, self.caller_address
        )
        self.services.access.authenticator.clear_cache()
        return session


class UserOperations(Operations):
    """People who sign in, named by id or name."""

    @operation("GET", "/api/users", needs=("users", "read"), summary="List users", answer="A page of users")
    async def list_users(self, *, limit: Limit = 100, cursor: Cursor = None) -> Listed[UserView]:
        """List users in the order of their creation."""
        from smartspider.services.access import users

        return await users.list_users(self.services.access, self.principal, cursor=cursor, limit=limit)

    @operation(
        "POST",
        "/api/users",
        needs=("users", "write"),
        summary="Create a user",
        answer="The user",
        status=201,
        location="/api/users/{id}",
        replay=Replay(),
        body=Body(
            "UserBody",
            "A new user. A user without a password cannot sign in, but can own tokens.",
            examples=({"name": "ann", "role": "operator", "password": "four random words here"},),
            is_secret=True,
        ),
    )
    async def create_user(
        self,
        name: Annotated[str, body(min_length=1, max_length=64, pattern=r"^[A-Za-z][A-Za-z0-9._@-]*$")],
        *,
        role: Annotated[Role, body()] = "viewer",
        password: OptionalPassword = None,
        idempotency_key: IdempotencyKey = None,
    ) -> UserView:
        """Create a user. A user without a password cannot sign in, but can own tokens."""
        from smartspider.services.access import users

        return await users.create_user(self.services.access, self.principal, name, role, password)

    @operation(
        "GET", "/api/users/{user_id}", needs=("users", "read"), summary="Get a user", answer="The user"
    )
    async def get_user(self, user_id: UserId) -> UserView:
        """Return a user."""
        from smartspider.services.access import users

        return await users.get_user(self.services.access, self.principal, user_id)

    @operation(
        "PATCH",
        "/api/users/{user_id}",
        needs=("users", "write"),
        summary="Update a user",
        answer="The updated user",
        body=Body(
            "UserChange", "The fields to change; others stay.", examples=({"role": "viewer"},), is_secret=True
        ),
    )
    async def change_user(
        self,
        user_id: UserId,
        *,
        role: Annotated[Role | None, body()] = None,
        password: OptionalPassword = None,
        enabled: Annotated[bool | None, body()] = None,
    ) -> UserView:
        """Update a user. All sessions of the user end; disabling a user also revokes their tokens."""
        from smartspider.services.access import users

        return await users.change_user(
            *(self.services.access, self.principal, user_id),
            password=password,
            role=role,
            is_enabled=enabled,
        )

    @operation(
        "DELETE",
        "/api/users/{user_id}",
        needs=("users", "write"),
        summary="Delete a user",
        answer="The user is deleted",
        status=204,
    )
    async def delete_user(self, user_id: UserId) -> None:
        """Delete a user; their sessions end and their tokens are revoked."""
        from smartspider.services.access import users

        await users.delete_user(self.services.access, self.principal, user_id)


class TokenOperations(Operations):
    """Tokens that programs sign in with."""

    @operation(
        "GET", "/api/tokens", needs=("tokens", "read"), summary="List tokens", answer="A page of tokens"
    )
    async def list_tokens(
        self,
        *,
        actor: Annotated[str | None, query("Only tokens that act as this user.", max_length=80)] = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Listed[TokenView]:
        """List tokens in the order of their creation, without their secrets.

        Admins see all tokens; other users see the tokens that act as them.
        """
        from smartspider.services.access import tokens

        access = self.services.access
        return await tokens.list_tokens(access, self.principal, actor=actor, cursor=cursor, limit=limit)

    @operation(
        "POST",
        "/api/tokens",
        needs=("tokens", "write"),
        summary="Create a token",
        answer="The token with its secret",
        status=201,
        location="/api/tokens/{id}",
        replay=Replay(is_secret=True),
        body=Body(
            "TokenBody",
            "A new token. Without `user`, a token that an admin creates acts as itself, `token:NAME`.",
            examples=(
                {
                    "name": "nightly-export",
                    "role": "viewer",
                    "scopes": ["results:read", "runs:read"],
                    "expires_in_s": 7_776_000,
                },
            ),
        ),
    )
    async def create_token(
        self,
        name: Annotated[str, body(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._@ -]*$")],
        *,
        role: Annotated[Role, body()],
        scopes: Annotated[
            Sequence[str],
            Param(
                place="body",
                wire=list[str],
                rules={"max_length": 2 * len(AREAS)},
                items={"max_length": 40, "json_schema_extra": {"enum": list(SCOPES)}},
            ),
        ] = (),
        expires_in_s: Annotated[float | None, body(ge=1, le=MAX_TOKEN_AGE_S)] = None,
        user: Annotated[str | None, body(min_length=1, max_length=80)] = None,
        idempotency_key: IdempotencyKey = None,
    ) -> NewTokenView:
        """Create a token. The response contains the secret, which is not shown again.

        Users who are not admins can create only tokens that act as themselves, with no more permissions
        than their own.
        """
        from smartspider.services.access import tokens
        from smartspider.services.quotas import check_quota

        wanted = tokens.TokenRequest(name, role, tuple(scopes), expires_in_s, user)
        await check_quota(self.installation, self.principal, "tokens")
        return await tokens.create_token(self.services.access, self.principal, wanted)

    @operation(
        "GET", "/api/tokens/{token_id}", needs=("tokens", "read"), summary="Get a token", answer="The token"
    )
    async def get_token(self, token_id: Id) -> TokenView:
        """Return a token, without its secret."""
        from smartspider.services.access import tokens

        return await tokens.get_token(self.services.access, self.principal, parse_id(token_id, "token"))

    @operation(
        "DELETE",
        "/api/tokens/{token_id}",
        needs=("tokens", "write"),
        summary="Revoke a token",
        answer="The revoked token",
    )
    async def revoke_token(self, token_id: Id) -> TokenView:
        """Revoke a token. Further requests with it are rejected."""
        from smartspider.services.access import tokens

        return await tokens.revoke_token(self.services.access, self.principal, parse_id(token_id, "token"))
