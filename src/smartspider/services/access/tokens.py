"""API tokens. Users manage their own, admins all."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import msgspec

from smartspider.core.access import (
    SCOPES,
    STANDALONE_PREFIX,
    NewToken,
    Principal,
    Role,
    TokenRecord,
    is_within,
    require,
)
from smartspider.core.datetimes import format_time
from smartspider.core.errors import Forbidden, Problem, RequestInvalid
from smartspider.services.access.access import Access
from smartspider.services.access.secrets import hash_secret, new_secret
from smartspider.services.inputs import parse_cursor, to_page
from smartspider.views.access import NewTokenView, TokenView
from smartspider.views.listed import Listed

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@ -]{0,63}\Z")
MAX_LIFETIME_S = 10 * 366 * 86_400.0


class TokenRequest(msgspec.Struct, frozen=True):
    """A request for a token. `user` is the user it acts for."""

    name: str
    role: Role
    scopes: Sequence[str] = ()
    expires_in_s: float | None = None
    user: str | None = None


async def create_token(access: Access, principal: Principal, request: TokenRequest) -> NewTokenView:
    """Create a token; its secret is in this answer only.

    An admin creates tokens that act for themselves or for any user, others only tokens that act for them,
    with no more rights than they have.
    """
    require(principal, "tokens", "write")
    _check(request)
    _check_rights(principal, request)
    if principal.role == "admin":
        acts_for = request.user or f"{STANDALONE_PREFIX}{request.name}"
    elif request.user not in (None, principal.name):
        raise Forbidden(
            f"{principal.name} is {principal.role} and cannot create tokens that act for {request.user}",
            hint="omit `user`, or ask an admin",
        )
    else:
        acts_for = principal.name
    secret = new_secret("sst")
    expires_at = None if request.expires_in_s is None else access.clock.now() + request.expires_in_s
    scopes = tuple(sorted(set(request.scopes) or set(principal.scopes)))
    token = NewToken(request.name, hash_secret(secret), acts_for, request.role, scopes, expires_at)
    return new_token_view(await access.users.add_token(token, actor=principal.name), secret)


async def list_tokens(
    access: Access, principal: Principal, *, actor: str | None, cursor: str | None, limit: int
) -> Listed[TokenView]:
    """List tokens, oldest first: all or those of an actor for an admin, their own for others."""
    require(principal, "tokens", "read", owner=actor)
    if principal.role != "admin":
        actor = principal.name
    found = await access.users.find_tokens(actor=actor, after=parse_cursor(cursor) or 0, limit=limit + 1)
    return to_page(found, limit, lambda one: one.id, token_view)


async def get_token(access: Access, principal: Principal, token_id: int) -> TokenView:
    """Return a token."""
    token = await access.users.get_token(token_id)
    require(principal, "tokens", "read", owner=token.actor)
    return token_view(token)


async def revoke_token(access: Access, principal: Principal, token_id: int) -> TokenView:
    """Revoke a token."""
    require(principal, "tokens", "write")
    token = await access.users.get_token(token_id)
    require(principal, "tokens", "write", owner=token.actor)
    revoked = await access.users.revoke_token(token_id, actor=principal.name)
    access.authenticator.clear_cache()
    return token_view(revoked)


def token_view(token: TokenRecord) -> TokenView:
    """Return the view of a token, without its secret."""
    return TokenView(
        id=str(token.id),
        name=token.name,
        actor=token.actor,
        role=token.role,
        scopes=list(token.scopes),
        created_by=token.created_by,
        created_at=format_time(token.created_at),
        expires_at=format_time(token.expires_at),
        used_at=format_time(token.used_at),
        revoked_at=format_time(token.revoked_at),
    )


def new_token_view(token: TokenRecord, secret: str) -> NewTokenView:
    """Return the view of a new token with its secret."""
    return NewTokenView(**msgspec.structs.asdict(token_view(token)), token=secret)


def _check(request: TokenRequest) -> None:
    problems = []
    if not _NAME.match(request.name):
        reason = "a name has up to 64 letters, digits, spaces, dots, dashes, @ and _"
        problems.append(Problem("name", reason, "for example nightly import"))
    for number, scope in enumerate(request.scopes):
        if scope not in SCOPES:
            problems.append(
                Problem(f"scopes[{number}]", f"{scope[:40]!r} is not a scope", _scopes_like(scope))
            )
    life_s = request.expires_in_s
    if life_s is not None and not (math.isfinite(life_s) and 1 <= life_s <= MAX_LIFETIME_S):
        reason, hint = "a token is valid for 1 second to 10 years", "86400 is a day; omit it for no expiry"
        problems.append(Problem("expires_in_s", reason, hint))
    if problems:
        first = problems[0]
        raise RequestInvalid(f"{first.path}: {first.message}", tuple(problems), hint=first.hint)


def _check_rights(principal: Principal, request: TokenRequest) -> None:
    """Raise `Forbidden` if the request has more rights than the principal."""
    if not is_within(request.role, principal.role):
        raise Forbidden(
            f"{principal.name} is {principal.role} and cannot create a token that is {request.role}",
            hint="choose a role with no more rights than yours",
        )
    beyond = [scope for scope in request.scopes if principal.scopes and scope not in principal.scopes]
    if beyond:
        raise Forbidden(
            f"the token in use is limited to {', '.join(principal.scopes)}", hint=f"omit {beyond[0]}"
        )


def _scopes_like(scope: str) -> str:
    area = scope.partition(":")[0]
    like = [one for one in SCOPES if one.startswith(f"{area}:")]
    return f"one of {', '.join(like or SCOPES)}"
