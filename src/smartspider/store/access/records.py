"""Users and tokens as stored."""

from __future__ import annotations

import msgspec

from smartspider.core.access import Role


class UserRecord(msgspec.Struct, frozen=True):
    """A user. `password` is an argon2 hash; if empty, the user cannot sign in. Raising `session` ends all
    sessions.
    """

    id: int
    name: str
    password: str
    role: Role
    created_at: float
    disabled_at: float | None
    session: int


class TokenRecord(msgspec.Struct, frozen=True):
    """An API token. `actor` is the user it acts for, or itself."""

    id: int
    name: str
    actor: str
    role: Role
    scopes: tuple[str, ...]
    created_by: str
    created_at: float
    expires_at: float | None
    used_at: float | None
    revoked_at: float | None


class NewToken(msgspec.Struct, frozen=True):
    """A token to store, by its hash."""

    name: str
    hash: bytes
    actor: str
    role: Role
    scopes: tuple[str, ...] = ()
    expires_at: float | None = None
