"""Sessions of browsers: a cookie that stays the same, for which the page gets short access tokens."""

from __future__ import annotations

import secrets

import msgspec

from smartspider.core.access import NewBrowserSession, Principal, UserRecord
from smartspider.core.errors import NotAllowed, NotSignedIn
from smartspider.installation.keys import Keys
from smartspider.interfaces.clock import Clock
from smartspider.services.access.authenticator import ADMIN, Authenticator
from smartspider.services.access.secrets import MAX_SECRET_LENGTH, hash_secret, new_secret
from smartspider.services.access.session_tokens import LIFETIME_S, SessionTokens
from smartspider.services.access.sign_in import SignIn, refused
from smartspider.store.access.users import UserStore
from smartspider.views.access import BrowserSessionView

SESSION_LIFETIME_S = 14 * 86_400
SETTINGS_SESSION_LIFETIME_S = 12 * 3600
"""For the token of the settings: nothing in the store says when it changes."""
LINK_LIFETIME_S = 600
LINK = "sign-in"
"""The address of a sign-in link among tickets; no path begins like it."""


class BrowserSession(msgspec.Struct, frozen=True):
    """A new session: the secret of its cookie, how long it is valid, and the first access token."""

    secret: str
    lifetime_s: int
    view: BrowserSessionView


class BrowserSessions:
    """1. The secret of a session stays the same until it expires, so tabs and reloads share it.
    2. A session ends when it is signed out, when the sessions of its user end, or with its token.
    3. A sign-in link is valid once.
    """

    def __init__(
        self,
        users: UserStore,
        sign_in: SignIn,
        authenticator: Authenticator,
        access_tokens: SessionTokens,
        *,
        keys: Keys,
        clock: Clock,
    ) -> None:
        self._users, self._sign_in, self._clock = users, sign_in, clock
        self._authenticator, self._access_tokens = authenticator, access_tokens
        self.cookie = f"smartspider_{keys.derive('cookie of browsers')[:4].hex()}"
        """Differs by installation: cookies are shared by all ports of a host."""

    async def with_password(self, name: str, password: str, address: str) -> BrowserSession:
        """Start a session with a password."""
        async with self._sign_in.limits.attempt(address, name):
            user = await self._sign_in.verify(name, password)
            return await self._start(Principal(user.name, user.role, user_id=user.id), user)

    async def with_token(self, token: str, address: str) -> BrowserSession:
        """Start a session with an API token; it ends with the token."""
        async with self._sign_in.limits.attempt(address):
            principal = await self._authenticator.principal(token.encode("utf-8", "replace"))
            if principal.family:
                raise NotSignedIn("an access token is no API token", hint="sign in with a password")
            return await self._start(principal, None)

    async def with_link(self, link: str, address: str) -> BrowserSession:
        """Start a session with a sign-in link, which is used up."""
        async with self._sign_in.limits.attempt(address):
            principal = None
            if len(link) <= MAX_SECRET_LENGTH:
                principal = await self._users.use_ticket(hash_secret(link), LINK, is_socket=False)
            if principal is None:
                raise NotSignedIn(
                    "the link was used before or has expired", hint="start the server again for a new one"
                )
            user = None if principal.user_id is None else await self._users.get_user(principal.user_id)
            return await self._start(principal, user)

    async def renew(self, secret: str, address: str) -> BrowserSessionView:
        """Return the next access token of a session."""
        if not secret:
            raise NotSignedIn("this browser has no session", hint="sign in")
        async with self._sign_in.limits.attempt(address):
            found = None
            if len(secret) <= MAX_SECRET_LENGTH:
                found = await self._users.find_browser_session(hash_=hash_secret(secret))
            if found is None:
                raise NotSignedIn("this session has ended", hint="sign in again")
            principal, user = found
            return self._view(user, principal.family)

    async def end(self, principal: Principal, *, everywhere: bool = False) -> None:
        """End the session of a principal, or all sessions of its user."""
        if not principal.family:
            raise NotAllowed("a token has no session to sign out of", hint="revoke the token instead")
        if everywhere and principal.user_id is not None:
            await self._users.end_sessions(principal.user_id)
        await self._users.end_family(principal.family)
        self._authenticator.clear_cache()

    async def create_link(self) -> str:
        """Return the secret of a link that signs in the first admin, or the admin of the settings."""
        user = await self._users.find_first_admin()
        principal = ADMIN if user is None else Principal(user.name, user.role, user_id=user.id)
        link = new_secret("ssl")
        expires_at = self._clock.now() + LINK_LIFETIME_S
        await self._users.add_ticket(hash_secret(link), principal, expires_at, LINK)
        return link

    async def _start(self, principal: Principal, user: UserRecord | None) -> BrowserSession:
        principal = msgspec.structs.replace(principal, family=secrets.token_hex(16))
        is_of_settings = principal.kind == "installation"
        lifetime_s = SETTINGS_SESSION_LIFETIME_S if is_of_settings else SESSION_LIFETIME_S
        secret, expires_at = new_secret("ssb"), self._clock.now() + lifetime_s
        number = 0 if user is None else user.session
        new = NewBrowserSession(hash_secret(secret), principal, number, expires_at)
        if not await self._users.add_browser_session(new):
            raise refused()
        return BrowserSession(secret, lifetime_s, self._view(user, principal.family))

    def _view(self, user: UserRecord | None, family: str) -> BrowserSessionView:
        return BrowserSessionView(self._access_tokens.create(user, family), "bearer", LIFETIME_S)
