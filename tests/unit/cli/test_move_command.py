"""`smartspider move` as it is typed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from smartspider.cli.exit_codes import Exit
from smartspider.cli.main import main
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.wiring.opening import open_folder
from smartspider_testing.servers import RedisServer

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    with open_folder(tmp_path / "data"):
        pass
    return "data"


@pytest.fixture
def where(empty_database: str, empty_redis: RedisServer) -> list[str]:
    return ["--store", empty_database, "--to", empty_redis.url]


def test_a_folder_is_counted_moved_and_closed(
    data: str, empty_database: str, empty_redis: RedisServer, capsys: Captured
) -> None:
    frontier = f"{empty_redis.url}?namespace=second"
    move = ["move", "--data", data, "--store", empty_database, "--to", frontier]
    assert main([*move, "--dry-run"]) == Exit.OK
    counted = capsys.readouterr().err
    assert counted.startswith("dry run: 0 rows of data ")
    assert f" {empty_database.partition('@')[2]};" in counted
    assert main([*move, "--dry-run", "--json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["is_done"] is False
    assert main(move) == Exit.OK
    told = capsys.readouterr()
    assert told.out.startswith("migrated 1 row of data to 127.0.0.1:")
    assert "audit: 1 of 1 rows" in told.err
    assert "  SMARTSPIDER_STORE_URL=postgresql://127.0.0.1:" in told.err
    assert f"  SMARTSPIDER_FRONTIER_URL={frontier}\n" in told.err
    assert main([*move, "--json"]) == Exit.OK, "once more does nothing"
    again = json.loads(capsys.readouterr().out)
    assert (again["is_done"], again["copied"], again["rows"], again["open"]) == (True, 0, 1, 0)
    for role in (["up", "--port", "0"], ["api", "--port", "0"], ["worker"], ["keeper"], ["move", "--cancel"]):
        assert main([*role, "--data", data]) == Exit.NOT_ALLOWED
        assert "the data folder data was moved to the cluster" in capsys.readouterr().err
    assert main(["audit", "list", "--data", data]) == Exit.OK
    assert main(["run", "list", "--data", data]) == Exit.OK


def test_a_crawl_in_a_folder_that_was_moved_is_refused_before_it_greets(
    data: str, where: list[str], capsys: Captured
) -> None:
    document = {"name": "shop", "entry_urls": ["http://127.0.0.1:9/"]}
    task = Path("task.json")
    task.write_text(json.dumps(document))
    with open_folder(Path(data)) as folder:
        asyncio.run(folder.store.create_run(compile_task(parse_task(document))))
    assert main(["move", "--data", data, *where]) == Exit.OK
    capsys.readouterr()
    assert main(["crawl", str(task), "--data", data]) == Exit.NOT_ALLOWED
    told = capsys.readouterr().err
    assert "was moved to the cluster" in told
    assert "resuming" not in told


def test_what_is_no_cluster_is_a_mistake_that_repeats_no_password(data: str, capsys: Captured) -> None:
    wrong: tuple[list[str], ...] = (
        ["--store", "mysql://u:geheim@h/d", "--to", "redis://h"],
        ["--store", "postgresql://u:geheim@h/d", "--to", "amqp://u:geheim@h"],
        ["--store", "postgresql://u:geheim@h/d", "--to", "redis://u:geheim@h?nonsense=1"],
        [],
    )
    for given in wrong:
        assert main(["move", "--data", data, *given, "--dry-run"]) in {Exit.USAGE, Exit.UNREACHABLE}
        told = capsys.readouterr()
        assert told.err
        assert "geheim" not in told.err + told.out


def test_a_folder_that_stays_cannot_be_called_back(data: str, capsys: Captured) -> None:
    assert main(["move", "--data", data, "--cancel"]) == Exit.NOT_ALLOWED
    assert "is not being moved" in capsys.readouterr().err
    assert main(["move", "--data", "nowhere", "--cancel"]) == Exit.NOT_FOUND
