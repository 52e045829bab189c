"""The cookies that sites set during a run: one row per domain, path and name.

All functions run inside a transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from smartspider.core.cookies.jar import Cookie, CookieKey
from smartspider.core.cookies.set_cookie import FOREVER
from smartspider.store import statements
from smartspider.store.database import Connection, row, rows

SQL = statements.load("cookies.sql", __package__)

KEPT_VERSIONS = 1000
"""A deleted cookie stays as a mark for this many versions, so that other workers delete it as well."""
PURGE_EVERY = 100


class StoredCookies(msgspec.Struct, frozen=True):
    """Cookies of a run that were stored after a version, and the newest version."""

    version: int
    cookies: Sequence[Cookie]


def read(connection: Connection, run_id: int, after: int) -> StoredCookies:
    """Return the cookies of a run that were stored or deleted after a version."""
    found = row(connection, SQL.version, (run_id,))
    version = found[0] if found else 0
    if version <= after:
        return StoredCookies(version, ())
    return StoredCookies(version, [_cookie(*each) for each in rows(connection, SQL.after, (run_id, after))])


def write(connection: Connection, run_id: int, version: int, cookies: Iterable[Cookie]) -> None:
    """Store changed cookies as a version of those of a run. Of each key the one that was set last stays."""
    last: dict[CookieKey, Cookie] = {cookie.key: cookie for cookie in cookies}
    connection.executemany(
        SQL.put,
        [
            (
                *(run_id, cookie.domain, _encode(cookie.path), cookie.name, version, cookie.value),
                *(cookie.number, cookie.set_at, int(cookie.is_host_only), int(cookie.is_secure)),
                None if cookie.expires_at == FOREVER else cookie.expires_at,
            )
            for _, cookie in sorted(last.items())
        ],
    )
    connection.execute(SQL.set_version, (version, run_id))
    if version % PURGE_EVERY == 0:
        connection.execute(SQL.purge, (run_id, version - KEPT_VERSIONS))


def _cookie(  # noqa: PLR0917 - the columns of a row, in the order of the statement
    domain: str,
    path: bytes,
    name: bytes,
    value: bytes,
    number: int,
    set_at: float,
    is_host_only: int,
    is_secure: int,
    expires_at: float | None,
) -> Cookie:
    return Cookie(
        domain,
        bytes(path).decode(errors="surrogateescape"),
        bytes(name),
        bytes(value),
        number,
        set_at,
        bool(is_host_only),
        bool(is_secure),
        FOREVER if expires_at is None else expires_at,
    )


def _encode(path: str) -> bytes:
    return path.encode(errors="surrogateescape")
