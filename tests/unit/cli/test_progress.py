"""Progress, the report of a crawl, sizes, data on stdout and messages on stderr."""

from __future__ import annotations

import asyncio
import io
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest
from rich.console import Console

from smartspider.cli.crawl import report
from smartspider.cli.crawl.report import receipt_lines
from smartspider.cli.runs import progress
from smartspider.cli.runs.progress import LINE_S, ProgressDisplay
from smartspider.cli.terminal.output import format_size, print_json, print_line, print_message
from smartspider.core.errors import StoreUnavailable
from smartspider.core.pages.extraction import StepCount
from smartspider.core.runs.run import Counters, Run, RunState
from smartspider.installation.data_folder import DataFolder
from smartspider.store.hosts.gates import ADAPTIVE
from smartspider.store.results.store import FieldFill
from smartspider.store.runs.listing import FailedRequest
from smartspider.store.runs.records import HostReceipt, HostStatus
from smartspider.store.runs.store import RunStore
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts.actions import plan_of


def run_with(in_flight: int = 0, state: RunState = "running", reason: str = "", **counters: int) -> Run:
    return Run(1, "shop", b"{}", "hash", state, reason, Counters(**counters), in_flight, 0.0)


class Shown:
    """The part of a store that the screen reads."""

    def __init__(self, run: Run, hosts: Sequence[HostStatus] = ()) -> None:
        self.run = run
        self._hosts = list(hosts)

    async def get_run(self, _run_id: int) -> Run:
        return self.run

    async def hosts(self, _run_id: int, limit: int = 20) -> list[HostStatus]:
        return self._hosts[:limit]


def screen(store: Shown, clock: ManualClock | None = None, *, line_s: float = LINE_S) -> ProgressDisplay:
    return ProgressDisplay(cast("RunStore", store), 1, clock or ManualClock(), line_s=line_s)


async def test_a_line_says_how_far_and_how_fast() -> None:
    clock, store = ManualClock(), Shown(run_with(total=10, done=0))
    shown = screen(store, clock)
    await shown.line()
    await clock.advance(4.0)
    store.run = run_with(in_flight=3, total=110, done=20, items=40)
    assert await shown.line() == "20 pages, 40 items, 5.0 pages/s, 3 in flight, 90 to go"


async def test_a_line_mentions_failures_and_retries_only_when_there_are_any() -> None:
    line = await screen(Shown(run_with(total=9, done=1, dead=2, broken=1, retries=4))).line()
    assert line.endswith("5 to go, 3 failed, 4 retries")


def test_the_rate_is_that_of_the_last_ten_seconds() -> None:
    rate = progress.PageRate()
    assert rate.update(0.0, 0) == 0.0
    assert rate.update(5.0, 1000) == 200.0
    assert rate.update(15.0, 1010) == 1.0


@pytest.mark.parametrize(
    ("left", "rate", "text"),
    [
        (90, 1.0, "about 1:30 to go"),
        (5, 1.0, "about 0:05 to go"),
        (7200, 1.0, "about 120:00 to go"),
        (5, 0.0, ""),
        (0, 9.0, ""),
    ],
)
def test_the_time_left_is_open_requests_by_rate(left: int, rate: float, text: str) -> None:
    assert progress.time_left(progress.counts_of(run_with(total=left)), rate) == text


def host(held_until: float = 0.0, delay_s: float = 0.5, set_by: str = "the task") -> HostStatus:
    return HostStatus("h.example", 12, 2, delay_s, set_by, held_until, "http 429")


async def test_a_host_that_was_slowed_down_is_named() -> None:
    slowed = "slowed to one every 10 s after 429, 503 or timeouts"
    shown = screen(Shown(run_with(total=5), [host(delay_s=10.0, set_by=ADAPTIVE)]))
    assert (await shown.line()).endswith(f"5 to go, h.example {slowed}")
    assert (await shown.slowest_host()).endswith(f"2 in flight, {slowed}")
    assert (await screen(Shown(run_with(total=5), [host()])).line()).endswith("5 to go")


