"""Who may do what: roles, scopes and owners, as pure rules."""

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
    "notices",
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
"""What a token may be limited to."""

_SEEN: tuple[Area, ...] = (
    "tasks",
    "runs",
    "results",
    "logs",
    "schedules",
    "notices",
    "hosts",
    "nodes",
    "metrics",
)
_WORKED: tuple[Area, ...] = ("tasks", "runs", "results", "schedules", "notices", "hosts", "tokens")
_READ = frozenset(f"{area}:read" for area in (*_SEEN, "tokens"))

GRANTS: dict[Role, frozenset[str]] = {
    "viewer": _READ,
    "operator": _READ | frozenset(f"{area}:write" for area in _WORKED),
    "admin": frozenset(SCOPES),
    "worker": frozenset({"nodes:read", "metrics:read"}),
    "uploader": frozenset(),
}
"""What each role may do. An operator changes what it owns; an admin everything."""

AS_ITSELF = "token:"
"""What the names of tokens that act for nobody but themselves begin with; no user's name has a colon."""


class Principal(msgspec.Struct, frozen=True):
    """Somebody who acts. `name` is what the audit and owners are told by."""

    name: str
    role: Role
    scopes: tuple[str, ...] = ()
    """Limits of a token; none: all that the role may."""
    token_id: int | None = None
    """The token of a program that they came with."""
    user_id: int | None = None
    """The user who signed in, when it is one."""
    family: str = ""
    """Of their sign-in."""

    @property
    def kind(self) -> Literal["user", "token", "installation"]:
        """How they came: signed in, with a token, or with what the settings of the installation say."""
        if self.user_id is not None:
            return "user"
        return "installation" if self.token_id is None else "token"

    def may(self, area: Area, verb: Verb) -> bool:
        """Whether the role allows it and no scope stands against it."""
        wanted = f"{area}:{verb}"
        return wanted in GRANTS[self.role] and (not self.scopes or wanted in self.scopes)

    def owns(self, owner: str) -> bool:
        """Whether what belongs to `owner` is this principal's to change."""
        return self.role == "admin" or owner == self.name


def is_within(role: Role, other: Role) -> bool:
    """Whether a role may do nothing that the other may not."""
    return GRANTS[role] <= GRANTS[other]


def require(principal: Principal, area: Area, verb: Verb, *, owner: str | None = None) -> None:
    """Raises `Forbidden` unless the principal may do this, and to what belongs to `owner`."""
    if not principal.may(area, verb):
        raise Forbidden(
            f"{principal.name} ({principal.role}) may not {verb} {area}",
            hint="use a token whose role and scopes allow it",
        )
    if owner is not None and not principal.owns(owner):
        raise Forbidden(
            f"this belongs to {owner}, and {principal.name} is {principal.role}",
            hint="ask its owner or an admin",
        )
