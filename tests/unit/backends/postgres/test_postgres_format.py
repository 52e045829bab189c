"""Opening a PostgreSQL database."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from smartspider.backends.postgres import schema
from smartspider.backends.postgres.schema import VERSION, prepare
from smartspider.core.errors import StoreUnavailable
from smartspider_testing.servers import PostgresServer


def _ask(url: str, sql: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql.encode())
        found = cursor.fetchone() if cursor.description else None
        return found and found[0]


def test_a_new_database_gets_its_tables_in_a_schema_of_its_own(empty_database: str) -> None:
    _ask(empty_database, "CREATE TABLE run (theirs text)")
    prepare(empty_database)
    prepare(empty_database)
    assert _ask(empty_database, "SELECT version FROM smartspider.format") == VERSION
    assert _ask(empty_database, "SELECT count(*) FROM smartspider.run") == 0
    assert _ask(empty_database, "SELECT count(theirs) FROM public.run") == 0


async def test_many_programs_may_begin_at_once(empty_database: str) -> None:
    await asyncio.gather(*(asyncio.to_thread(prepare, empty_database) for _ in range(10)))
    assert _ask(empty_database, "SELECT count(*) FROM smartspider.format") == 1


def test_a_schema_that_was_made_for_us_is_used(empty_database: str) -> None:
    _ask(empty_database, "CREATE SCHEMA smartspider")
    prepare(empty_database)
    assert _ask(empty_database, "SELECT version FROM smartspider.format") == VERSION


def test_tables_of_another_format_are_refused_and_left_alone(empty_database: str) -> None:
    prepare(empty_database)
    _ask(empty_database, f"UPDATE smartspider.format SET version = {VERSION + 1}")
    with pytest.raises(
        StoreUnavailable, match=f"has format {VERSION + 1}.* reads format {VERSION}$"
    ) as caught:
        prepare(empty_database)
    assert caught.value.hint
    assert _ask(empty_database, "SELECT version FROM smartspider.format") == VERSION + 1


@pytest.mark.parametrize("version", [-5, 0])
def test_a_version_that_never_was_is_refused(empty_database: str, version: int) -> None:
    prepare(empty_database)
    _ask(empty_database, f"UPDATE smartspider.format SET version = {version}")
    with pytest.raises(StoreUnavailable, match="another program"):
        prepare(empty_database)


def test_who_waits_for_another_program_is_told(empty_database: str) -> None:
    with psycopg.connect(empty_database) as other:
        other.execute(schema.LOCK)
        with pytest.raises(StoreUnavailable, match="another process"):
            prepare(empty_database, lock_timeout_s=0.01)


@pytest.mark.parametrize("theirs", ["format (a text)", "format (version bigint)", "meta (name text)"])
def test_tables_of_something_else_are_refused_and_left_alone(empty_database: str, theirs: str) -> None:
    _ask(empty_database, f"CREATE SCHEMA smartspider CREATE TABLE {theirs}")
    with pytest.raises(StoreUnavailable, match="another program"):
        prepare(empty_database)
    assert _ask(empty_database, "SELECT count(*) FROM pg_tables WHERE schemaname = 'smartspider'") == 1


def test_an_old_server_is_refused(empty_database: str) -> None:
    with pytest.raises(StoreUnavailable, match=r"is PostgreSQL \d+, and 99 is the oldest"):
        prepare(empty_database, oldest_server=99)


def test_a_database_that_cannot_hold_all_texts_is_refused(postgres_server: PostgresServer) -> None:
    postgres_server.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    try:
        with pytest.raises(StoreUnavailable, match="LATIN1"):
            prepare(postgres_server.url("latin"))
    finally:
        postgres_server.drop_database("latin")


def test_a_user_without_rights_is_told_which_are_missing(empty_database: str) -> None:
    database = _ask(empty_database, "SELECT current_database()")
    _ask(empty_database, f"REVOKE CREATE ON DATABASE {database} FROM CURRENT_USER")
    with pytest.raises(StoreUnavailable, match="permission denied") as caught:
        prepare(empty_database)
    assert "GRANT" in caught.value.hint


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://ann:seCret@127.0.0.1:1/x", "127.0.0.1:1/x"),
        ("postgresql://ann:seCret@127.0.0.1:1,127.0.0.1:2/x", "127.0.0.1:1,127.0.0.1:2/x"),
        ("postgresql://ann:seCret@/x?host=/nowhere", "/nowhere:5432/x"),
        ("postgresql://ann:seC/ret@127.0.0.1/x", "not a PostgreSQL URL"),
        ("postgresql://ann:1/seCret@127.0.0.1/x", "not a PostgreSQL URL"),
        ("postgresql://ann:s@eCret@127.0.0.1/x", "not a PostgreSQL URL"),
        ("postgresql://ann:s@seCret:x@127.0.0.1/x", "not a PostgreSQL URL"),
        ("postgresql://ann:seCret@[::1/x", "not a PostgreSQL URL"),
        ("nonsense seCret", "not a PostgreSQL URL"),
    ],
)
def test_a_server_that_cannot_be_reached_is_told_without_the_password(url: str, told: str) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        prepare(url)
    assert told in caught.value.message
    assert "\n" not in caught.value.message
    assert not any(part in caught.value.message for part in ("seC", "eCret"))
    assert caught.value.hint
