"""The door of an installation: who comes, how they sign in, and what is behind it."""

from __future__ import annotations

import msgspec

from smartspider.core.access import Principal
from smartspider.core.errors import NotFound
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.user_store import NewToken, UserStore
from smartspider.services.access_tokens import AccessTokens
from smartspider.services.bearers import Bearers
from smartspider.services.keys import Keys
from smartspider.services.passwords import Passwords
from smartspider.services.secret_texts import hash_of, make_secret
from smartspider.services.sign_in import SignIn


class Access(msgspec.Struct, frozen=True):
    """Everything about users, tokens and sessions, on one user store."""

    users: UserStore
    keys: Keys
    clock: Clock
    bearers: Bearers
    sign_in: SignIn
    passwords: Passwords

    async def is_still_good(self, principal: Principal) -> bool:
        """Whether somebody who was let in before would be let in again; for what stays open long."""
        try:
            if principal.token_id is not None:
                token = await self.users.get_token(principal.token_id)
                is_over = token.expires_at is not None and token.expires_at <= self.clock.now()
                return token.revoked_at is None and not is_over
            if principal.user_id is None:
                return True
            user = await self.users.get_user(principal.user_id)
        except NotFound:
            return False
        return await self.users.find_session(user.id, user.session, principal.family) is not None


def build_access(users: UserStore, keys: Keys, clock: Clock, admin_token: str = "") -> Access:
    """The door, put together. `admin_token` is let in as it is."""
    access_tokens, passwords = AccessTokens(keys, clock), Passwords()
    return Access(
        *(users, keys, clock),
        bearers=Bearers(users, access_tokens, clock, admin_token),
        sign_in=SignIn(users, access_tokens, passwords, clock),
        passwords=passwords,
    )


async def first_admin(users: UserStore) -> str | None:
    """When there is no user at all: an admin without a password, and their token, told this once."""
    secret = make_secret("sst")
    token = NewToken("first-admin", hash_of(secret), "admin", "admin")
    return secret if await users.add_first_admin("admin", "", token) else None