async def test_the_panel_shows_the_counts_and_the_slowest_host() -> None:
    clock = ManualClock()
    store = Shown(run_with(total=100, done=40, items=80, dead=1, retries=2), [host(clock.now() + 30.0)])
    console = Console(file=io.StringIO(), width=200)
    console.print(await screen(store, clock).panel())
    text = cast("io.StringIO", console.file).getvalue()
    for part in ("40 pages", "80 items", "1 failed", "2 retries"):
        assert part in text
    assert (
        "slowest host h.example: 12 queued, 2 in flight, one every 0.5 s (the task), held for 30 s: http 429"
        in text
    )


async def test_a_host_without_delay_or_hold_is_only_named() -> None:
    assert await screen(Shown(run_with(), [host(delay_s=0.0)])).slowest_host() == (
        "slowest host h.example: 12 queued, 2 in flight"
    )
    assert await screen(Shown(run_with())).slowest_host() == ""


async def test_off_a_terminal_lines_are_written_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    asked = asyncio.Event()

    class Asked(Shown):
        async def get_run(self, run_id: int) -> Run:
            if self.run.counters.done:
                asked.set()
            self.run = run_with(total=5, done=1)
            return await super().get_run(run_id)

    async with screen(Asked(run_with()), line_s=0.0):
        await asked.wait()
    captured = capsys.readouterr()
    assert captured.err.startswith("1 page, 0 items")
    assert captured.out == ""


async def test_a_store_that_cannot_be_read_for_the_screen_does_not_disturb_the_crawl() -> None:
    asked = asyncio.Event()

    class Away(Shown):
        async def get_run(self, _run_id: int) -> Run:
            asked.set()
            raise StoreUnavailable("busy")

    async with screen(Away(run_with()), line_s=0.0):
        await asked.wait()
        await asyncio.sleep(0)


async def test_a_screen_that_fails_says_so_and_does_not_disturb_the_crawl(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = asyncio.Event()

    class Broken(Shown):
        async def get_run(self, _run_id: int) -> Run:
            asked.set()
            raise ZeroDivisionError("by zero")

    async with screen(Broken(run_with())):
        await asked.wait()
    assert capsys.readouterr().err == "note: cannot show progress: ZeroDivisionError: by zero\n"


async def test_what_a_host_says_is_shown_as_it_is() -> None:
    clock = ManualClock()
    status = msgspec.structs.replace(host(clock.now() + 9.0), hold_reason="no [/] route [bold]")
    console = Console(file=io.StringIO(), width=200)
    console.print(await screen(Shown(run_with(), [status]), clock).panel())
    assert "no [/] route [bold]" in cast("io.StringIO", console.file).getvalue()


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 KB"),
        (1_234_567, "1.2 MB"),
        (5_000_000_000, "5.0 GB"),
        (10**13, "10000.0 GB"),
    ],
)
def test_sizes_are_read_by_people(count: int, text: str) -> None:
    assert format_size(count) == text


def test_data_goes_to_stdout_and_messages_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"path": Path("a/b"), "name": "café"})
    print_line("row")
    print_message("message")
    captured = capsys.readouterr()
    head, _, tail = captured.out.rpartition("}\n")
    assert json.loads(head + "}") == {"path": "a/b", "name": "café"}
    assert (tail, captured.err) == ("row\n", "message\n")


def receipt(name: str, **more: object) -> HostReceipt:
    plain = HostReceipt(name, 10, 0.512, 0.5, 1.9, 0, 0)
    return msgspec.structs.replace(plain, **more)


def test_the_receipt_names_violations_gaps_and_refusals() -> None:
    receipts = [
        receipt("a.example", refusals=3, violations=1),
        receipt("b.example", smallest_gap_s=None),
        *(receipt(f"{number}.example") for number in range(5)),
    ]
    lines = receipt_lines(receipts, plan_of())
    assert lines[0] == "politeness: robots.txt obeyed, 1 violation of host delays"
    assert lines[1] == (
        "  a.example: 10 requests, 1.9/s on average, smallest gap 0.512 s (delay 0.5 s),"
        " 3 times 429, 503 or timeout"
    )
    assert lines[2] == "  b.example: 10 requests, 1.9/s on average"
    assert lines[-1] == "  and 2 hosts more"


