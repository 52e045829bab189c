"""Opening a database: a new one gets its tables, one of another format is refused.

The tables are in a schema of their own, `smartspider`, so that the database can be shared.
"""

from __future__ import annotations

import psycopg

from smartspider.backends.postgres.address import PostgresAddress, translated
from smartspider.core.errors import StoreUnavailable
from smartspider.store import statements
from smartspider.store.database import Row

VERSION = 9
"""Raise it with every change to `schema.sql`, and bring older tables to it in `_bring_to_version`."""
OLDEST_SERVER = 13
CONNECT_S = 5
LOCK_TIMEOUT_S = 60.0
"""Processes that wait for another one to create the tables give up after a minute."""
OPTIONS = "-c client_min_messages=warning -c search_path=smartspider"
LOCK = "SELECT pg_advisory_xact_lock(7305003)"


def prepare(url: str, *, lock_timeout_s: float = LOCK_TIMEOUT_S, oldest_server: int = OLDEST_SERVER) -> None:
    """Make sure that the database holds tables of `VERSION`. Raise `StoreUnavailable` if it cannot.

    Any number of processes may call it at the same time: one creates the tables, the others wait.
    """
    address = PostgresAddress(url)
    with translated(address), _connected(url, lock_timeout_s) as connection:
        refuse_server(connection, address, oldest_server)
        _refuse_half_moved(connection, address)
        if found_format(connection, address) == VERSION:
            return
        try:
            with connection.transaction():
                connection.execute(LOCK)
                _bring_to_version(connection, address)
        except psycopg.errors.LockNotAvailable as error:
            raise StoreUnavailable(
                f"the tables of the store at {address.place} are being created by another process",
                hint="try again in a moment",
            ) from error


def _connected(url: str, lock_timeout_s: float) -> psycopg.Connection[Row]:
    options = f"-c lock_timeout={lock_timeout_s * 1000:.0f}ms {OPTIONS}"
    return psycopg.connect(
        url, autocommit=True, options=options, connect_timeout=CONNECT_S, application_name="smartspider"
    )


def refuse_server(
    connection: psycopg.Connection[Row], address: PostgresAddress, oldest: int = OLDEST_SERVER
) -> None:
    """Raise `StoreUnavailable` if the server is too old, or the encoding of the database cannot hold all
    text.
    """
    release = connection.info.server_version // 10_000
    if release < oldest:
        raise StoreUnavailable(
            f"the server at {address.place} is PostgreSQL {release}, and {oldest} is the oldest supported",
            hint="use a newer server",
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreUnavailable(
            f"the database at {address.place} has encoding {encoding}; UTF8 is required",
            hint="create another one: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0",
        )


def _refuse_half_moved(connection: psycopg.Connection[Row], address: PostgresAddress) -> None:
    """Raise `StoreUnavailable` during an import: runs with a part of their rows would seem complete."""
    found = connection.execute("SELECT to_regclass('smartspider.moving') IS NOT NULL").fetchone()
    if found is not None and found[0]:
        unfinished = connection.execute("SELECT 1 FROM moving WHERE finished_at IS NULL").fetchone()
        if unfinished is not None:
            raise StoreUnavailable(
                f"the store at {address.place} is being filled by `smartspider move`, or was when it stopped",
                hint="run the same `smartspider move` again until it is complete, also after"
                " `smartspider move --cancel`; `DROP SCHEMA smartspider CASCADE` empties it instead",
            )


def found_format(connection: psycopg.Connection[Row], address: PostgresAddress) -> int:
    """Return the format of the tables; 0 if there are none."""
    names = {
        name
        for (name,) in connection.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = 'smartspider' AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
        )
    }
    if not names:
        return 0
    try:
        found = connection.execute("SELECT version FROM format").fetchall() if "format" in names else []
    except psycopg.errors.UndefinedColumn:
        found = []
    if len(found) != 1 or int(found[0][0]) < 1:
        raise StoreUnavailable(
            f"the schema `smartspider` of {address.place} contains tables of another program",
            hint="use another database",
        )
    return int(found[0][0])


def _bring_to_version(connection: psycopg.Connection[Row], address: PostgresAddress) -> None:
    found = found_format(connection, address)  # again: another process may have created them meanwhile
    if found == 0:
        _create(connection)
    elif found != VERSION:
        raise StoreUnavailable(
            f"the store at {address.place} has format {found}, this SmartSpider reads format {VERSION}",
            hint="use the SmartSpider version that wrote it, or another database",
        )


def _create(connection: psycopg.Connection[Row]) -> None:
    is_there = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'smartspider'").fetchone()
    if is_there is None:  # the user may not have the right to create schemas
        connection.execute("CREATE SCHEMA smartspider")
    connection.execute(statements.text("sql/schema.sql", __package__).encode())
    connection.execute("INSERT INTO format VALUES (%s)", (VERSION,))
