"""Access tokens of users: JWT (HS256), signed with a key of the installation, valid for minutes."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.access import UserRecord
from smartspider.core.errors import NotSignedIn
from smartspider.installation.keys import Keys
from smartspider.interfaces.clock import Clock

LIFETIME_S = 900
LEEWAY_S = 5
ALGORITHM = "HS256"
NAME = "smartspider"
AUDIENCE = "smartspider-api"


class Claims(msgspec.Struct, frozen=True):
    """The claims of an access token: user (0: none), session, sign-in and expiry."""

    user_id: int
    session: int
    family: str
    expires_at: float


class SessionTokens:
    """Creates and verifies access tokens."""

    def __init__(self, keys: Keys, clock: Clock) -> None:
        self._key = keys.derive("access tokens")
        self._clock = clock

    def create(self, user: UserRecord | None, family: str) -> str:
        """Return an access token for a session, of a user or of a token."""
        import jwt

        now = int(self._clock.now())
        claims = {
            "iss": NAME,
            "aud": AUDIENCE,
            "sub": str(0 if user is None else user.id),
            "iat": now,
            "exp": now + LIFETIME_S,
            "ses": 0 if user is None else user.session,
            "fam": family,
        }
        return jwt.encode(claims, self._key, ALGORITHM)

    def read(self, token: bytes) -> Claims:
        """Return the claims of a valid token; raise `NotSignedIn` for any other."""
        import jwt

        options: Any = {
            "require": ["iss", "aud", "sub", "iat", "exp", "ses", "fam"],
            "verify_exp": False,
            "verify_iat": False,  # checked below with the injected clock
        }
        try:
            found = jwt.decode(
                *(token, self._key, [ALGORITHM]), issuer=NAME, audience=AUDIENCE, options=options
            )
            claims = Claims(int(found["sub"]), int(found["ses"]), str(found["fam"]), float(found["exp"]))
            iat = float(found["iat"])
        except (jwt.InvalidTokenError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise NotSignedIn("the access token is invalid", hint="sign in again") from error
        now = self._clock.now()
        if not iat - LEEWAY_S <= now < claims.expires_at + LEEWAY_S:
            raise NotSignedIn("the access token has expired", hint="renew the session with its refresh token")
        return claims
