"""What `crawl` and `demo` do: choose the run, work on it, write the rows, say what came of it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec

from smartspider.cli.output import count, print_json, say
from smartspider.cli.progress import Progress
from smartspider.cli.receipt import show_receipt
from smartspider.core.plan import Plan
from smartspider.core.runs import Run
from smartspider.engine.memory import tune_process
from smartspider.extract.compile import compile_pages
from smartspider.services.crawl import WRITTEN, choose_run, exit_code, summarise
from smartspider.services.outputs import check_output, write_outputs
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.model import Task
from smartspider.telemetry.logs import FOLDER as LOGS
from smartspider.wiring import faults
from smartspider.wiring.crawl import crawl_run
from smartspider.wiring.folder import (
    HOME,
    DataFolder,
    open_folder,
    owing,
    owing_runs,
    run_lock,
    task_lock,
)
from smartspider.wiring.loop import run_loop
from smartspider.wiring.settings import Settings, read_settings
from smartspider.wiring.worker import address_policy

SHOWN_FAILURES = 3


class Order(msgspec.Struct, frozen=True):
    """What a person asked for on the command line."""

    outputs: tuple[Path, ...] = ()
    data: Path | None = None
    workers: int = 1
    fresh: bool = False
    envelope: bool = False
    as_json: bool = False


def crawl_task(task: Task, order: Order) -> int:
    """Check everything that can be checked, then crawl; the exit code."""
    faults.arm_from_environment()
    plan = compile_task(task)
    compile_pages(plan.pages, plan.traps)
    settings = read_settings()
    address_policy(plan, settings)
    for path in order.outputs:
        check_output(path)
    tune_process()
    with open_folder(order.data or HOME / plan.name) as folder:
        return run_loop(_crawl(folder, plan, settings, order))


async def _crawl(folder: DataFolder, plan: Plan, settings: Settings, order: Order) -> int:
    with ExitStack() as held:
        held.enter_context(task_lock(folder.path, plan.name))
        owed = owing_runs(folder.path) if order.outputs else ()
        run, is_resumed = await choose_run(folder.store, plan, fresh=order.fresh, owing=owed)
        held.enter_context(run_lock(folder.path, run.id))
        if order.outputs:
            held.enter_context(owing(folder.path, run.id))
        say(_greeting(run, folder.path, is_resumed=is_resumed))
        for override in plan.overrides:
            say(f"note: {override}")
        started = folder.clock.monotonic()
        async with Progress(folder.store, run.id, folder.clock):
            run = await crawl_run(
                folder, run, plan, settings, workers=order.workers, on_ready=_stop_on_signals
            )
        duration_s = folder.clock.monotonic() - started
        written: list[str] = []
        if run.state in WRITTEN:
            written = await write_outputs(
                folder.store, run, order.outputs, plan.columns, envelope=order.envelope
            )
        await show_receipt(folder.store, run, plan)
        failed = await _failures(folder, run)
    summary = summarise(run, duration_s, written)
    if order.as_json:
        print_json(summary)
    say(_farewell(run, duration_s, written))
    for line in failed:
        say(line)
    return exit_code(run)


async def _failures(folder: DataFolder, run: Run) -> list[str]:
    """The first requests that failed, and where to look for the rest."""
    if not run.counters.failed:
        return []
    failures = await folder.store.failures(run.id, SHOWN_FAILURES)
    lines = [f"  failed: {failure.url}: {failure.reason}" for failure in failures]
    more = run.counters.failed - len(failures)
    lines += [f"  and {more} more"] if more > 0 else []
    return [*lines, f"  all failures are in {folder.path / LOGS}; `smartspider why URL` explains one"]


def _stop_on_signals(stop: Callable[[], None]) -> None:
    """The first Ctrl-C lets what is in flight finish; the second ends at once."""
    loop = asyncio.get_running_loop()
    main = asyncio.current_task()

    def on_signal() -> None:
        say("stopping: finishing what is in flight (press again to stop at once)")
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, lambda: main.cancel() if main else None)
        stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)


def _greeting(run: Run, folder: Path, *, is_resumed: bool) -> str:
    if is_resumed:
        counters = run.counters
        done = count(counters.done, "page")
        return f"going on with run {run.id}: {done} done, {counters.open} to go ({folder})"
    return f"run {run.id} of {run.task_name!r} ({folder})"


def _farewell(run: Run, duration_s: float, written: list[str]) -> str:
    counters = run.counters
    parts = [count(counters.done, "page"), count(counters.items, "item")]
    parts += [
        f"{number} {name}"
        for name, number in (
            ("missing", counters.missing),
            ("failed", counters.failed),
            ("skipped", counters.skipped),
            ("rejected items", counters.rejected),
        )
        if number
    ]
    text = f"{run.state}{f' ({run.reason})' if run.reason else ''}: {', '.join(parts)} in {duration_s:.1f} s"
    if written:
        text += f"\nrows: {', '.join(written)}"
    if run.state == "paused":
        text += "\nrun the same command again to go on"
    return text
