"""A PostgreSQL that cannot be used: one plain line, and what to do."""

from __future__ import annotations

import psycopg
import pytest

from smartspider.backends.postgres.address import USUAL, PostgresAddress
from smartspider.backends.postgres.schema import prepare
from smartspider.core.errors import StoreUnavailable
from smartspider_testing.servers import PostgresServer

PLACE = 'connection failed: connection to server at "10.0.0.5", port 5432 failed: '


@pytest.mark.parametrize(
    ("text", "told", "hint"),
    [
        (f"{PLACE}Connection refused\n\tIs the server running?", "Connection refused", USUAL),
        (
            f'{PLACE}FATAL:  password authentication failed for user "spider"',
            'password authentication failed for user "spider"',
            "check user and password",
        ),
        (f'{PLACE}FATAL:  role "spider" does not exist', 'role "spider" does not exist', "createuser"),
        (
            f'{PLACE}FATAL:  no pg_hba.conf entry for host "h"',
            'no pg_hba.conf entry for host "h"',
            "pg_hba.conf of the server",
        ),
        ("failed to resolve host 'h': [Errno -2]", "failed to resolve host 'h': [Errno -2]", "the name"),
        ("connection timeout expired", "connection timeout expired", USUAL),
        ("", "OperationalError", USUAL),
    ],
)
def test_a_refusal_is_told_without_what_the_driver_adds(text: str, told: str, hint: str) -> None:
    error = PostgresAddress("postgresql://spider@10.0.0.5/spider").unavailable(psycopg.OperationalError(text))
    assert error.message == f"the store at 10.0.0.5:5432/spider cannot be used: {told}"
    assert hint in error.hint


def test_a_database_that_is_missing_is_to_be_made(postgres_server: PostgresServer) -> None:
    with pytest.raises(StoreUnavailable, match=r'cannot be used: database "nowhere" does not exist$') as said:
        prepare(postgres_server.url("nowhere"))
    assert "createdb" in said.value.hint
