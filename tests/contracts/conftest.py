"""Real servers under the contract suites."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from smartspider.backends.postgres.schema import prepare
from smartspider_testing.servers import PostgresServer, PristineDatabase


@pytest.fixture(scope="session")
def store_database(postgres_server: PostgresServer) -> Iterator[PristineDatabase]:
    """A database with our tables, as new for each test that resets it."""
    with PristineDatabase(postgres_server, "contracts", prepare) as database:
        yield database
