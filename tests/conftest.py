"""The rules of a test run, and real servers, one of each per test process, started on first use."""

from __future__ import annotations

import itertools
import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from smartspider_testing.servers import PostgresServer, PristineDatabase, RedisServer

pytest_plugins = ["smartspider_testing.suite.standstill"]

# Whoever starts the tests in the background makes them, and all they start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

_NUMBERS = itertools.count()

SERVERS = {"postgres_server", "redis_server", "postgres_template"}

TOGETHER = (
    "tests/acceptance/console/",
    "tests/acceptance/test_bad_data.py",
    "tests/acceptance/test_hostile_sites.py",
    "tests/acceptance/test_plain_install.py",
    "tests/acceptance/test_remote_cli.py",
)
"""Files, and folders of files, whose tests share an expensive fixture."""


class OneByOne(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """Distributes tests one by one; tests of a file with a shared fixture stay together."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if file.startswith(TOGETHER) else nodeid


@pytest.fixture(scope="session", autouse=True)
def _gates_of_the_test_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep test runs away from the gates that the crawls of the user share."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.getbasetemp() / "state")


@pytest.fixture(autouse=True)
def _own_gates(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep tests away from each other's gates: 127.0.0.1 is one host for all of them."""
    state = tmp_path_factory.getbasetemp() / f"state-{next(_NUMBERS)}"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneByOne | None:
    """Schedule `--dist loadgroup` by file: the groups of xdist 3.8 have no effect with pytest 9.2."""
    return OneByOne(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that use a server; run long ones first."""
    for item in items:
        if isinstance(item, pytest.Function) and not SERVERS.isdisjoint(item.fixturenames):
            item.add_marker("servers")
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session")
def postgres_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all processes of a test run share one initialised data folder."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "postgres-template"


@pytest.fixture(scope="session")
def postgres_server(
    tmp_path_factory: pytest.TempPathFactory, postgres_template: Path
) -> Iterator[PostgresServer]:
    """A PostgreSQL for tests that leave it running; each makes its own database."""
    with PostgresServer(tmp_path_factory.mktemp("postgres"), template=postgres_template) as server:
        yield server


@pytest.fixture
def empty_database(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a database without tables; some 60 ms, see `PristineDatabase` for many tests."""
    name = f"test_{uuid.uuid4().hex}"
    yield postgres_server.create_database(name)
    postgres_server.drop_database(name)


@pytest.fixture(scope="session")
def store_database(postgres_server: PostgresServer) -> Iterator[PristineDatabase]:
    """A database with the tables of the store, for tests that need nothing else of it."""
    from smartspider.backends.postgres.schema import prepare

    with PristineDatabase(postgres_server, "store", prepare) as database:
        yield database


@pytest.fixture
def empty_store(store_database: PristineDatabase) -> str:
    """The address of a database with the tables of the store, as they are at first; some 5 ms."""
    return store_database.reset()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis for tests that leave it running and its settings alone."""
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def empty_redis(redis_server: RedisServer) -> RedisServer:
    """The Redis of the process without data, functions and statistics."""
    redis_server.empty()
    return redis_server


@pytest.fixture
def seed() -> dict[str, Any]:
    """The example of the public contract, as it stands there."""
    return {
        "name": "zhihu_comments",
        "entry_urls": ["https://www.zhihu.com/question/12345"],
        "pagination": {"type": "next_link", "selector": "a.next"},
        "selectors": {
            "items": {"type": "css", "expr": ".comment-item"},
            "fields": {
                "author": {"type": "css", "expr": ".author::text"},
                "content": {"type": "css", "expr": ".content::text"},
            },
        },
        "concurrency": 10,
        "use_cookie": True,
        "cookie_id": 3,
        "schedule": None,
    }
