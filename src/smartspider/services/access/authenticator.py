"""Authentication of bearer tokens."""

from __future__ import annotations

import hmac
from contextlib import suppress

from smartspider.core.access import Principal, TokenRecord
from smartspider.core.errors import NotSignedIn, StoreUnavailable
from smartspider.interfaces.clock import Clock
from smartspider.services.access.secrets import MAX_SECRET_LENGTH, hash_secret
from smartspider.services.access.session_tokens import LEEWAY_S, Claims, SessionTokens
from smartspider.store.access.users import UserStore

CACHE_S = 2.0
"""Time for which a principal is cached; a revocation by another process takes effect after it."""
CACHE_SIZE = 4096
USED_EVERY_S = 60.0
ADMIN = Principal("admin", "admin")
"""The principal of the token in the settings."""


class Authenticator:
    """Returns the principal of a token, from a short-lived cache or the store."""

    def __init__(
        self,
        users: UserStore,
        access_tokens: SessionTokens,
        clock: Clock,
        admin_token: str = "",
        *,
        cache_size: int = CACHE_SIZE,
    ) -> None:
        self._users, self._access_tokens, self._clock = users, access_tokens, clock
        self._admin = hash_secret(admin_token.strip()) if admin_token.strip() else None
        self._cache_size = cache_size
        self._cache: dict[bytes, tuple[Principal, float]] = {}

    async def principal(self, token: bytes) -> Principal:
        """Return the principal of a token; raise `NotSignedIn` if it is unknown, expired or revoked."""
        if not token or len(token) > MAX_SECRET_LENGTH:
            raise invalid_token()
        hash_ = hash_secret(token)
        if self._admin is not None and hmac.compare_digest(hash_, self._admin):
            return ADMIN
        cached = self._cache.get(hash_)
        if cached is not None and cached[1] > self._clock.monotonic():
            return cached[0]
        self._cache.pop(hash_, None)
        principal, valid_for_s = await self._look_up(token, hash_)
        if len(self._cache) >= self._cache_size:
            del self._cache[next(iter(self._cache))]
        self._cache[hash_] = (principal, self._clock.monotonic() + min(CACHE_S, valid_for_s))
        return principal

    def clear_cache(self) -> None:
        """Drop all cached principals, after a revocation in this process."""
        self._cache.clear()

    async def _look_up(self, token: bytes, hash_: bytes) -> tuple[Principal, float]:
        now = self._clock.now()
        if token.count(b".") == 2:
            claims = self._access_tokens.read(token)
            return await self._principal_of(claims), claims.expires_at + LEEWAY_S - now
        record = await self._users.find_token(hash_)
        if record is None:
            raise invalid_token()
        if record.revoked_at is not None:
            raise NotSignedIn("this token was revoked", hint="ask an admin for another one")
        valid_for_s = CACHE_S if record.expires_at is None else record.expires_at - now
        if valid_for_s <= 0:
            raise NotSignedIn("this token has expired", hint="create a new one")
        await self._record_use(record, now)
        return Principal(record.actor, record.role, record.scopes, record.id), valid_for_s

    async def _principal_of(self, claims: Claims) -> Principal:
        """Return the principal of a session: a user, or in a browser also a token."""
        if claims.user_id:
            user = await self._users.find_session(claims.user_id, claims.session, claims.family)
            if user is not None:
                return Principal(user.name, user.role, user_id=user.id, family=claims.family)
        elif found := await self._users.find_browser_session(family=claims.family):
            is_of_settings = found[0].kind == "installation"
            if self._admin is not None or not is_of_settings:
                return found[0]
        raise NotSignedIn("this session has ended", hint="sign in again")

    async def _record_use(self, record: TokenRecord, now: float) -> None:
        if record.used_at is not None and record.used_at > now - USED_EVERY_S:
            return
        with suppress(StoreUnavailable):  # a full disk must not prevent reading
            await self._users.record_token_use(record.id)


def invalid_token() -> NotSignedIn:
    """Return the error for a missing or unknown token."""
    return NotSignedIn(
        "the request has no valid token",
        hint="send `Authorization: Bearer TOKEN` with a valid token",
    )
