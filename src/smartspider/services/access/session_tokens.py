"""Access tokens of users: signed with a key of the installation (JWT, HS256), good for minutes."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.errors import NotSignedIn
from smartspider.installation.keys import Keys
from smartspider.interfaces.clock import Clock
from smartspider.store.access.records import UserRecord

LIFE_S = 900
LEEWAY_S = 5
ALGORITHM = "HS256"
NAME = "smartspider"
AUDIENCE = "smartspider-api"


class Claims(msgspec.Struct, frozen=True):
    """What an access token says: whose session, of which sign-in, until when."""

    user_id: int
    session: int
    family: str
    expires_at: float


class SessionTokens:
    """Makes and reads access tokens."""

    def __init__(self, keys: Keys, clock: Clock) -> None:
        self._key = keys.derive("access tokens")
        self._clock = clock

    def make(self, user: UserRecord, family: str) -> str:
        """A token for a user's session."""
        import jwt

        now = int(self._clock.now())
        claims = {
            "iss": NAME,
            "aud": AUDIENCE,
            "sub": str(user.id),
            "iat": now,
            "exp": now + LIFE_S,
            "ses": user.session,
            "fam": family,
        }
        return jwt.encode(claims, self._key, ALGORITHM)

    def read(self, token: bytes) -> Claims:
        """What a token says that we made and whose time is not over; raises `NotSignedIn` for all others."""
        import jwt

        options: Any = {
            "require": ["iss", "aud", "sub", "iat", "exp", "ses", "fam"],
            "verify_exp": False,
            "verify_iat": False,  # by our own clock, below
        }
        try:
            found = jwt.decode(
                *(token, self._key, [ALGORITHM]), issuer=NAME, audience=AUDIENCE, options=options
            )
            claims = Claims(int(found["sub"]), int(found["ses"]), str(found["fam"]), float(found["exp"]))
            iat = float(found["iat"])
        except (jwt.InvalidTokenError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise NotSignedIn("the token is not one of ours", hint="sign in again") from error
        now = self._clock.now()
        if not iat - LEEWAY_S <= now < claims.expires_at + LEEWAY_S:
            raise NotSignedIn("the token has expired", hint="renew the session with its refresh token")
        return claims
