"""Signing in and out: passwords for sessions, refreshes for further ones, tickets for WebSockets."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from smartspider.core.access import Principal
from smartspider.core.errors import NotAllowed, NotFound, NotSignedIn, TooMany
from smartspider.core.rate_limits import RateLimit, TokenBuckets
from smartspider.interfaces.clock import Clock
from smartspider.services.access.passwords import Passwords, check_new
from smartspider.services.access.secrets import LONGEST, hash_secret, new_secret
from smartspider.services.access.session_tokens import LIFE_S, SessionTokens
from smartspider.store.access.records import UserRecord
from smartspider.store.access.users import UserStore
from smartspider.views.access import SessionView, TicketView

REFRESH_LIFE_S = 14 * 86_400.0
TICKET_LIFE_S = 30
OF_ADDRESS = RateLimit(1 / 3, 20)
"""Failed sign-ins from one address."""
OF_NAME = RateLimit(1 / 6, 10)
"""Failed sign-ins with one name, from wherever."""


class SignIn:
    """Lets users in. Attempts that fail are counted by address and by name."""

    def __init__(
        self, users: UserStore, access_tokens: SessionTokens, passwords: Passwords, clock: Clock
    ) -> None:
        self._users, self._access_tokens, self._clock = users, access_tokens, clock
        self._passwords = passwords
        self._of_address, self._of_name = TokenBuckets(OF_ADDRESS), TokenBuckets(OF_NAME)

    async def with_password(self, name: str, password: str, address: str) -> SessionView:
        """A new session; raises `NotSignedIn` without saying what was wrong."""
        with self._counted(address, name):
            user = await self._checked(name, password)
            family = secrets.token_hex(16)
            refresh = new_secret("ssr")
            expires_at = self._clock.now() + REFRESH_LIFE_S
            if not await self._users.add_refresh(hash_secret(refresh), user, family, expires_at):
                raise _refused()
            return self._session(user, family, refresh)

    async def with_refresh(self, refresh: str, address: str) -> SessionView:
        """The session goes on; the refresh is good no more."""
        with self._counted(address):
            following = new_secret("ssr")
            expires_at = self._clock.now() + REFRESH_LIFE_S
            used = None
            if len(refresh) <= LONGEST:
                used = await self._users.use_refresh(hash_secret(refresh), hash_secret(following), expires_at)
            if used is None:
                raise NotSignedIn("the refresh token is not good, or not any more", hint="sign in again")
            return self._session(*used, following)

    async def out(self, principal: Principal) -> None:
        """End the session that somebody came with."""
        if not principal.family:
            raise NotAllowed(
                "a token is no session and cannot sign out", hint="revoke it: DELETE /api/tokens/ID"
            )
        await self._users.end_family(principal.family)

    async def change_password(
        self, principal: Principal, password: str, new: str, address: str
    ) -> SessionView:
        """Another password for oneself. All sessions end; a new one begins."""
        if principal.user_id is None:
            raise NotAllowed(
                "only who signed in with a password can change it", hint="an admin can: PATCH /api/users/ID"
            )
        check_new(new, principal.name)
        with self._counted(address, principal.name):
            user = await self._checked(principal.name, password)
        hashed = await self._passwords.hashed(new)
        await self._users.change_user(user.id, actor=principal.name, password=hashed)
        return await self.with_password(principal.name, new, address)

    async def ticket(self, principal: Principal) -> TicketView:
        """What opens one WebSocket for somebody who is signed in."""
        ticket = new_secret("ssk")
        await self._users.add_ticket(hash_secret(ticket), principal, self._clock.now() + TICKET_LIFE_S)
        return TicketView(ticket, TICKET_LIFE_S)

    async def with_ticket(self, ticket: str, address: str) -> Principal:
        """Whose ticket it was."""
        with self._counted(address):
            found = await self._users.use_ticket(hash_secret(ticket)) if len(ticket) <= LONGEST else None
            if found is None:
                raise NotSignedIn(
                    "the ticket is not good, or not any more", hint="get another: POST /api/auth/ticket"
                )
            return found

    async def _checked(self, name: str, password: str) -> UserRecord:
        try:
            user: UserRecord | None = await self._users.get_user(name)
        except NotFound:
            user = None
        may = user is not None and user.disabled_at is None
        is_right = await self._passwords.is_right(user.password if user and may else None, password)
        if user is None or not is_right:
            raise _refused()
        return user

    @contextmanager
    def _counted(self, address: str, name: str = "") -> Iterator[None]:
        """Count an attempt before it is made, so that many at once are counted too; not if it goes well."""
        now = self._clock.monotonic()
        taken: list[tuple[TokenBuckets, str]] = []
        for buckets, key in ((self._of_address, address), (self._of_name, name)):
            wait_s = buckets.take(key, now) if key else 0.0
            if wait_s:
                raise TooMany(
                    "too many failed attempts to sign in", retry_after_s=wait_s, hint="wait and try again"
                )
            if key:
                taken.append((buckets, key))
        is_failed = False
        try:
            yield
        except NotSignedIn:
            is_failed = True
            raise
        finally:
            for buckets, key in () if is_failed else taken:
                buckets.refund(key)

    def _session(self, user: UserRecord, family: str, refresh: str) -> SessionView:
        return SessionView(self._access_tokens.make(user, family), "bearer", LIFE_S, refresh)


def _refused() -> NotSignedIn:
    return NotSignedIn("the name or the password is wrong", hint="check both; passwords are case-sensitive")
