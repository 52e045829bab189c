"""What `doctor` and the processes say of a frontier that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.wiring.arming import warned_of

from smartspider.backends.redis import library
from smartspider.backends.redis.address import read_url
from smartspider.backends.redis.dedup.opening import open_filters
from smartspider.backends.redis.shards import Shards
from smartspider.core.errors import FrontierTaken, FrontierUnavailable
from smartspider.installation.settings import Settings
from smartspider.services.doctor import DoctorCheck
from smartspider.wiring import checks as checking
from smartspider.wiring.cluster import open_cluster
from smartspider_testing.servers import PostgresServer, RedisServer


@pytest.fixture
def second_database(postgres_server: PostgresServer) -> Iterator[str]:
    yield postgres_server.create_database("second")
    postgres_server.drop_database("second")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a machine go where it stands."""
    monkeypatch.chdir(tmp_path)


async def frontier(settings: Settings) -> DoctorCheck:
    checks, _ = await checking.check_cluster(settings)
    (found,) = [check for check in checks if check.what == "frontier"]
    return found


async def test_two_installations_on_one_redis_are_noticed(
    empty_database: str,
    second_database: str,
    empty_redis: RedisServer,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    first, second = (
        Settings(store_url=url, frontier_url=empty_redis.url) for url in (empty_database, second_database)
    )
    async with open_cluster(first, tmp_path / "first") as installation:
        assert await checking.rebuild_frontier(installation) == 1
    async with open_cluster(second, tmp_path / "second") as installation:
        with pytest.raises(FrontierTaken, match="another installation"):
            await checking.rebuild_frontier(installation)
        line = await warned_of(installation, caplog)
    assert "?namespace=NAME" in line
    assert "?namespace=NAME" in (await frontier(second)).detail
    assert "namespace" not in (await frontier(first)).detail


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda url: url.replace("redis://", "redis://nobody:s3cretpw@"), "invalid username-password pair"),
        (lambda url: f"{url}/99", "DB index is out of range"),
        (lambda url: url.replace("redis://", "redis+cluster://"), "luster"),
        (lambda _: "redis+cluster://127.0.0.1:1", "127.0.0.1:1"),
        (lambda _: "redis://127.0.0.1:1", "127.0.0.1:1"),
        (lambda _: f"redis://{'a' * 70}.example", "cannot be used"),
    ],
)
async def test_doctor_says_why_the_frontier_cannot_be_used(
    change: object,
    said: str,
    empty_database: str,
    empty_redis: RedisServer,
) -> None:
    assert callable(change)
    found = await frontier(
        Settings(store_url=empty_database, frontier_url=change(empty_redis.url.rstrip("/")))
    )
    assert not found.is_ok
    assert said in found.detail
    assert "s3cretpw" not in found.detail


async def test_a_keeper_that_never_reached_redis_says_so_once(
    empty_database: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    settings = Settings(store_url=empty_database, frontier_url="redis://127.0.0.1:1")
    async with open_cluster(settings, tmp_path) as installation:
        line = await warned_of(installation, caplog)
    assert "127.0.0.1:1 cannot be used: Connection refused" in line
    assert "SMARTSPIDER_FRONTIER_URL" in line


async def test_doctor_says_that_the_library_is_newer(empty_database: str, empty_redis: RedisServer) -> None:
    newer = library.source().replace(f"LAPSE_S = {library.VERSION},", "LAPSE_S = 99,", 1)
    empty_redis.command("FUNCTION", "LOAD", newer)
    found = await frontier(Settings(store_url=empty_database, frontier_url=empty_redis.url))
    assert "version 99" in found.detail


@pytest.mark.parametrize("url", ["redis+cluster://127.0.0.1:1", "{}"])
async def test_a_cluster_that_is_away_is_waited_for_like_a_single_server(
    url: str, empty_redis: RedisServer
) -> None:
    """Nothing but `FrontierUnavailable` comes out, which every process knows how to wait for."""
    address = read_url(url.format(empty_redis.url.replace("redis://", "redis+cluster://")))
    shards = Shards(address)
    for _ in range(2):
        with pytest.raises(FrontierUnavailable, match="cannot be used"):
            await shards.call(3, "look")
    await shards.close()
    async with open_filters(address) as layers:
        assert layers.exact is not None
        with pytest.raises(FrontierUnavailable):
            await layers.exact.size()
