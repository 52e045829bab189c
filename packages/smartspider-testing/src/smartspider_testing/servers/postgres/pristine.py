"""One database for many tests, reset for each."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Self

from smartspider_testing.servers.errors import ServerFailed
from smartspider_testing.servers.postgres.client import PostgresClient
from smartspider_testing.servers.postgres.server import PostgresServer, quoted
from smartspider_testing.waiting import WAIT_S

OWN = "n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'"
TABLES = f"""
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'S', 'v', 'm') AND {OWN} ORDER BY 1, 2
"""
ROOTS = f"""
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND {OWN}
"""
SEND_OTHERS_AWAY = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
RESTART_SEQUENCES = """
SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
FROM pg_sequences WHERE last_value IS NOT NULL
"""


class PristineDatabase:
    """A database that `prepare` fills once and `reset` restores in a few milliseconds.

    Deleting rows is ten times cheaper than creating a database from a template; the database is recreated
    only if a test changed the tables themselves.
    """

    def __init__(self, server: PostgresServer, name: str, prepare: Callable[[str], None]) -> None:
        self.name = name
        self._server = server
        self._prepare = prepare
        self._make()

    @property
    def url(self) -> str:
        """The URL for clients."""
        return self._server.url(self.name)

    def _make(self) -> None:
        self._server.drop_database(self.name)
        self._server.create_database(self.name)
        self._prepare(self.url)
        self._connection = self._server.connect(self.name)
        self._connection("SET session_replication_role = replica")  # deletions need no order
        self._tables = self._connection(TABLES)
        self._statements = ";".join([RESTART_SEQUENCES, *_refilling(self._connection)])

    def reset(self) -> str:
        """Disconnect all clients, restore the initial rows and reset sequences. Return the URL, which is
        unchanged.
        """
        self._send_others_away()
        if self._connection(TABLES) == self._tables:
            self._connection(self._statements)
        else:
            self.close()
            self._make()
        return self.url

    def _send_others_away(self) -> None:
        """Disconnect all clients. Poll without delay: the server itself checks only every 100 ms."""
        give_up_at = time.monotonic() + WAIT_S
        while self._connection(SEND_OTHERS_AWAY):
            if time.monotonic() >= give_up_at:
                raise ServerFailed(f"somebody stays in the database {self.name}")
            time.sleep(0.001)

    def close(self) -> None:
        """Close the connection; the database remains until the server is removed."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def _refilling(connection: PostgresClient) -> list[str]:
    """Return statements that empty every table and restore its current rows."""
    statements = []
    for schema, table in connection(ROOTS):
        assert schema is not None
        assert table is not None
        name = f"{quoted(schema)}.{quoted(table)}"
        statements.append(f"DELETE FROM {name}")
        for (row,) in connection(f"SELECT quote_literal(t::text) FROM {name} t"):
            statements.append(f"INSERT INTO {name} SELECT ({row}::{name}).*")
    return statements
