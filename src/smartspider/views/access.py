"""Views of users, tokens and sessions. A secret is included only in the one response that shows it."""

from __future__ import annotations

from typing import Literal

import msgspec

from smartspider.core.access import GRANTS, Principal, Role


class MeView(msgspec.Struct, frozen=True):
    """The caller. `scopes` restrict its token (empty: no restriction); `may` lists what it may do."""

    name: str
    role: Role
    scopes: list[str]
    may: list[str]
    kind: Literal["user", "token", "installation"]


class SessionView(msgspec.Struct, frozen=True):
    """A session. The refresh token can be used once, to get a new pair of tokens."""

    access_token: str
    token_type: str
    expires_in: int
    refresh_token: str


class BrowserSessionView(msgspec.Struct, frozen=True):
    """The access token of a browser's session, which a cookie holds."""

    access_token: str
    token_type: str
    expires_in: int


class TicketView(msgspec.Struct, frozen=True):
    """A ticket. It is valid once and expires after `expires_in` seconds."""

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
    """An API token. `actor` is the user it acts as."""

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
    """A new token. `token` is the secret, in this response only."""

    token: str


def me_view(principal: Principal) -> MeView:
    """Return the view of a principal."""
    may = sorted(
        scope for scope in GRANTS[principal.role] if not principal.scopes or scope in principal.scopes
    )
    return MeView(principal.name, principal.role, list(principal.scopes), may, principal.kind)
