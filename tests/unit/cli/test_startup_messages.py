"""Messages about commands of a cluster that are mistyped or come too early."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
import pytest

from smartspider.cli.main import main
from smartspider.cli.server.startup import WorkerRangeType, warn_missing
from smartspider.core.errors import SettingInvalid
from smartspider.installation.settings import read_settings
from smartspider.wiring.cluster import open_cluster
from smartspider_testing.servers import RedisServer

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without anything."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("role", ["worker", "keeper"])
def test_a_role_that_finds_no_server_names_what_may_be_missing(role: str, capsys: Captured) -> None:
    assert main([role]) == 3
    told = capsys.readouterr().err
    assert "`smartspider api`" in told
    assert "SMARTSPIDER_FRONTIER_URL" in told


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--only", "kill-worker"), "did you mean 'kill-workers'? --list"),
        (("--only", "nonsense"), "unknown fault 'nonsense'; --list"),
    ],
)
def test_a_fault_that_is_not_there(words: tuple[str, ...], said: str, capsys: Captured) -> None:
    assert main(["chaos", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_range_that_is_turned_around_is_turned_back() -> None:
    with pytest.raises(click.BadParameter, match=r"'8-2'.* 2-8"):
        WorkerRangeType(1, 256).convert("8-2", None, None)


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("drain", "crawler-9"), "there is no worker on a machine named 'crawler-9'"),
        (("drain", "7"), "there is no worker 7 and no machine of that name with workers"),
        (("tune", "crawler-9", "--worker", "7", "--slots", "1"), "there is no worker 7 on a machine named"),
    ],
)
def test_a_machine_or_worker_that_is_not_there(words: tuple[str, ...], said: str, capsys: Captured) -> None:
    Path("task.json").write_text('{"name": "shop", "entry_urls": ["http://shop.example/"]}')
    assert main(["task", "apply", "task.json", "--data", "data"]) == 0
    assert main(["node", *words, "--data", "data"]) == 3
    told = capsys.readouterr().err
    assert said in told
    assert "`smartspider node list`" in told


@pytest.mark.parametrize(
    ("given", "missing"), [("STORE_URL", "FRONTIER_URL="), ("FRONTIER_URL", "STORE_URL=")]
)
def test_half_a_cluster_names_both_settings(given: str, missing: str, apart: Path) -> None:
    url = "redis://h" if given == "FRONTIER_URL" else "postgresql://me:secret@h/db"
    with pytest.raises(SettingInvalid, match=f"SMARTSPIDER_{given}") as caught:
        read_settings({f"SMARTSPIDER_{given}": url}, apart)
    assert f"SMARTSPIDER_{missing}" in caught.value.hint
    assert "secret" not in f"{caught.value.message}{caught.value.hint}"


def test_a_worker_that_comes_before_the_keeper_is_told(
    empty_store: str, empty_redis: RedisServer, apart: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("SMARTSPIDER_STORE_URL", empty_store)
    monkeypatch.setenv("SMARTSPIDER_FRONTIER_URL", empty_redis.url)
    asyncio.run(warn_missing(apart))
    (note,) = capsys.readouterr().err.splitlines()
    assert note.startswith("note: no keeper ")
    assert "`smartspider keeper`" in note

    async def lead() -> None:
        async with open_cluster(read_settings(), apart) as installation:
            assert await installation.leadership.take("crawler-1:7:abc", 60.0)

    asyncio.run(lead())
    asyncio.run(warn_missing(apart))
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("SMARTSPIDER_FRONTIER_URL", "redis://127.0.0.1:1")
    asyncio.run(warn_missing(apart))
    told = capsys.readouterr().err
    assert told.startswith("note: ")
    assert "127.0.0.1:1 " in told
    assert "Connection refused" in told
    monkeypatch.setenv("SMARTSPIDER_STORE_URL", "postgresql://127.0.0.1:1/x")
    asyncio.run(warn_missing(apart))
    assert capsys.readouterr().err == "", "the worker itself says that"
