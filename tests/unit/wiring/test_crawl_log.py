"""The log of a crawl: lines in files and in the store, within the retention, and on standard error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from smartspider.core import events
from smartspider.core.logs import LEVELS, LogLine
from smartspider.installation.data_folder import DataFolder
from smartspider.installation.retention import Retention
from smartspider.installation.settings import Settings
from smartspider.store.logs.terms import LogFilter
from smartspider.wiring.crawl_log import CrawlLog
from smartspider.wiring.opening import open_folder
from smartspider_testing.contracts.actions import plan_of

URL = "http://h.example/a"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[DataFolder]:
    with open_folder(tmp_path, settings=Settings(log_level="debug")) as opened:
        yield opened


async def begin(folder: DataFolder) -> int:
    return (await folder.store.create_run(plan_of("one"))).id


async def stored(folder: DataFolder) -> list[LogLine]:
    return [one.line for one in (await folder.logs.after(LogFilter(), after=0)).lines]


def filed(folder: DataFolder, name: str) -> list[str]:
    lines = (folder.path / "logs" / f"{name}.jsonl").read_text().splitlines()
    return [json.loads(line)["event"] for line in lines]


async def test_lines_for_debugging_are_in_the_files_only(folder: DataFolder) -> None:
    run_id = await begin(folder)
    async with CrawlLog(folder, run_id).open("worker-3") as subscribers:
        for subscriber in subscribers:
            subscriber(events.PageClosed(run_id, "h.example", URL, "done", "", 200, 1, 0.1))
            subscriber(events.PageBuried(run_id, "h.example", URL, "timeout: slow"))
    assert filed(folder, f"run-{run_id}-worker-3") == ["page.closed", "page.buried"]
    (line,) = await stored(folder)
    assert (line.event, line.worker, line.run_id, line.url) == ("page.buried", "worker-3", run_id, URL)


async def test_a_level_above_info_holds_for_the_store_too(folder: DataFolder) -> None:
    run_id = await begin(folder)
    quiet = msgspec.structs.replace(folder, settings=Settings(log_level="error"))
    await CrawlLog(quiet, run_id).record(events.RunStarted(run_id, "task", is_resumed=False))
    assert await stored(folder) == []


async def test_an_event_of_the_command_is_stored_at_once(folder: DataFolder) -> None:
    run_id = await begin(folder)
    log = CrawlLog(folder, run_id)
    await log.record(events.RunStarted(run_id, "task", is_resumed=False))
    await log.record(events.RunEnded(run_id, "completed", ""))
    assert [(line.event, line.worker) for line in await stored(folder)] == [
        ("run.started", "crawl"),
        ("run.ended", "crawl"),
    ]
    assert filed(folder, f"run-{run_id}") == ["run.started", "run.ended"]


@pytest.mark.parametrize(("level", "shown"), [(None, 0), ("info", 1), ("debug", 2)])
async def test_lines_of_a_level_are_shown(
    folder: DataFolder, capsys: pytest.CaptureFixture[str], level: str | None, shown: int
) -> None:
    run_id = await begin(folder)
    async with CrawlLog(folder, run_id, level).open("worker-0") as subscribers:
        for subscriber in subscribers:
            subscriber(events.PageClosed(run_id, "h.example", URL, "done", "", 200, 1, 0.1))
            subscriber(events.PageBuried(run_id, "h.example", f"{URL}\x1b[2J", "timeout: slow"))
        captured = capsys.readouterr()  # before the log is closed
    assert len(captured.err.splitlines()) == shown
    assert (captured.out, "\x1b" in captured.err) == ("", False)


async def test_stored_lines_stay_within_the_retention(folder: DataFolder) -> None:
    run_id = await begin(folder)
    keep = Settings(retention=Retention(log_bytes=1_000_000, log_age_s=3600.0))
    log = CrawlLog(msgspec.structs.replace(folder, settings=keep), run_id)
    lines = [LogLine(folder.clock.now(), LEVELS["info"], "a.b", f"{n} " + "x" * 200) for n in range(4000)]
    await folder.logs.add(lines)
    assert await folder.logs.size() > 1_000_000
    async with log.trimmed():
        pass
    assert 0 < await folder.logs.size() <= 1_000_000
    newest = (await folder.logs.before(LogFilter(), limit=1)).lines[0].line
    assert newest.text.startswith("3999 ")


async def test_a_folder_that_is_gone_does_not_hide_why_the_crawl_ended(folder: DataFolder) -> None:
    log = CrawlLog(folder, await begin(folder))

    async def crawl() -> None:
        async with log.trimmed(), log.open("worker-0") as subscribers:
            for subscriber in subscribers:
                subscriber(events.PageBuried(log.run_id, "h.example", URL, "timeout: slow"))
            (folder.path / "smartspider.db").unlink()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await crawl()
