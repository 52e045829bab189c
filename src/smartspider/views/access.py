"""Users, tokens and sessions as they are told. No secret is in them but where it is shown once."""

from __future__ import annotations

from typing import Literal

import msgspec

from smartspider.core.access import GRANTS, Principal, Role


class MeView(msgspec.Struct, frozen=True):
    """Who asks. `scopes` are limits of their token, none: all of the role; `may` is what both leave."""

    name: str
    role: Role
    scopes: list[str]
    may: list[str]
    kind: Literal["user", "token", "installation"]


class SessionView(msgspec.Struct, frozen=True):
    """A session. The refresh token is good once, and gives the next pair."""

    access_token: str
    token_type: str
    expires_in: int
    refresh_token: str


class TicketView(msgspec.Struct, frozen=True):
    """A ticket. It opens one WebSocket, within so many seconds."""

    ticket: str
    expires_in: int


class UserView(msgspec.Struct, frozen=True):
    """A user."""

    id: str
    name: str
    role: Role
    enabled: bool
    has_password: bool
    created_at: str
    disabled_at: str | None


class TokenView(msgspec.Struct, frozen=True, kw_only=True):
    """A token of a program. `actor` is whom it acts for."""

    id: str
    name: str
    actor: str
    role: Role
    scopes: list[str]
    created_by: str
    created_at: str
    expires_at: str | None
    used_at: str | None
    revoked_at: str | None


class NewTokenView(TokenView, frozen=True, kw_only=True):
    """A token as it is shown once: with the secret to come with."""

    token: str


def me_view(principal: Principal) -> MeView:
    """A principal, told to themselves."""
    may = sorted(
        scope for scope in GRANTS[principal.role] if not principal.scopes or scope in principal.scopes
    )
    return MeView(principal.name, principal.role, list(principal.scopes), may, principal.kind)
