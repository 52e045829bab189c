"""Events as JSON lines."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from smartspider.core.errors import StoreUnavailable
from smartspider.core.events import Event, HostHeld, PageBuried, PageClosed, RunStarted
from smartspider.telemetry import log_files
from smartspider.telemetry.log_files import EventLog

STARTED = RunStarted(7, "shop", is_resumed=False)
CLOSED = PageClosed(7, "h.example", "http://h.example/", "done", "", 200, 3, 0.25)
HELD = HostHeld(7, "h.example", 60.0, "http 429")
BURIED = PageBuried(7, "h.example", "http://h.example/é", "100% broken %s")


def written(
    folder: Path, *events: Event, level: str = "info", max_bytes: int = log_files.MAX_BYTES
) -> list[dict[str, Any]]:
    log = EventLog(folder, "worker-1", level, max_bytes=max_bytes)
    for event in events:
        log(event)
    log.close()
    path = folder / "logs" / "worker-1.jsonl"
    return (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    )


def test_a_line_says_when_what_run_worker_and_then_its_own_fields(tmp_path: Path) -> None:
    (line,) = written(tmp_path, HELD)
    at = datetime.fromisoformat(line.pop("at"))
    assert timedelta(0) <= datetime.now(UTC) - at < timedelta(minutes=1)
    assert line == {
        "level": "warning",
        "event": "host.held",
        "run": "7",
        "worker": "worker-1",
        "host": "h.example",
        "hold_s": 60.0,
        "reason": "http 429",
    }
    assert list(written(tmp_path, STARTED)[1])[:5] == ["at", "level", "event", "run", "worker"]


def test_text_is_written_as_it_is(tmp_path: Path) -> None:
    (line,) = written(tmp_path, BURIED)
    assert (line["url"], line["reason"]) == ("http://h.example/é", "100% broken %s")


@pytest.mark.parametrize(
    ("level", "names"),
    [
        ("debug", ["run.started", "page.closed", "host.held", "page.buried"]),
        ("info", ["run.started", "host.held", "page.buried"]),
        ("warning", ["host.held", "page.buried"]),
        ("error", ["page.buried"]),
    ],
)
def test_only_events_of_the_level_or_above_are_written(tmp_path: Path, level: str, names: list[str]) -> None:
    lines = written(tmp_path, STARTED, CLOSED, HELD, BURIED, level=level)
    assert [line["event"] for line in lines] == names


def test_no_file_is_made_until_there_is_something_to_say(tmp_path: Path) -> None:
    assert written(tmp_path, CLOSED, level="error") == []
    assert list((tmp_path / "logs").iterdir()) == []


def test_lines_are_added_to_what_is_there(tmp_path: Path) -> None:
    written(tmp_path, STARTED)
    assert len(written(tmp_path, STARTED)) == 2


def test_a_log_that_grows_too_large_is_rotated_and_old_ones_go(
    tmp_path: Path,
) -> None:
    written(tmp_path, *[STARTED] * 40, max_bytes=400)
    files = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert files == [
        "worker-1.jsonl",
        *(f"worker-1.jsonl.{number}" for number in range(1, log_files.KEPT_FILES + 1)),
    ]
    assert all(path.stat().st_size <= 400 for path in (tmp_path / "logs").iterdir())


def test_a_folder_that_cannot_be_made_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "logs").touch()
    with pytest.raises(StoreUnavailable, match="log"):
        EventLog(tmp_path, "worker-1")


def test_the_logs_of_a_run_are_known_by_their_names(tmp_path: Path) -> None:
    for name in ("run-1", "run-1-worker-0", "run-1-worker-12", "run-12", "run-11-worker-1"):
        log = EventLog(tmp_path, name, max_bytes=400)
        for _ in range(3):
            log(STARTED)
        log.close()
    assert sorted(path.name for path in log_files.log_files(tmp_path, 1)) == [
        *("run-1-worker-0.jsonl", "run-1-worker-0.jsonl.1"),
        *("run-1-worker-12.jsonl", "run-1-worker-12.jsonl.1"),
        *("run-1.jsonl", "run-1.jsonl.1"),
    ]
    assert log_files.log_files(tmp_path / "nowhere", 1) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_line_that_cannot_be_written_is_lost_quietly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "run-1.jsonl").symlink_to("/dev/full")
    log = EventLog(tmp_path, "run-1")
    log(STARTED)
    log.close()
    assert capsys.readouterr().err == ""


def test_the_levels_are_those_of_the_events() -> None:
    assert list(log_files.LEVELS) == ["debug", "info", "warning", "error"]
    assert log_files.LEVELS["error"] == logging.ERROR
