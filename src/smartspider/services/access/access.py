"""The access services of an installation."""

from __future__ import annotations

import msgspec

from smartspider.core.access import NewToken, Principal
from smartspider.core.errors import NotFound
from smartspider.installation.installation import Installation
from smartspider.installation.keys import Keys
from smartspider.interfaces.clock import Clock
from smartspider.services.access.authenticator import Authenticator
from smartspider.services.access.browser_sessions import BrowserSessions
from smartspider.services.access.secrets import Passwords, check_admin_token, hash_secret, new_secret
from smartspider.services.access.session_tokens import SessionTokens
from smartspider.services.access.sign_in import SignIn
from smartspider.store.access.users import UserStore


class Access(msgspec.Struct, frozen=True):
    """Users, tokens, sessions and passwords of an installation."""

    users: UserStore
    keys: Keys
    clock: Clock
    authenticator: Authenticator
    sign_in: SignIn
    browser_sessions: BrowserSessions
    passwords: Passwords

    async def is_still_valid(self, principal: Principal) -> bool:
        """Return False once the token or session of a principal has ended; for connections that stay open."""
        try:
            if principal.family and principal.user_id is None:  # a token that signed in with a browser
                return await self.users.find_browser_session(family=principal.family) is not None
            if principal.token_id is not None:
                token = await self.users.get_token(principal.token_id)
                has_expired = token.expires_at is not None and token.expires_at <= self.clock.now()
                return token.revoked_at is None and not has_expired
            if principal.user_id is None:
                return True
            user = await self.users.get_user(principal.user_id)
        except NotFound:
            return False
        return await self.users.find_session(user.id, user.session, principal.family) is not None


def build_access(
    installation: Installation, admin_token: str = "", passwords: Passwords | None = None
) -> Access:
    """Build the access services of an installation. `admin_token` is accepted verbatim."""
    users, keys, clock = installation.users, installation.keys, installation.clock
    access_tokens, passwords = SessionTokens(keys, clock), passwords or Passwords()
    authenticator = Authenticator(users, access_tokens, clock, admin_token)
    sign_in = SignIn(users, access_tokens, passwords, clock)
    return Access(
        *(users, keys, clock, authenticator, sign_in),
        BrowserSessions(users, sign_in, authenticator, access_tokens, keys=keys, clock=clock),
        passwords=passwords,
    )


async def create_first_admin(installation: Installation) -> str | None:
    """Create the first admin, without a password, and return their token; None if anyone can sign in. Raise
    `SettingInvalid` if the admin token of the settings is too short.
    """
    if admin_token := installation.settings.admin_token.strip():
        check_admin_token(admin_token)
        return None
    secret = new_secret("sst")
    token = NewToken("first-admin", hash_secret(secret), "admin", "admin")
    return secret if await installation.users.add_first_admin("admin", "", token) else None
