"""Users, and tokens of programs."""

from __future__ import annotations

from collections.abc import Sequence

from smartspider.client.connection import new_key, place
from smartspider.client.operations.wired import Wired
from smartspider.core.access import Role
from smartspider.views.access import NewTokenView, TokenView, UserView
from smartspider.views.listed import Listed

USERS = "/api/users"
TOKENS = "/api/tokens"


class UserOperations(Wired):
    """People who sign in, named by their id or their name."""

    async def list_users(self, *, limit: int = 100, cursor: str | None = None) -> Listed[UserView]:
        """Users in the order they were added."""
        return await self.connection.get(USERS, Listed[UserView], {"limit": limit, "cursor": cursor})

    async def create_user(
        self,
        name: str,
        *,
        role: Role = "viewer",
        password: str | None = None,
        idempotency_key: str | None = None,
    ) -> UserView:
        """Add a user. Without a password they cannot sign in; tokens can act for them."""
        body = {"name": name, "role": role, "password": password}
        return await self.connection.post(USERS, UserView, body, key=idempotency_key or new_key())

    async def get_user(self, user_id: str) -> UserView:
        """A user."""
        return await self.connection.get(place(f"{USERS}/", user_id), UserView)

    async def change_user(
        self,
        user_id: str,
        *,
        role: Role | None = None,
        password: str | None = None,
        enabled: bool | None = None,
    ) -> UserView:
        """Change a user; all their sessions end, and who is disabled loses their tokens too."""
        body = {"role": role, "password": password, "enabled": enabled}
        answer = await self.connection.request("PATCH", place(f"{USERS}/", user_id), body=body)
        return self.connection.read(answer, UserView)

    async def delete_user(self, user_id: str) -> None:
        """Forget a user; their sessions and tokens end."""
        await self.connection.request("DELETE", place(f"{USERS}/", user_id))


class TokenOperations(Wired):
    """What programs sign in with."""

    async def list_tokens(
        self, *, actor: str | None = None, limit: int = 100, cursor: str | None = None
    ) -> Listed[TokenView]:
        """Tokens in the order they were made."""
        params = {"actor": actor, "limit": limit, "cursor": cursor}
        return await self.connection.get(TOKENS, Listed[TokenView], params)

    async def create_token(
        self,
        name: str,
        *,
        role: Role,
        scopes: Sequence[str] = (),
        expires_in_s: float | None = None,
        user: str | None = None,
        idempotency_key: str | None = None,
    ) -> NewTokenView:
        """Make a token; the answer holds the secret, this once."""
        body = {
            "name": name,
            "role": role,
            "scopes": list(scopes),
            "expires_in_s": expires_in_s,
            "user": user,
        }
        return await self.connection.post(TOKENS, NewTokenView, body, key=idempotency_key or new_key())

    async def get_token(self, token_id: str) -> TokenView:
        """A token."""
        return await self.connection.get(place(f"{TOKENS}/", token_id), TokenView)

    async def revoke_token(self, token_id: str) -> TokenView:
        """Revoke a token."""
        answer = await self.connection.request("DELETE", place(f"{TOKENS}/", token_id))
        return self.connection.read(answer, TokenView)
