"""Passwords: hashed with argon2id, beside the event loop, a few at a time."""

from __future__ import annotations

import asyncio
import secrets
from functools import cache
from typing import TYPE_CHECKING

from smartspider.core.errors import Problem, RequestInvalid
from smartspider.core.extras import require_extra

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST = 10
LONGEST = 500
AT_ONCE = 2
"""Each hash takes 64 MB and all of a core for a moment; a flood of sign-ins waits its turn."""


def check_new(password: str, name: str) -> None:
    """Raises when a password is too easily guessed; it is not repeated."""
    reason = ""
    if len(password) < SHORTEST:
        reason = f"a password has at least {SHORTEST} characters"
    elif len(password) > LONGEST:
        reason = f"a password has at most {LONGEST} characters"
    elif password.strip().lower() == name.lower() or len(set(password)) < 4:
        reason = "this password is too easily guessed"
    if reason:
        raise RequestInvalid(reason, (Problem("password", reason),), hint="a few random words are a good one")


class Passwords:
    """Hashes and checks passwords."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def hashed(self, password: str) -> str:
        """The argon2id hash of a password."""
        async with self._turn:
            return await asyncio.to_thread(_hash, password)

    async def is_right(self, kept: str | None, password: str) -> bool:
        """Whether a password is the one kept. Takes as long where nobody is known or no password is kept."""
        if len(password) > LONGEST:
            password, kept = "", None
        async with self._turn:
            return await asyncio.to_thread(_verify, kept, password)


def _hash(password: str) -> str:
    return _hasher().hash(password.encode("utf-8", "replace"))


def _verify(kept: str | None, password: str) -> bool:
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        _hasher().verify(kept or _of_nobody(), password.encode("utf-8", "replace"))
    except (VerificationError, InvalidHashError):
        return False
    return bool(kept)


@cache
def _hasher() -> PasswordHasher:
    require_extra("a password", "server", "argon2")
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _of_nobody() -> str:
    """A hash that no password has, to spend the same time on."""
    return _hash(secrets.token_hex(32))
