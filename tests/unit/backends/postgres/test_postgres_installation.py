"""Each store is an installation of its own, and stays that."""

from __future__ import annotations

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.open_rows import PostgresOpenRows
from smartspider.backends.postgres.schema import prepare
from smartspider_testing.clock import ManualClock
from smartspider_testing.servers import PostgresServer


async def installation(url: str) -> str:
    prepare(url)
    database = PostgresDatabase(url, ManualClock(), size=1)
    try:
        return await PostgresOpenRows(database).installation()
    finally:
        database.close()


async def test_a_copy_of_a_store_is_another_installation(
    postgres_server: PostgresServer, empty_database: str
) -> None:
    found = await installation(empty_database)
    name = empty_database.rpartition("/")[2]
    postgres_server.execute(f"CREATE DATABASE copied TEMPLATE {name}")
    try:
        assert await installation(postgres_server.url("copied")) != found
        assert await installation(empty_database) == found
    finally:
        postgres_server.drop_database("copied")


async def test_a_store_that_was_made_anew_is_another_installation(
    postgres_server: PostgresServer, empty_database: str
) -> None:
    found = await installation(empty_database)
    postgres_server.execute("DROP SCHEMA smartspider CASCADE", database=empty_database.rpartition("/")[2])
    assert await installation(empty_database) != found
