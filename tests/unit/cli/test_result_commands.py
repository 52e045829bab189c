"""`results show --row`, `results diff --kind` and `results export --where`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.api.rows import task

from smartspider.cli.main import main
from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts.actions import settle, take_one

ROWS = [{"name": "Sencha", "price": 12}, {"name": "Assam", "price": 3}, {"name": "Oolong", "price": 40}]
LATER = [{"name": "Sencha", "price": 13}, ROWS[1], {"name": "Gyokuro", "price": 80}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with two completed runs of a task."""

    async def fill() -> None:
        backend = SqliteBackend(tmp_path, ManualClock())
        worker = await backend.frontier.join(WorkerRegistration("w"))
        for rows in (ROWS, LATER):
            run = await backend.store.create_run(compile_task(parse_task(task())))
            await backend.store.set_state(run.id, "running")
            lease = await take_one(backend, worker, run)
            await settle(backend, Settlement(lease, Close("done", items=list(rows))))
            await backend.store.finish(run.id)
        await backend.close()

    asyncio.run(fill())
    return tmp_path


def _lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_changes_of_one_kind_are_listed_with_their_rows(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["results", "diff", "--data", str(folder), "--key", "name"]
    for kind, wanted in (("new", LATER[2]), ("changed", LATER[0]), ("gone", ROWS[2])):
        assert main([*asked, "--kind", kind, "--json"]) == 0
        change, summary = _lines(capsys)
        assert (change["kind"], change["row"]) == (kind, wanted)
        assert summary["summary"] | {"new": 1, "changed": 1, "gone": 1} == summary["summary"]
        shown = ["results", "show", "--data", str(folder), "--row", change["id"], "--json"]
        assert main(shown) == 0
        assert _lines(capsys) == [wanted]
    assert main([*asked, "--kind", "gone", "--limit", "0"]) == 0
    assert capsys.readouterr().err.splitlines()[-1].startswith("and 1 more;")
    assert main(["results", "show", "--data", str(folder), "--row", "7"]) == 3


def test_only_rows_that_match_are_exported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["results", "export", "--data", str(folder), "--run", "1", "-o", "-"]
    assert main([*asked, "--where", "price>3", "--where", "name~o"]) == 0
    assert _lines(capsys) == [ROWS[2]]
    assert main([*asked, "--where", "prize>3"]) == 2
    assert "the rows have no field 'prize'" in capsys.readouterr().err
