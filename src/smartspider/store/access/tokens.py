"""API tokens. All functions run inside a transaction."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.access import STANDALONE_PREFIX, NewToken, Role, TokenRecord, is_within
from smartspider.core.errors import Conflict, NotFound
from smartspider.store import audit, statements
from smartspider.store.database import Connection, row, rows

SQL = statements.load("tokens.sql", __package__)

USED_EVERY_S = 60.0


def add(connection: Connection, now: float, token: NewToken, *, actor: str) -> TokenRecord:
    """Store a token by its hash."""
    if row(connection, SQL.same_name, (token.name, now)) is not None:
        raise Conflict(
            f"a token {token.name!r} already exists", hint="choose another name, or revoke that one first"
        )
    scopes = msgspec.json.encode(token.scopes).decode()
    values = (token.name, token.hash, token.actor, token.role, scopes, actor, now, token.expires_at)
    added = row(connection, SQL.add, values)
    if added is None:
        raise Conflict("this token is already stored", hint="create another one")
    (token_id,) = added
    detail = {"name": token.name, "acts_for": token.actor, "role": token.role, "scopes": list(token.scopes)}
    audit.write(
        connection, now, actor, "token.created", f"token:{token_id}", **detail, expires_at=token.expires_at
    )
    return get(connection, token_id)


def get(connection: Connection, token_id: int) -> TokenRecord:
    """Return a token by id."""
    found = row(connection, SQL.by_id, (token_id,))
    if found is None:
        raise NotFound(f"there is no token {token_id}", hint="`smartspider token list` shows the tokens")
    return _token(found)


def find(connection: Connection, hash_: bytes) -> TokenRecord | None:
    """Return a token by its hash."""
    found = row(connection, SQL.by_hash, (hash_,))
    return None if found is None else _token(found)


def after(connection: Connection, actor: str | None, after_: int, limit: int) -> list[TokenRecord]:
    """Return tokens in the order they were created."""
    found = (
        rows(connection, SQL.after, (after_, limit))
        if actor is None
        else rows(connection, SQL.after_of, (actor, after_, limit))
    )
    return [_token(one) for one in found]


def revoke(connection: Connection, now: float, token_id: int, *, actor: str) -> TokenRecord:
    """Revoke a token and those that act for it."""
    token = get(connection, token_id)
    if token.revoked_at is None:
        _revoke(connection, now, token_id, actor)
        if token.actor == f"{STANDALONE_PREFIX}{token.name}":
            revoke_of(connection, now, token.actor, actor=actor)
    return get(connection, token_id)


def revoke_of(
    connection: Connection, now: float, acts_for: str, *, actor: str, beyond: Role | None = None
) -> None:
    """Revoke all tokens that act for a user or token, or those beyond a role."""
    for token_id, role in rows(connection, SQL.good_of, (acts_for,)):
        if beyond is None or not is_within(role, beyond):
            _revoke(connection, now, token_id, actor)


def is_good(token: TokenRecord, now: float) -> bool:
    """Return whether a token is neither revoked nor expired."""
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


def _revoke(connection: Connection, now: float, token_id: int, actor: str) -> None:
    connection.execute(SQL.revoke, (now, token_id))
    audit.write(connection, now, actor, "token.revoked", f"token:{token_id}")


def _token(found: tuple[Any, ...]) -> TokenRecord:
    token_id, name, actor, role, scopes, *rest = found
    return TokenRecord(token_id, name, actor, role, msgspec.json.decode(scopes, type=tuple[str, ...]), *rest)
