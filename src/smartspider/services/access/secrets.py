"""Secrets, of which only hashes are stored: random ones that are shown once, and passwords.

Passwords are hashed with argon2id in threads, a bounded number at a time.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from smartspider.core.errors import Problem, RequestInvalid, SettingInvalid
from smartspider.core.extras import require_extra

if TYPE_CHECKING:
    from argon2 import PasswordHasher

Kind = Literal["sst", "ssr", "ssk", "ssb", "ssl"]
"""An API token, a refresh token, a ticket, the cookie of a browser, a sign-in link."""
MAX_SECRET_LENGTH = 4096
"""Maximum length of a secret or access token."""


def new_secret(kind: Kind) -> str:
    """Return a new secret of 32 random bytes."""
    return f"{kind}_{secrets.token_urlsafe(32)}"


def hash_secret(secret: str | bytes) -> bytes:
    """Return the hash that is stored. Secrets are random, so a fast hash is as safe as a slow one."""
    return hashlib.sha256(secret.encode("utf-8", "replace") if isinstance(secret, str) else secret).digest()


MIN_ADMIN_TOKEN_LENGTH = 8
MIN_PASSWORD_LENGTH = 10
MAX_PASSWORD_LENGTH = 500
MIN_DIFFERENT = 4
"""Distinct characters of a password."""
MAX_CONCURRENT = 2
"""Each hash uses 64 MB and a CPU core for a moment; further sign-ins wait."""


def check_admin_token(token: str) -> None:
    """Raise `SettingInvalid` if an admin token is short enough to be guessed."""
    if len(token) < MIN_ADMIN_TOKEN_LENGTH:
        raise SettingInvalid(  # the value is left out: it is a secret
            f"SMARTSPIDER_ADMIN_TOKEN has fewer than {MIN_ADMIN_TOKEN_LENGTH} characters",
            hint="create one with `openssl rand -hex 32`",
        )


_GOOD_PASSWORD = (
    f"{MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters, at least {MIN_DIFFERENT} different ones,"
    " not the user name; a few random words are good"
)


def check_password(password: str, name: str) -> None:
    """Raise `RequestInvalid` if a new password is too short, too long or easy to guess."""
    reason = ""
    if len(password) < MIN_PASSWORD_LENGTH:
        reason = f"a password has at least {MIN_PASSWORD_LENGTH} characters"
    elif len(password) > MAX_PASSWORD_LENGTH:
        reason = f"a password has at most {MAX_PASSWORD_LENGTH} characters"
    elif password.strip().lower() == name.lower() or len(set(password)) < MIN_DIFFERENT:
        reason = "this password is too easy to guess"
    if reason:
        raise RequestInvalid(reason, (Problem("password", reason),), hint=_GOOD_PASSWORD)


def argon2_hasher() -> PasswordHasher:
    """Return a hasher with the cost that argon2-cffi recommends; raise `NotBuilt` without it."""
    require_extra("a password", "server", "argon2")
    from argon2 import PasswordHasher

    return PasswordHasher()


class Passwords:
    """Hashes and verifies passwords. `make_hasher` is called at the first use."""

    def __init__(self, make_hasher: Callable[[], PasswordHasher] = argon2_hasher) -> None:
        self._make_hasher = make_hasher
        self._semaphore = asyncio.Semaphore(MAX_CONCURRENT)

    async def hash(self, password: str) -> str:
        """Return the argon2id hash of a password."""
        async with self._semaphore:
            return await asyncio.to_thread(self._hash, password)

    async def verify(self, stored: str | None, password: str) -> bool:
        """Return whether a password matches a stored hash. Takes the same time without a hash."""
        if len(password) > MAX_PASSWORD_LENGTH:
            password, stored = "", None
        async with self._semaphore:
            return await asyncio.to_thread(self._verify, stored, password)

    def _hash(self, password: str) -> str:
        return self._hasher.hash(password.encode("utf-8", "replace"))

    def _verify(self, stored: str | None, password: str) -> bool:
        hasher = self._hasher
        from argon2.exceptions import InvalidHashError, VerificationError

        try:
            hasher.verify(stored or self._dummy_hash, password.encode("utf-8", "replace"))
        except (VerificationError, InvalidHashError):
            return False
        return bool(stored)

    @cached_property
    def _hasher(self) -> PasswordHasher:
        return self._make_hasher()

    @cached_property
    def _dummy_hash(self) -> str:
        """A hash that no password matches, to spend the same time on unknown users."""
        return self._hash(secrets.token_hex(32))
