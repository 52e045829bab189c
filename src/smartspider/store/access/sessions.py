"""Refresh tokens, sessions of browsers, and tickets. All functions run inside a transaction."""

from __future__ import annotations

import msgspec

from smartspider.core.access import NewBrowserSession, Principal, UserRecord
from smartspider.core.errors import NotFound
from smartspider.store import statements
from smartspider.store.access import tokens
from smartspider.store.database import Connection, row, rows

SQL = statements.load("sessions.sql", __package__)
USERS = statements.load("users.sql", __package__)

BATCH = 500
"""Rows of each kind deleted in one transaction."""


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
    if (
        user is None
        or user.session != session
        or row(connection, SQL.in_family, (family, family)) != (user_id,)
    ):
        return None
    return user


def end_family(connection: Connection, family: str) -> None:
    """End all sessions of a sign-in."""
    connection.execute(SQL.end_family, (family,))
    connection.execute(SQL.end_browser_family, (family,))


def add_browser(connection: Connection, now: float, new: NewBrowserSession) -> bool:
    """Store the session of a browser, unless its token or the sessions of its user have ended meanwhile."""
    principal = new.principal
    if not _is_good(connection, now, principal):
        return False
    if principal.user_id is not None:
        user = enabled_user(connection, principal.user_id)
        if user is None or user.session != new.session:
            return False
    encoded = msgspec.json.encode(principal).decode()
    values = (new.hash, principal.user_id, principal.family, encoded, new.expires_at)
    connection.execute(SQL.add_browser_session, values)
    return True


def find_browser(
    connection: Connection, now: float, *, hash_: bytes | None = None, family: str = ""
) -> tuple[Principal, UserRecord | None] | None:
    """Return the principal and the user of a browser's session, by its cookie or by its family."""
    by_hash = hash_ is not None
    found = row(connection, SQL.browser_session if by_hash else SQL.browser_session_of, (hash_ or family,))
    if found is None or found[1] <= now:
        return None
    principal = msgspec.json.decode(found[0], type=Principal)
    user = None if principal.user_id is None else enabled_user(connection, principal.user_id)
    is_gone = principal.user_id is not None and user is None
    return None if is_gone or not _is_good(connection, now, principal) else (principal, user)


def use_ticket(
    connection: Connection, now: float, hash_: bytes, address: str, *, is_socket: bool
) -> Principal | None:
    """Use up a ticket for an address and return its principal; None if the ticket is for another address, or
    if it, its token or its user is no longer valid.
    """
    found = row(connection, SQL.use_ticket, (hash_, address, "" if is_socket else address))
    if found is None or found[1] <= now:
        return None
    principal = msgspec.json.decode(found[0], type=Principal)
    if principal.user_id is not None and enabled_user(connection, principal.user_id) is None:
        return None
    family = principal.family
    if family and row(connection, SQL.in_family, (family, family)) is None:
        return None
    return principal if _is_good(connection, now, principal) else None


def _is_good(connection: Connection, now: float, principal: Principal) -> bool:
    """Return False for the principal of a token that has ended."""
    if principal.token_id is None:
        return True
    try:
        return tokens.is_good(tokens.get(connection, principal.token_id), now)
    except NotFound:
        return False


Expired = tuple[list[tuple[bytes]], list[tuple[bytes]], list[tuple[bytes]]]
"""Hashes of expired refresh tokens, sessions of browsers, and tickets."""


def expired(connection: Connection, now: float) -> Expired:
    """Return some that have expired."""
    return (
        rows(connection, SQL.old_refreshes, (now, BATCH)),
        rows(connection, SQL.old_browser_sessions, (now, BATCH)),
        rows(connection, SQL.old_tickets, (now, BATCH)),
    )


def delete(connection: Connection, found: Expired) -> None:
    """Delete them."""
    for statement, hashes in zip(
        (SQL.forget_refresh, SQL.forget_browser_session, SQL.forget_ticket), found, strict=True
    ):
        connection.executemany(statement, hashes)
