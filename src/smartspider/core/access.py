"""Access control: roles, scopes and ownership; users and tokens as stored."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from smartspider.core.errors import Forbidden

Role = Literal["viewer", "operator", "admin", "worker", "uploader"]
Area = Literal[
    "tasks",
    "runs",
    "results",
    "logs",
    "schedules",
    "notifications",
    "secrets",
    "vault",
    "proxies",
    "cookies",
    "uploads",
    "leases",
    "hosts",
    "nodes",
    "audit",
    "users",
    "tokens",
    "metrics",
]
Verb = Literal["read", "write"]

ROLES: tuple[Role, ...] = get_args(Role)
AREAS: tuple[Area, ...] = get_args(Area)
SCOPES: tuple[str, ...] = tuple(f"{area}:{verb}" for area in AREAS for verb in ("read", "write"))
"""The scopes a token can be limited to."""

_READABLE: tuple[Area, ...] = (
    "tasks",
    "runs",
    "results",
    "logs",
    "schedules",
    "notifications",
    "secrets",
    "proxies",
    "cookies",
    "hosts",
    "nodes",
    "metrics",
)
_WRITABLE: tuple[Area, ...] = (
    *(
        "tasks",
        "runs",
        "results",
        "schedules",
        "notifications",
        "secrets",
        "cookies",
        "uploads",
        "hosts",
        "tokens",
    ),
)
_READ_GRANTS = frozenset(f"{area}:read" for area in (*_READABLE, "tokens"))

GRANTS: dict[Role, frozenset[str]] = {
    "viewer": _READ_GRANTS,
    "operator": _READ_GRANTS | frozenset(f"{area}:write" for area in _WRITABLE),
    "admin": frozenset(SCOPES),
    "worker": frozenset({"nodes:read", "metrics:read", "leases:read", "leases:write"}),
    "uploader": frozenset({"uploads:write"}),
}
"""The scopes of each role. An operator changes what it owns; an admin changes everything."""

STANDALONE_PREFIX = "token:"
"""Prefix of the names of tokens that belong to no user. User names contain no colon."""


class Principal(msgspec.Struct, frozen=True):
    """An authenticated user or token. Owners and audit entries refer to `name`."""

    name: str
    role: Role
    scopes: tuple[str, ...] = ()
    """Scopes of a token; empty: everything the role allows."""
    token_id: int | None = None
    """The API token that authenticated the request."""
    user_id: int | None = None
    """The user who signed in."""
    family: str = ""
    """Session family of the sign-in."""

    @property
    def kind(self) -> Literal["user", "token", "installation"]:
        """The way the principal authenticated: by sign-in, by token, or by the installation's settings."""
        if self.user_id is not None:
            return "user"
        return "installation" if self.token_id is None else "token"

    def may(self, area: Area, verb: Verb) -> bool:
        """Return whether role and scopes allow an operation."""
        wanted = f"{area}:{verb}"
        return wanted in GRANTS[self.role] and (not self.scopes or wanted in self.scopes)

    def owns(self, owner: str) -> bool:
        """Return whether the principal may change what `owner` owns."""
        return self.role == "admin" or owner == self.name


def is_within(role: Role, other: Role) -> bool:
    """Return whether a role has no scope that the other lacks."""
    return GRANTS[role] <= GRANTS[other]


def require(principal: Principal, area: Area, verb: Verb, *, owner: str | None = None) -> None:
    """Raise `Forbidden` unless the principal has the scope and may change what `owner`, if given, owns."""
    if not principal.may(area, verb):
        raise Forbidden(
            f"{principal.name} ({principal.role}) has no permission to {verb} {area}",
            hint="use a token with a role and scopes that allow it",
        )
    if owner is not None and not principal.owns(owner):
        raise Forbidden(
            f"{owner} owns this, and {principal.name} ({principal.role}) may not change it",
            hint="ask the owner or an admin",
        )


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


class NewBrowserSession(msgspec.Struct, frozen=True):
    """A session of a browser to store, by the hash of its cookie."""

    hash: bytes
    principal: Principal
    session: int
    """Number of the sessions of its user when the user was found; 0 without a user."""
    expires_at: float
