"""Refresh tokens and tickets. All functions run inside a transaction."""

from __future__ import annotations

import msgspec

from smartspider.core.access import Principal, UserRecord
from smartspider.core.errors import NotFound
from smartspider.store import statements
from smartspider.store.access import tokens
from smartspider.store.database import Connection, row, rows

SQL = statements.load("sessions.sql", __package__)
USERS = statements.load("users.sql", __package__)

BATCH = 500
"""Refresh tokens and tickets deleted in one transaction."""


def enabled_user(connection: Connection, user_id: int) -> UserRecord | None:
    """Return a user that is not disabled."""
    found = row(connection, USERS.by_id, (user_id,))
    user = None if found is None else UserRecord(*found)
    return user if user is not None and user.disabled_at is None else None


def add(connection: Connection, hash_: bytes, user: UserRecord, family: str, expires_at: float) -> bool:
    """Store a refresh token, unless the sessions of the user were ended since `user` was read."""
    known = enabled_user(connection, user.id)
    if known is None or known.session != user.session:
        return False
    connection.execute(SQL.add, (hash_, user.id, family, expires_at))
    return True


def use(
    connection: Connection, now: float, hash_: bytes, next_hash: bytes, expires_at: float
) -> tuple[UserRecord, str] | None:
    """Replace a valid refresh token by the next one; a second use of the old one ends the family."""
    found = row(connection, SQL.by_hash, (hash_,))
    if found is None:
        return None
    user_id, family, over_at, used_at = found
    user = enabled_user(connection, user_id)
    if used_at is not None or over_at <= now or user is None:
        connection.execute(SQL.end_family, (family,))
        return None
    connection.execute(SQL.used, (now, hash_))
    connection.execute(SQL.add, (next_hash, user_id, family, expires_at))
    return user, family


def find(connection: Connection, user_id: int, session: int, family: str) -> UserRecord | None:
    """Return the user of a session that was not ended."""
    user = enabled_user(connection, user_id)
    if user is None or user.session != session or row(connection, SQL.in_family, (family,)) != (user_id,):
        return None
    return user


def use_ticket(connection: Connection, now: float, hash_: bytes) -> Principal | None:
    """Use up a ticket and return its principal; None if the ticket, its token or its
    user is no longer valid.
    """
    found = row(connection, SQL.use_ticket, (hash_,))
    if found is None or found[1] <= now:
        return None
    principal = msgspec.json.decode(found[0], type=Principal)
    if principal.token_id is not None:
        try:
            return principal if tokens.is_good(tokens.get(connection, principal.token_id), now) else None
        except NotFound:
            return None
    if principal.user_id is not None and (
        enabled_user(connection, principal.user_id) is None
        or row(connection, SQL.in_family, (principal.family,)) is None
    ):
        return None
    return principal


def expired(connection: Connection, now: float) -> tuple[list[tuple[bytes]], list[tuple[bytes]]]:
    """Return some expired refresh tokens and tickets."""
    return rows(connection, SQL.old_refreshes, (now, BATCH)), rows(connection, SQL.old_tickets, (now, BATCH))


def delete(connection: Connection, refreshes: list[tuple[bytes]], tickets: list[tuple[bytes]]) -> None:
    """Delete refresh tokens and tickets."""
    connection.executemany(SQL.forget_refresh, refreshes)
    connection.executemany(SQL.forget_ticket, tickets)
