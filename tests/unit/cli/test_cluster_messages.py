"""Messages of commands on a new cluster: what is missing, and which command helps."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from smartspider.backends.redis import errors
from smartspider.cli.main import main
from smartspider.installation.settings import Settings, read_settings
from smartspider.wiring.cluster import open_cluster
from smartspider_testing.servers import RedisServer

TASK = '{"name": "shop", "entry_urls": ["http://127.0.0.1:9/"], "selectors": {"fields": {"title": "title"}}}'

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def cluster(
    empty_store: str, empty_redis: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    """The settings of a cluster that nobody works on yet."""
    monkeypatch.chdir(tmp_path)
    for name, value in (
        ("STORE_URL", empty_store),
        ("FRONTIER_URL", empty_redis.url),
        ("ALLOW_PRIVATE", "1"),
        ("MASTER_KEY", "the same on all machines"),
    ):
        monkeypatch.setenv(f"SMARTSPIDER_{name}", value)
    return read_settings()


def said(capsys: Captured, code: int, *words: str) -> str:
    """What a command says on standard error, when it ends so."""
    assert main(words) == code
    return capsys.readouterr().err


@pytest.mark.usefixtures("cluster")
def test_an_empty_cluster_is_not_taken_for_a_folder(capsys: Captured) -> None:
    for words in (
        ("why", "http://shop.example/"),
        ("results", "export", "-o", "rows.jsonl"),
        ("results", "show"),
    ):
        told = said(capsys, 3, *words)
        assert "there is no run yet" in told
        assert "crawl" not in told
        assert "`smartspider run start NAME`" in told


@pytest.mark.usefixtures("cluster")
def test_an_empty_list_is_talked_about_and_prints_nothing(capsys: Captured) -> None:
    for words, said_so in (
        (("run", "list"), "no runs yet"),
        (("task", "list"), "no tasks;"),
        (("node", "list"), "no workers are running"),
    ):
        assert main(words) == 0
        told = capsys.readouterr()
        assert said_so in told.err
        assert told.out == "" or words[0] == "node"
        assert main([*words, "--json"]) == 0
        assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("cluster")
def test_a_task_that_never_ran_is_started_by_its_name(capsys: Captured) -> None:
    Path("shop.json").write_text(TASK)
    assert main(["task", "apply", "shop.json"]) == 0
    told = said(capsys, 3, "results", "show", "--task", "shop")
    assert "there is no run of the task 'shop' yet" in told
    assert "`smartspider run start shop`" in told


def test_a_folder_is_told_of_crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shop.json").write_text(TASK)
    assert main(["task", "apply", "shop.json", "--data", "data"]) == 0
    for words in (("why", "http://shop.example/"), ("results", "show")):
        assert "`smartspider crawl TASK`" in said(capsys, 3, *words, "--data", "data")


@pytest.mark.usefixtures("cluster")
def test_fsck_without_a_keeper_says_what_to_start(capsys: Captured) -> None:
    assert f"try: {errors.NO_KEEPER}" in said(capsys, 5, "fsck")


def test_a_run_that_nobody_hands_out_or_works_on_is_noted_when_it_starts(
    cluster: Settings, tmp_path: Path, capsys: Captured
) -> None:
    Path("shop.json").write_text(TASK)
    assert main(["task", "apply", "shop.json"]) == 0
    assert main(["run", "start", "shop", "--json"]) == 0
    told = capsys.readouterr()
    assert re.search(r"^note: no keeper .*`smartspider keeper`$", told.err, re.MULTILINE)
    assert "note: no workers are running" in told.err
    assert json.loads(told.out)["reason"].startswith("no keeper")

    async def lead() -> None:
        async with open_cluster(cluster, tmp_path) as installation:
            assert await installation.leadership.take("another:7:abc", 60.0)

    asyncio.run(lead())
    told_later = said(capsys, 0, "run", "start", "shop", "--overlap")
    assert "no keeper" not in told_later
    assert "frontier" in told_later


@pytest.mark.usefixtures("cluster")
def test_doctor_misses_the_master_key_of_a_cluster(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    assert main(["doctor"]) == 6  # there is no keeper
    assert "ok   master key: is set" in capsys.readouterr().out
    monkeypatch.delenv("SMARTSPIDER_MASTER_KEY")
    assert main(["doctor"]) == 6
    told = capsys.readouterr().out
    assert "BAD  master key: SMARTSPIDER_MASTER_KEY is not set" in told
    assert "openssl rand -hex 32" in told
