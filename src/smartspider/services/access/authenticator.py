"""Who comes with a token."""

from __future__ import annotations

import hmac
from contextlib import suppress

from smartspider.core.access import Principal
from smartspider.core.errors import NotSignedIn, StoreUnavailable
from smartspider.interfaces.clock import Clock
from smartspider.services.access.secrets import LONGEST, hash_secret
from smartspider.services.access.session_tokens import LEEWAY_S, SessionTokens
from smartspider.store.access.records import TokenRecord
from smartspider.store.access.users import UserStore

CACHE_S = 2.0
"""How long somebody is let in without another look; what is revoked by another process bites after that."""
CACHE_SIZE = 4096
USED_EVERY_S = 60.0
ADMIN = Principal("admin", "admin")
"""Who comes with the token of the settings."""


class Authenticator:
    """Knows principals by their tokens, and remembers them for a moment."""

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
        self._known: dict[bytes, tuple[Principal, float]] = {}

    async def principal(self, token: bytes) -> Principal:
        """Whose token it is; raises `NotSignedIn` for one that is forged, over or revoked."""
        if not token or len(token) > LONGEST:
            raise unknown()
        hash_ = hash_secret(token)
        if self._admin is not None and hmac.compare_digest(hash_, self._admin):
            return ADMIN
        known = self._known.get(hash_)
        if known is not None and known[1] > self._clock.monotonic():
            return known[0]
        self._known.pop(hash_, None)
        principal, good_for_s = await self._look_up(token, hash_)
        if len(self._known) >= self._cache_size:
            del self._known[next(iter(self._known))]
        self._known[hash_] = (principal, self._clock.monotonic() + min(CACHE_S, good_for_s))
        return principal

    def clear_cache(self) -> None:
        """Look again at whoever comes next: something was revoked here."""
        self._known.clear()

    async def _look_up(self, token: bytes, hash_: bytes) -> tuple[Principal, float]:
        now = self._clock.now()
        if token.count(b".") == 2:
            claims = self._access_tokens.read(token)
            user = await self._users.find_session(claims.user_id, claims.session, claims.family)
            if user is None:
                raise NotSignedIn("this session has ended", hint="sign in again")
            return Principal(user.name, user.role, user_id=user.id, family=claims.family), (
                claims.expires_at + LEEWAY_S - now
            )
        record = await self._users.find_token(hash_)
        if record is None:
            raise unknown()
        if record.revoked_at is not None:
            raise NotSignedIn("this token was revoked", hint="ask an admin for another one")
        good_for_s = CACHE_S if record.expires_at is None else record.expires_at - now
        if good_for_s <= 0:
            raise NotSignedIn("this token has expired", hint="create a new one")
        await self._note_use(record, now)
        return Principal(record.actor, record.role, record.scopes, record.id), good_for_s

    async def _note_use(self, record: TokenRecord, now: float) -> None:
        if record.used_at is not None and record.used_at > now - USED_EVERY_S:
            return
        with suppress(StoreUnavailable):  # a full disk keeps nobody from looking
            await self._users.record_token_use(record.id)


def unknown() -> NotSignedIn:
    """Nobody, or nobody we know."""
    return NotSignedIn(
        "no valid token came with the request",
        hint="send `Authorization: Bearer TOKEN` with a token that is good",
    )
