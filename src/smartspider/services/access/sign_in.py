"""Sign-in and sign-out: passwords, refresh tokens, and tickets."""

from __future__ import annotations

import secrets
from urllib.parse import parse_qsl, unquote, urlencode

from smartspider.core.access import Principal, UserRecord
from smartspider.core.errors import NotAllowed, NotFound, NotSignedIn, Problem, RequestInvalid
from smartspider.interfaces.clock import Clock
from smartspider.services.access.secrets import (
    MAX_SECRET_LENGTH,
    Passwords,
    check_password,
    hash_secret,
    new_secret,
)
from smartspider.services.access.session_tokens import LIFETIME_S, SessionTokens
from smartspider.services.access.sign_in_limits import SignInLimits
from smartspider.store.access.users import UserStore
from smartspider.views.access import SessionView, TicketView

REFRESH_LIFETIME_S = 14 * 86_400.0
TICKET_LIFETIME_S = 30
MAX_QUERY_FIELDS = 50


TICKET = "ticket"
"""The query parameter of tickets."""
TICKET_PREFIX = "/api/"


def address_of(path: str, query: str) -> str:
    """Return a path and its query without a ticket, in one form for all spellings."""
    pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=MAX_QUERY_FIELDS)
    kept = [(name, value) for name, value in pairs if name != TICKET]
    return f"{path.rstrip('/')}?{urlencode(kept)}"


class SignIn:
    """Signs users in. Failed attempts are limited (`SignInLimits`)."""

    def __init__(
        self, users: UserStore, access_tokens: SessionTokens, passwords: Passwords, clock: Clock
    ) -> None:
        self._users, self._access_tokens, self._clock = users, access_tokens, clock
        self._passwords = passwords
        self.limits = SignInLimits(clock)

    async def with_password(self, name: str, password: str, address: str) -> SessionView:
        """Start a session; raise `NotSignedIn` without naming which part was wrong."""
        async with self.limits.attempt(address, name):
            user = await self.verify(name, password)
            family = secrets.token_hex(16)
            refresh = new_secret("ssr")
            expires_at = self._clock.now() + REFRESH_LIFETIME_S
            if not await self._users.add_refresh(hash_secret(refresh), user, family, expires_at):
                raise refused()
            return self._session(user, family, refresh)

    async def with_refresh(self, refresh: str, address: str) -> SessionView:
        """Continue a session; the refresh token is used up."""
        async with self.limits.attempt(address):
            next_refresh = new_secret("ssr")
            expires_at = self._clock.now() + REFRESH_LIFETIME_S
            used = None
            if len(refresh) <= MAX_SECRET_LENGTH:
                used = await self._users.use_refresh(
                    hash_secret(refresh), hash_secret(next_refresh), expires_at
                )
            if used is None:
                raise NotSignedIn("the refresh token is invalid or has expired", hint="sign in again")
            return self._session(*used, next_refresh)

    async def sign_out(self, principal: Principal) -> None:
        """End the session of a principal."""
        if not principal.family:
            raise NotAllowed("a token has no session to sign out of", hint="revoke the token instead")
        await self._users.end_family(principal.family)

    async def change_password(
        self, principal: Principal, password: str, new: str, address: str
    ) -> SessionView:
        """Change the principal's own password. All sessions end and a new one starts."""
        if principal.user_id is None:
            raise NotAllowed(
                "only a user who signed in with a password can change it", hint="ask an admin to change it"
            )
        check_password(new, principal.name)
        async with self.limits.attempt(address, principal.name):
            user = await self.verify(principal.name, password)
        hashed = await self._passwords.hash(new)
        await self._users.change_user(user.id, actor=principal.name, password=hashed)
        return await self.with_password(principal.name, new, address)

    async def ticket(self, principal: Principal, opens: str = "") -> TicketView:
        """Return a ticket that opens one address of the API, or any WebSocket."""
        if opens and not opens.startswith(TICKET_PREFIX):
            reason = f"a ticket opens an address below {TICKET_PREFIX}"
            raise RequestInvalid(reason, (Problem("for", reason),), hint="leave it out for a WebSocket")
        ticket, expires_at = new_secret("ssk"), self._clock.now() + TICKET_LIFETIME_S
        path, _, query = opens.partition("?")
        opened = address_of(unquote(path), query) if opens else ""
        await self._users.add_ticket(hash_secret(ticket), principal, expires_at, opened)
        return TicketView(ticket, TICKET_LIFETIME_S)

    async def with_ticket(self, ticket: str, opens: str, address: str, *, is_socket: bool) -> Principal:
        """Return the principal of a ticket for what it opens; the ticket is used up."""
        async with self.limits.attempt(address):
            found = None
            if len(ticket) <= MAX_SECRET_LENGTH:
                found = await self._users.use_ticket(hash_secret(ticket), opens, is_socket=is_socket)
            if found is None:
                raise NotSignedIn(
                    "the ticket is invalid or has expired", hint="get another: POST /api/auth/ticket"
                )
            return found

    async def verify(self, name: str, password: str) -> UserRecord:
        """Return the user with this password; raise `NotSignedIn`. Call it inside `limits.attempt`."""
        try:
            user: UserRecord | None = await self._users.get_user(name)
        except NotFound:
            user = None
        is_enabled = user is not None and user.disabled_at is None
        is_right = await self._passwords.verify(user.password if user and is_enabled else None, password)
        if user is None or not is_right:
            raise refused()
        return user

    def _session(self, user: UserRecord, family: str, refresh: str) -> SessionView:
        return SessionView(self._access_tokens.create(user, family), "bearer", LIFETIME_S, refresh)


def refused() -> NotSignedIn:
    """Return the error for a name and a password that do not belong together."""
    return NotSignedIn("the name or the password is wrong", hint="check both; passwords are case-sensitive")
