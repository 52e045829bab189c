"""A Redis that answers and must not be used as it is set up: everybody says so, and what to do about it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.wiring.vouching import warned_of

from smartspider.cli.missing import note_missing
from smartspider.services.readiness import Readiness
from smartspider.services.trouble import troubles
from smartspider.views.runs import Cause
from smartspider.wiring import checking
from smartspider.wiring.cluster import open_cluster
from smartspider.wiring.desk import footing_of
from smartspider.wiring.house import readiness_of
from smartspider.wiring.premises import Premises
from smartspider.wiring.settings import Settings, read_settings
from smartspider_testing.servers import RedisServer

EVICTS = "throws keys away when memory is short (maxmemory-policy allkeys-lru)"
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


async def readyz(premises: Premises) -> str:
    view = await Readiness(premises.clock, readiness_of(premises)).look()
    (found,) = [check.detail for check in view.checks if check.name == "frontier"]
    return found


async def stall(premises: Premises) -> Cause:
    (found,) = await troubles(footing_of(premises))
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
    async with open_cluster(settings, Path("here")) as premises:
        line = await warned_of(premises, caplog)
        assert words in line
        ready = await readyz(premises)
        assert f"0 of 1 parts serve: its Redis {words}" in ready
        assert "127.0.0.1" not in ready, "anybody may ask"
        cause = await stall(premises)
        assert cause.code == "frontier_refused"
        assert words in f"{cause.what} ({cause.advice})"
    checks, _ = await checking.check_servers(settings)
    assert any(check.what == "frontier" and words in check.detail for check in checks)
    await note_missing(Path("here"))
    await note_missing(Path("here"), has_keeper=True)
    first, second = capsys.readouterr().err.splitlines()
    assert words in first
    assert first == second


async def test_processes_that_ran_before_name_it_as_well(
    settings: Settings, redis: RedisServer, tmp_path: Path
) -> None:
    """They looked at it when they began, and it was well then."""
    async with open_cluster(settings, tmp_path) as premises:
        assert await checking.rebuild(premises) == 1
        assert await readyz(premises) == "1 of 1 parts serve"
        redis.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        redis.command("FLUSHALL")
        await premises.leadership.take("keeper", 60.0)
        assert EVICTS in await readyz(premises)
        assert EVICTS in (await stall(premises)).what
        redis.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
        assert await readyz(premises) == "0 of 1 parts serve; requests of the others wait for the keeper"
        assert (await stall(premises)).code == "frontier_waits"


async def test_a_redis_that_is_away_is_named_by_those_who_may_know(empty_store: str, tmp_path: Path) -> None:
    away = Settings(store_url=empty_store, frontier_url="redis://127.0.0.1:1")
    async with open_cluster(away, tmp_path) as premises:
        await premises.leadership.take("keeper", 60.0)
        cause, ready = await asyncio.gather(stall(premises), readyz(premises))
    assert cause.code == "frontier_away"
    assert "127.0.0.1:1 cannot be used: Connection refused" in cause.what
    assert "check that Redis runs there" in cause.advice
    assert ready == "0 of 1 parts serve: its Redis cannot be used (`smartspider doctor` says why)"