def test_without_requests_there_is_no_receipt_and_ignored_robots_are_said() -> None:
    assert receipt_lines([], plan_of()) == []
    assert "robots.txt ignored" in receipt_lines([receipt("a")], plan_of(obey_robots=False))[0]


async def test_an_ending_that_cannot_be_read_is_a_note() -> None:
    class Away:
        async def receipt(self, _run_id: int) -> list[HostReceipt]:
            raise StoreUnavailable("busy")

        async def failures(self, _run_id: int, _limit: int) -> list[FailedRequest]:
            raise StoreUnavailable("busy")

    folder = cast("DataFolder", SimpleNamespace(store=Away(), path=Path("data")))
    run = run_with(state="completed", dead=1)
    assert await report.politeness_lines(folder.store, run, plan_of()) == [
        "note: cannot read the politeness report: busy"
    ]
    assert await report.failure_lines(folder, run) == ["note: cannot read the failures: busy"]


async def test_values_that_were_not_read_and_fields_that_few_rows_have_are_noted() -> None:
    class Counted:
        async def step_counts(self, _run_id: int) -> dict[str, StepCount]:
            return {
                "fields.price.steps[0] number": StepCount(30, emptied=10),
                "pipeline[0] trim": StepCount(9),
            }

        async def field_fill(self, _run_id: int, _fields: list[str], *, sample: int) -> list[FieldFill]:
            few = [FieldFill(f"f{number}", 2, 30, [{"a": 1}]) for number in range(4)]
            return [*few, FieldFill("all", 30, 30, [1]), FieldFill("none", 0, 30, [])]

    folder = cast("DataFolder", SimpleNamespace(store=Counted(), results=Counted()))
    unread, sparse = await report.value_lines(folder, run_with(), plan_of())
    assert unread == (
        "note: fields.price.steps[0] number: 10 of 30 values could not be read and became null;"
        " `smartspider results show --where price=` shows their rows"
    )
    assert sparse.startswith("note: mostly empty: f0 (2 of 30 rows, such as '{\"a\":1}'), f1 (")
    assert sparse.endswith(" and 1 more field")


def test_the_start_and_the_end_of_a_crawl_are_reported() -> None:
    counters = {"total": 9, "done": 2, "items": 4, "missing": 1, "dead": 1, "skipped": 1, "left_out": 2}
    run = run_with(state="paused", reason="interrupted", **counters)
    assert report.start_line(run, Path("data"), is_resumed=True) == (
        "resuming run 1: 2 pages done, 4 remaining (data)"
    )
    assert report.start_line(run, Path("data"), is_resumed=False) == "run 1 of 'shop' (data)"
    assert report.end_lines(run, 1.25, ["rows.csv"]).splitlines() == [
        "paused (interrupted): 2 pages, 4 items, 1 missing, 1 failed, 3 left out in 1.2 s",
        "rows: rows.csv",
        "run the same command again to resume",
    ]
    assert (
        report.end_lines(run_with(state="completed", done=1), 0.1, [])
        == "completed: 1 page, 0 items in 0.1 s"
    )


async def test_on_a_terminal_the_panel_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal, drawn = Terminal(), asyncio.Event()

    class Watched(Shown):
        async def hosts(self, run_id: int, limit: int = 20) -> list[HostStatus]:
            drawn.set()
            return await super().hosts(run_id, limit)

    monkeypatch.setattr(sys, "stderr", terminal)  # it is drawn where errors go
    async with screen(Watched(run_with(total=3, done=2))):
        await drawn.wait()
        await asyncio.sleep(0)
    assert "2 pages" in re.sub(r"\x1b\[\d*m", "", terminal.getvalue())
