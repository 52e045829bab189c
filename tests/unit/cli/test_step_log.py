"""`results rejects`, `results cleaning` and the steps of `run show`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from smartspider.cli.main import main
from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.pages.extraction import RejectedItem, StepCount, ValueChange
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts.actions import begin, settle, take_one

REJECTED = [
    RejectedItem(f"is not a price ({number})", {"price": "free"}, "pipeline[0] number", "price", ["free"])
    for number in range(3)
]
CHANGES = [
    ValueChange(0, "pipeline[1] trim", "name", " a ", "a"),
    ValueChange(1, "pipeline[0] number", "price", "1,5", 1.5),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with two runs: one that tells, and a newer one with nothing to tell."""

    async def fill() -> None:
        backend = SqliteBackend(tmp_path, ManualClock())
        run = await begin(backend, "one")
        await begin(backend, "one")
        lease = await take_one(backend, await backend.frontier.join(WorkerRegistration("w")), run)
        counts = {"pipeline[0] number": StepCount(4, 1, 0, 3)}
        await settle(
            backend, Settlement(lease, Close("done", rejected=REJECTED, changes=CHANGES, counts=counts))
        )
        await backend.close()

    asyncio.run(fill())
    return tmp_path


def _lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_rejects_are_told_as_json_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results", "rejects", "--data", str(folder), "--run", "1", "--json", "--limit", "2"]) == 0
    told, talk = capsys.readouterr()
    first, second = _lines(told)
    assert first == {
        "id": first["id"],
        "run_id": "1",
        "url": "http://a.example/one",
        "reason": "is not a price (0)",
        "step": "pipeline[0] number",
        "field": "price",
        "value": ["free"],
        "data": {"price": "free"},
    }
    assert second["reason"] == "is not a price (1)"
    assert talk == "run 1 rejected 3 items\n"


def test_rejects_and_changes_are_shown_line_by_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results", "rejects", "--data", str(folder), "--run", "1"]) == 0
    told, _ = capsys.readouterr()
    line = 'is not a price (2)  price=["free"]  pipeline[0] number  http://a.example/one'
    assert told.splitlines()[2] == line
    assert main(["results", "cleaning", "--data", str(folder), "--run", "1"]) == 0
    told, _ = capsys.readouterr()
    assert told.splitlines()[1] == 'price: "1,5" → 1.5  pipeline[0] number  item 1 of http://a.example/one'


def test_the_newest_run_is_meant_where_none_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["results", "rejects", "--data", str(folder)]) == 0
    assert capsys.readouterr() == ("", "newest run: 2 of 'task'\nrun 2 rejected 0 items\n")
    assert main(["results", "cleaning", "--data", str(folder)]) == 0
    told, talk = capsys.readouterr()
    assert told == ""
    assert "cleaning_log" in talk
    assert main(["results", "rejects", "--data", str(folder), "--run", "9"]) == 3


def test_the_cleaning_log_is_told_by_field_and_step(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["results", "cleaning", "--data", str(folder), "--run", "1", "--json"]
    assert main(asked) == 0
    everything = _lines(capsys.readouterr().out)
    assert [(line["before"], line["after"]) for line in everything] == [(" a ", "a"), ("1,5", 1.5)]
    for choice in (["--field", "price"], ["--step", "number"], ["--step", "pipeline[0] number"]):
        assert main([*asked, *choice]) == 0
        assert _lines(capsys.readouterr().out) == [everything[1]]
    page = str(int(everything[0]["id"]) >> 40 << 40 | 1)
    assert main([*asked, "--page", page]) == 0
    assert _lines(capsys.readouterr().out) == everything
    assert main([*asked, "--field", "none"]) == 0
    assert capsys.readouterr() == ("", "0 changes of run 1\n")


def test_a_run_is_shown_with_what_its_steps_did(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "show", "1", "--data", str(folder)]) == 0
    assert "step pipeline[0] number: 4 values, 1 changed, 0 emptied, 3 rejected" in capsys.readouterr().out
    assert main(["run", "show", "1", "--data", str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["steps"] == {
        "pipeline[0] number": {"seen": 4, "changed": 1, "emptied": 0, "rejected": 3, "unsure": 0}
    }
    assert told["counters"]["updated"] == 0
