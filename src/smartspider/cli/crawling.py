"""What `crawl` and `demo` do: choose the run, work on it, write the rows, say what came of it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from pathlib import Path

import msgspec

from smartspider.cli.actor import cli_actor
from smartspider.cli.exit_codes import code_of_run
from smartspider.cli.output import count, listed, print_json, say
from smartspider.cli.progress import Progress
from smartspider.cli.receipt import receipt_lines
from smartspider.core.errors import StoreUnavailable
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run
from smartspider.engine.runtime import tune_process
from smartspider.installation.addresses import address_policy
from smartspider.installation.settings import Settings, read_settings
from smartspider.interfaces.output import PLAIN, OutputOptions
from smartspider.services.results.columns import columns_of
from smartspider.services.results.diff import rows_of
from smartspider.services.results.outputs import Written, check_outputs, write_outputs
from smartspider.services.runs.compiled import compile_plan
from smartspider.services.runs.crawl import WRITTEN, choose_run, summarise
from smartspider.taskfile.checks import find_cautions
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.model.task import Task
from smartspider.telemetry.logs import FOLDER as LOGS
from smartspider.wiring import faults
from smartspider.wiring.crawl import crawl_run
from smartspider.installation.data_folder import DataFolder, folder_of, owing, owing_runs, run_lock, task_lock
from smartspider.wiring.folder import open_folder
from smartspider.wiring.left_folder import refuse_moved
from smartspider.wiring.loop import run_loop

SHOWN_FAILURES = 3


class Order(msgspec.Struct, frozen=True):
    """What a person asked for on the command line."""

    outputs: tuple[Path, ...] = ()
    data: Path | None = None
    workers: int = 1
    fresh: bool = False
    options: OutputOptions = PLAIN
    only_changes: bool = False
    as_json: bool = False


def crawl_task(task: Task, order: Order) -> int:
    """Check everything that can be checked, then crawl; the exit code."""
    faults.arm_from_environment()
    plan = compile_task(task)
    compile_plan(plan)
    settings = read_settings()
    address_policy(plan, settings)
    check_outputs(order.outputs, order.options, columns_of(plan))
    tune_process()
    if task.schedule is not None:
        say("note: crawling now; its `schedule` starts runs where a server (`smartspider up`) keeps the task")
    for caution in find_cautions(task):
        say(f"note: {caution.path}: {caution.message}")
    path = folder_of(order.data, plan.name)
    refuse_moved(path)
    with open_folder(path, cli_actor()) as folder:
        return run_loop(_crawl(folder, plan, settings, order))


async def _crawl(folder: DataFolder, plan: Plan, settings: Settings, order: Order) -> int:
    _leave_on_signals()
    with ExitStack() as held:
        held.enter_context(task_lock(folder.path, plan.name))
        owed = owing_runs(folder.path) if order.outputs else ()
        run, is_resumed = await choose_run(
            folder.store, plan, fresh=order.fresh, owing=owed, actor=folder.actor
        )
        held.enter_context(run_lock(folder.path, run.id))
        say(_greeting(run, folder.path, is_resumed=is_resumed))
        for override in plan.overrides:
            say(f"note: {override}")
        started = folder.clock.monotonic()
        with owing(folder.path, run.id) if order.outputs else nullcontext():
            run = await _work(folder, run, plan, settings, order)
            duration_s = folder.clock.monotonic() - started
            written = Written()
            if run.state in WRITTEN:
                rows = rows_of(folder.store, run, plan, only_changes=order.only_changes)
                paths = [path for path in order.outputs if not _is_better(path, run)]
                written = await write_outputs(rows, paths, columns_of(plan), order.options)
        receipt, failures = await _receipt(folder, run, plan), await _failures(folder, run)
    notes = [f"note: {note}" for note in (*written.notes, *_notes(run, order))]
    if order.only_changes and written.files:
        notes.append(f"note: {written.rows} of {count(run.counters.items, 'row')} are new or changed")
    for line in (*receipt, _farewell(run, duration_s, written.files), *notes, *failures):
        say(line)
    if order.as_json:
        print_json(summarise(run, duration_s, written.files))
    return code_of_run(run)


def _is_better(path: Path, run: Run) -> bool:
    """Whether what an earlier run wrote there is worth more than what a failed one without rows would."""
    return run.state == "failed" and not run.counters.items and path.exists()


def _notes(run: Run, order: Order) -> list[str]:
    """What a person should know about a run that gave nothing."""
    if run.counters.items or run.state not in WRITTEN:
        return []
    kept = [str(path) for path in order.outputs if _is_better(path, run)]
    notes = [f"{listed(kept)} stays as it was: the run failed and has no rows"] if kept else []
    if run.state == "completed" and run.counters.done:
        notes.append("no item was found; `smartspider dry-run TASK` shows what the rules match")
    return notes


async def _work(folder: DataFolder, run: Run, plan: Plan, settings: Settings, order: Order) -> Run:
    """The run when it is over, or when somebody has had enough of it."""
    try:
        async with Progress(folder.store, run.id, folder.clock):
            return await crawl_run(
                folder, run, plan, settings, workers=order.workers, on_ready=_stop_on_signals
            )
    except asyncio.CancelledError:
        return await folder.store.get_run(run.id)


async def _receipt(folder: DataFolder, run: Run, plan: Plan) -> list[str]:
    """The politeness receipt; that it cannot be read changes nothing about the run."""
    try:
        return receipt_lines(await folder.store.receipt(run.id), plan)
    except StoreUnavailable as error:
        return [f"note: the politeness receipt cannot be read: {error.message}"]


async def _failures(folder: DataFolder, run: Run) -> list[str]:
    """The first requests that failed, and where to look for the rest."""
    if not run.counters.failed:
        return []
    try:
        failures = await folder.store.failures(run.id, SHOWN_FAILURES)
    except StoreUnavailable as error:
        return [f"note: the failures cannot be read: {error.message}"]
    lines = [
        f"  failed: {failure.url}: {failure.reason}"
        for failure in failures
        if f"{failure.url}: {failure.reason}" not in run.reason
    ]
    more = run.counters.failed - len(failures)
    lines += [f"  and {more} more"] if more > 0 else []
    return [*lines, f"  all failures are in {folder.path / LOGS}; `smartspider why URL` explains one"]


def _leave_on_signals() -> Callable[[], object]:
    """Ctrl-C ends what this task does at once; the function that does it."""
    main = asyncio.current_task()
    assert main is not None  # noqa: S101 - only tasks await
    _on_signals(main.cancel)
    return main.cancel


def _stop_on_signals(stop: Callable[[], None]) -> None:
    """The first Ctrl-C lets what is in flight finish; the second ends at once."""
    leave = _leave_on_signals()

    def on_signal() -> None:
        say("stopping: finishing what is in flight (press again to stop at once)")
        _on_signals(leave)
        stop()

    _on_signals(on_signal)


def _on_signals(act: Callable[[], object]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, act)


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
            ("duplicate items", counters.duplicates),
            ("updated items", counters.updated),
        )
        if number
    ]
    text = f"{run.state}{f' ({run.reason})' if run.reason else ''}: {', '.join(parts)} in {duration_s:.1f} s"
    if written:
        text += f"\nrows: {listed(written)}"
    if run.state == "paused":
        text += "\nrun the same command again to go on"
    return text
