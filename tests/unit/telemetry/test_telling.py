"""Events as lines, on their way to the store and out of the process."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
import structlog

from smartspider.core import events
from smartspider.core.errors import NameNotResolved, StoreUnavailable
from smartspider.core.events import Event
from smartspider.core.logs import LEVELS, LogLine
from smartspider.core.redaction.redactor import Redactor
from smartspider.installation.data_folder import DataFolder
from smartspider.store.logs.terms import LogFilter
from smartspider.telemetry import buffer as buffers
from smartspider.telemetry.buffer import LogBuffer
from smartspider.telemetry.process_log import LogLineHandler, ProcessLogDestinations, process_log
from smartspider.telemetry.subscribers import LogDestinations, line_of, worker_subscribers
from smartspider.wiring.opening import open_folder
from smartspider_testing.contracts.actions import plan_of
from smartspider_testing.waiting import WAIT_S, join

CANARY = "c4nary-V4lue"
URL = f"http://u:{CANARY}@h.example/p?token={CANARY}&page=2"
RETRIED = events.FetchRetried(1, "h.example", URL, f"timeout: {CANARY}", 2, 1.5)


def line(text: str = "x", level: str = "info") -> LogLine:
    return LogLine(1.0, LEVELS[level], "thing.done", text)


class Kept:
    """A store that is there or not."""

    def __init__(self) -> None:
        self.batches: list[list[LogLine]] = []
        self.trouble: Exception | None = None

    async def add(self, lines: Sequence[LogLine]) -> None:
        if self.trouble is not None:
            raise self.trouble
        self.batches.append(list(lines))

    @property
    def texts(self) -> list[str]:
        return [line.text for batch in self.batches for line in batch]


async def until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(WAIT_S):
        while True:
            if is_so():
                return
            await asyncio.sleep(0.001)


def test_a_line_has_a_sentence_and_what_it_is_found_by() -> None:
    told = line_of(RETRIED, 5.0, "worker 0", Redactor([CANARY]))
    assert told == LogLine(
        *(5.0, LEVELS["warning"], "fetch.retried"),
        "timeout: [redacted]; attempt 2 failed, the next is in 1.5 s or later",
        "worker 0",
        run_id=1,
        host="h.example",
        url="http://[redacted]@h.example/p?token=[redacted]&page=2",
        error="timeout",
        fields={"reason": "timeout: [redacted]", "attempts": 2, "delay_s": 1.5, "cause": "other"},
    )


def test_every_event_there_is_has_a_sentence() -> None:
    fillers = {"int": 3, "str": "word", "bool": True, "float": 1.5, "int | None": 200}
    fillers |= {"CauseCode": "timeout", "CauseCode | None": None}
    for kind in vars(events).values():
        if inspect.isclass(kind) and issubclass(kind, Event) and kind is not Event:
            values: list[Any] = [
                fillers[str(kind.__annotations__.get(name, "int"))] for name in kind.__struct_fields__
            ]
            told = line_of(kind(*values), 1.0, "w", Redactor())
            assert len(told.text.split()) > 1, kind
            assert told.text != kind.name.replace(".", " "), kind


async def test_lines_are_written_together_about_every_second() -> None:
    kept = Kept()
    buffer = LogBuffer(kept.add, every_s=0.02)
    task = asyncio.create_task(buffer.keep_flushing())
    await asyncio.sleep(0)
    for number in range(3):
        buffer.add(line(str(number)))
    await until(lambda: kept.batches)
    buffer.add(line("later"))
    await until(lambda: len(kept.batches) == 2)
    task.cancel()
    assert [len(batch) for batch in kept.batches] == [3, 1]


async def test_a_full_batch_does_not_wait() -> None:
    kept = Kept()
    buffer = LogBuffer(kept.add, every_s=60.0)
    task = asyncio.create_task(buffer.keep_flushing())
    await asyncio.sleep(0)
    for _ in range(buffers.BATCH * 2):
        buffer.add(line())
    await until(lambda: len(kept.batches) == 2)
    task.cancel()


async def test_lines_wait_while_the_store_is_busy_and_none_is_lost() -> None:
    kept = Kept()
    buffer = LogBuffer(kept.add)
    kept.trouble = StoreUnavailable("busy")
    for number in range(3):
        buffer.add(line(str(number)))
        await buffer.flush()
    assert (kept.batches, len(buffer)) == ([], 3)
    kept.trouble = None
    await buffer.flush()
    assert kept.texts == ["0", "1", "2"]


async def test_of_too_many_lines_the_oldest_harmless_ones_go_and_that_is_told() -> None:
    kept = Kept()
    buffer = LogBuffer(kept.add, room=20)
    for number in range(10):
        buffer.add(line(f"bad {number}", "warning"))
    for number in range(30):
        buffer.add(line(f"good {number}"))
    assert len(buffer) <= 20
    await buffer.flush()
    assert [text for text in kept.texts if text.startswith("bad")] == [f"bad {n}" for n in range(10)]
    assert "good 29" in kept.texts
    assert "good 0" not in kept.texts
    told = kept.batches[-1][-1]
    lost = 40 - (len(kept.texts) - 1)
    assert (told.event, told.fields) == ("log.dropped", {"count": lost})
    buffer.add(line("next"))
    await buffer.flush()
    assert kept.texts[-1] == "next"


async def test_a_store_that_breaks_takes_nobody_with_it() -> None:
    kept = Kept()
    kept.trouble = RuntimeError("odd")
    buffer = LogBuffer(kept.add)
    buffer.add(line())
    await buffer.flush()
    kept.trouble = None
    buffer.add(line("fine"))
    await buffer.flush()
    assert kept.texts[0] == "fine"
    assert kept.batches[-1][-1].fields == {"count": 1}


async def test_lines_may_come_from_other_threads() -> None:
    kept = Kept()
    buffer = LogBuffer(kept.add, every_s=0.01)
    task = asyncio.create_task(buffer.keep_flushing())
    await asyncio.sleep(0)

    def say_much() -> None:
        for _ in range(200):
            buffer.add(line())

    threads = [threading.Thread(target=say_much) for _ in range(4)]
    for thread in threads:
        thread.start()
    await until(lambda: len(kept.texts) == 800)
    join(*threads)
    task.cancel()


async def _stored(folder: DataFolder) -> list[LogLine]:
    return [one.line for one in (await folder.logs.after(LogFilter(), after=0)).lines]


async def test_a_worker_tells_a_file_the_store_and_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_folder(tmp_path) as folder:
        run = await folder.store.create_run(plan_of("one"))
        places = LogDestinations(tmp_path, folder.logs, metrics=folder.metrics, shown_level="info")
        async with worker_subscribers(places, "worker-0", Redactor([CANARY])) as subscribers:
            for subscriber in subscribers:
                subscriber(RETRIED)
                subscriber(events.PageClosed(run.id, "h.example", URL, "done", "", 200, 1, 0.1))
        (kept,) = await _stored(folder)
        assert (kept.event, kept.run_id, kept.task_id, kept.error) == (
            *("fetch.retried", run.id, run.task_id),
            "timeout",
        )
        assert ("smartspider_items_total", ()) in await folder.metrics.sums()
    (printed,) = capsys.readouterr().err.splitlines()
    assert f"  warning  run {run.id}  worker-0  fetch.retried  {kept.text}  http" in printed
    (filed,) = (tmp_path / "logs" / "worker-0.jsonl").read_text().splitlines()
    assert json.loads(filed)["event"] == "fetch.retried"
    for told in (str(kept), printed, filed):
        assert CANARY not in told


async def test_a_process_tells_what_its_code_and_its_libraries_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_folder(tmp_path) as folder:
        run = await folder.store.create_run(plan_of("one"))
        before = (logging.getLogger().handlers[:], logging.getLogger().level)
        async with process_log(ProcessLogDestinations(tmp_path, folder.logs), "api") as redactor:
            redactor.add(CANARY)
            with structlog.contextvars.bound_contextvars(run_id=str(run.id), url=URL):
                _say_everything()
        assert (logging.getLogger().handlers, logging.getLogger().level) == before
        kept = await _stored(folder)
    printed = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    filed = [json.loads(text) for text in (tmp_path / "logs" / "api.jsonl").read_text().splitlines()]
    assert printed == filed
    assert [one["event"] for one in printed] == [
        *("run.paused", "uvicorn.error", "thing.failed", "some.library", "asyncio"),
    ]
    assert [(one.event, one.text) for one in kept] == [(one["event"], one["text"]) for one in printed]
    assert {(one.run_id, one.task_id, one.worker) for one in kept} == {(run.id, run.task_id, "api")}
    assert kept[0].fields == {"password": "[redacted]", "name": "n", "args": 3}
    assert [one.error for one in kept] == [None, None, "dns", "ZeroDivisionError", None]
    assert "division by zero" in kept[3].fields["traceback"]
    assert CANARY not in f"{printed}{filed}{kept}"


def _say_everything() -> None:
    log = structlog.get_logger("ours")
    log.info("run.paused", text=f"paused with {CANARY}", password=CANARY, name="n", args=3)
    log.debug("thing.looked_at")
    logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    logging.getLogger("uvicorn.error").error("hello %s", f"Bearer {CANARY}")
    logging.getLogger("uvicorn.access").info("GET /api/x?ticket=%s", CANARY)
    try:
        _resolve()
    except NameNotResolved:
        log.exception("thing.failed", cookie=CANARY)
    try:
        _divide({"token": CANARY})
    except ZeroDivisionError:
        logging.getLogger("some.library").exception("it broke with %s", {"token": CANARY})
    logging.getLogger("asyncio").warning("slow callback")


def _resolve() -> None:
    raise NameNotResolved(f"no address for {CANARY}")


def _divide(_by: Any) -> float:
    return 1 / 0


class Away:
    """A store that takes nothing."""

    async def add(self, lines: Sequence[LogLine]) -> None:
        await asyncio.Event().wait()


async def test_a_process_does_not_wait_long_for_a_store_that_is_away(
    tmp_path: Path,
) -> None:
    places = ProcessLogDestinations(tmp_path, cast("Any", Away()), is_printed=False)
    async with asyncio.timeout(4.0):  # less than workers wait, who have sums to hand in
        async with process_log(places, "api", last_lines_s=0.05):
            logging.getLogger("a").warning("the last words")
    (filed,) = (tmp_path / "logs" / "api.jsonl").read_text().splitlines()
    assert json.loads(filed)["text"] == "the last words"


async def test_a_record_that_cannot_be_told_disturbs_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with process_log(ProcessLogDestinations(tmp_path), "api"):
        logging.getLogger("a").warning("%d", "not a number")
        logging.getLogger("a").warning("half \ud800 a character")
        structlog.get_logger().warning("odd", thing=object(), number=float("nan"), half="\udfff")
        logging.getLogger("a").warning("fine")
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 3
    assert json.loads(out[-1])["text"] == "fine"


def test_a_process_that_knows_no_task_tells_only_harmless_parameters() -> None:
    told: list[LogLine] = []
    handler = LogLineHandler("keeper", Redactor(), [told.append])
    values = {"event": "run.ended", "url": "http://h.example/?code=abcdef&page=2", "note": ["/?sv=2024-word"]}
    record = logging.makeLogRecord({"msg": values, "levelno": logging.INFO})
    handler.emit(record)
    (line,) = told
    assert line.url == "http://h.example/?code=[redacted]&page=2"
    assert line.fields == {"note": ["/?sv=[redacted]"]}
