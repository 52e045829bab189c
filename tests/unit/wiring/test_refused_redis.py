"""A Redis with unsuitable settings is named, with the remedy, wherever a person looks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.wiring.arming import warned_of

from smartspider.cli.server.startup import warn_missing
from smartspider.installation.installation import Installation
from smartspider.installation.settings import Settings, read_settings
from smartspider.services.readiness import Readiness
from smartspider.services.runs.blockers import find_blockers
from smartspider.views.runs import Cause
from smartspider.wiring.checks import check_cluster, rebuild_frontier
from smartspider.wiring.cluster import open_cluster
from smartspider_testing.servers import RedisServer

EVICTS = "evicts keys when memory is full (maxmemory-policy allkeys-lru)"
FORGETS = "does not keep its data (appendonly no)"
REFUSED = [
    ("maxmemory-policy allkeys-lru", f"{EVICTS} (CONFIG SET maxmemory-policy noeviction"),
    ("appendonly no", f"{FORGETS} (CONFIG SET appendonly yes"),
]


@pytest.fixture
def redis(empty_redis: RedisServer) -> Iterator[RedisServer]:
    """One whose settings are as they were afterwards."""
    yield empty_redis
    empty_redis.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
    empty_redis.command("CONFIG", "SET", "appendonly", "yes")


@pytest.fixture
def settings(
    empty_store: str, redis: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SMARTSPIDER_STORE_URL", empty_store)
    monkeypatch.setenv("SMARTSPIDER_FRONTIER_URL", redis.url)
    return read_settings()


async def readyz(installation: Installation) -> str:
    view = await Readiness(installation).check()
    (found,) = [check.detail for check in view.checks if check.name == "frontier"]
    return found


async def stall(installation: Installation) -> Cause:
    (found,) = await find_blockers(installation)
    return found


@pytest.mark.parametrize("case", REFUSED)
async def test_a_redis_that_is_refused_is_named_alike_by_everybody(
    case: tuple[str, str],
    settings: Settings,
    redis: RedisServer,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    setting, words = case
    redis.command("CONFIG", "SET", *setting.split())
    async with open_cluster(settings, Path("here")) as installation:
        line = await warned_of(installation, caplog)
        assert words in line
        ready = await readyz(installation)
        assert f"0 of 1 shards ready: its Redis {words}" in ready
        assert "127.0.0.1" not in ready, "anybody may ask"
        cause = await stall(installation)
        assert cause.code == "frontier_refused"
        assert words in f"{cause.what} ({cause.advice})"
    checks, _ = await check_cluster(settings)
    assert any(check.what == "frontier" and words in check.detail for check in checks)
    await warn_missing(Path("here"))
    await warn_missing(Path("here"), has_keeper=True)
    first, second = capsys.readouterr().err.splitlines()
    assert words in first
    assert first == second


async def test_processes_that_ran_before_name_it_as_well(
    settings: Settings, redis: RedisServer, tmp_path: Path
) -> None:
    """They looked at it when they began, and it was well then."""
    async with open_cluster(settings, tmp_path) as installation:
        assert await rebuild_frontier(installation) == 1
        assert await readyz(installation) == "1 of 1 shards ready"
        redis.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        redis.command("FLUSHALL")
        await installation.leadership.take("keeper", 60.0)
        assert EVICTS in await readyz(installation)
        assert EVICTS in (await stall(installation)).what
        redis.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
        assert await readyz(installation) == "0 of 1 shards ready; the others are waiting for the keeper"
        assert (await stall(installation)).code == "frontier_waits"


async def test_a_redis_that_is_away_is_named_by_those_who_may_know(empty_store: str, tmp_path: Path) -> None:
    away = Settings(store_url=empty_store, frontier_url="redis://127.0.0.1:1")
    async with open_cluster(away, tmp_path) as installation:
        await installation.leadership.take("keeper", 60.0)
        cause, ready = await asyncio.gather(stall(installation), readyz(installation))
    assert cause.code == "frontier_away"
    assert "127.0.0.1:1 cannot be used: Connection refused" in cause.what
    assert "Redis" in cause.advice
    assert ready.startswith("0 of 1 shards ready: its Redis cannot be used")
    assert "smartspider doctor" in ready
    assert "127.0.0.1" not in ready
