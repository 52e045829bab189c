"""Crawl a task in a data folder: choose the run, crawl it, write the rows, print a report."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Collection
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path

import msgspec

from smartspider.cli.crawl import report
from smartspider.cli.crawl.fetch_options import print_gates_note
from smartspider.cli.crawl.kept_files import empty_run_notes, kept_files
from smartspider.cli.exit_codes import code_of_state
from smartspider.cli.own_functions import expect_functions
from smartspider.cli.runs.left_out import is_whole, lost_lines
from smartspider.cli.runs.progress import ProgressDisplay
from smartspider.cli.target import cli_actor
from smartspider.cli.terminal.output import print_json, print_message
from smartspider.cli.terminal.stages import shown_stages
from smartspider.cli.terminal.streams import printed_log_level, separate_results
from smartspider.core.plurals import count
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run
from smartspider.engine.runtime import tune_process
from smartspider.fetch.layers import compile_layers
from smartspider.installation.data_folder import (
    DataFolder,
    folder_of,
    pending_output,
    run_lock,
    runs_with_pending_output,
    task_lock,
)
from smartspider.installation.settings import Settings, read_settings
from smartspider.interfaces.output import PLAIN, OutputOptions
from smartspider.interfaces.secret_source import OWN_COMMAND
from smartspider.services.identities.cookies import check_cookies
from smartspider.services.identities.proxies import check_pools
from smartspider.services.plans import compile_plan, plan_columns
from smartspider.services.results.columns import stored_columns
from smartspider.services.results.diff import rows_of
from smartspider.services.results.outputs import Written, check_outputs, write_outputs
from smartspider.services.runs.choose_run import OUTPUT_STATES, choose_run, summarize
from smartspider.services.secrets import read_secrets
from smartspider.store.results.files import FileTotals
from smartspider.taskfile.checks import find_cautions
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.model.task import Task
from smartspider.wiring import fault_injection
from smartspider.wiring.crawl_run import crawl_run
from smartspider.wiring.opening import check_folder_not_moved, open_folder
from smartspider.wiring.processes.guard import Restart, guarded
from smartspider.wiring.processes.lifecycle import run_loop
from smartspider.wiring.processes.losses import Supervision


class CrawlOptions(msgspec.Struct, frozen=True):
    """Options of one `crawl` command."""

    outputs: tuple[Path, ...] = ()
    data: Path | None = None
    workers: int = 1
    fresh: bool = False
    output_options: OutputOptions = PLAIN
    only_changes: bool = False
    allow_empty: bool = False
    as_json: bool = False
    is_guarded: bool = False
    """Crawl in a child process, and resume the run in another one if a page makes that unresponsive."""


def crawl_task(task: Task, options: CrawlOptions) -> int:
    """Check the task and the outputs, crawl the task, and return the exit code."""
    fault_injection.arm_from_environment()
    with shown_stages() as show:
        show(f"preparing {task.name}")
        plan = compile_task(task)
        if not plan.runs_functions:
            _check(plan, options)
    settings = read_settings()
    path = folder_of(options.data, plan.name)
    check_folder_not_moved(path)
    restart = _in_child(plan, path, settings, options)
    if restart is not None:
        options = msgspec.structs.replace(options, fresh=False)
    if plan.runs_functions:  # in the child: their module may start threads, or end the process
        with shown_stages() as show:
            show(f"preparing {task.name}")
            _check(plan, options)
    tune_process()
    if restart is None:
        _print_notes(task)
    with open_folder(path, cli_actor(), settings) as folder:
        return run_loop(_crawl(folder, plan, options, restart))


def _check(plan: Plan, options: CrawlOptions) -> None:
    """Compile the rules and check the outputs, before anything is written."""
    compile_plan(plan, is_local=True)
    check_outputs(options.outputs, options.output_options, plan_columns(plan))


def _in_child(plan: Plan, path: Path, settings: Settings, options: CrawlOptions) -> Restart | None:
    """Continue in a child process if a supervisor should watch this one; return why it replaces another."""
    if not options.is_guarded:
        return None
    if options.workers > 1:
        if plan.runs_functions:
            expect_functions()
        return None
    if plan.runs_functions:
        separate_results()
    return guarded(Supervision(path, settings), "the worker", print_message)


def _print_notes(task: Task) -> None:
    if task.schedule is not None:
        print_message(
            "note: crawling now; the task's `schedule` takes effect on a server (`smartspider up`) where the"
            " task is saved"
        )
    for caution in find_cautions(task):
        print_message(f"note: {caution.path}: {caution.message}")
    print_gates_note()


async def _crawl(folder: DataFolder, plan: Plan, options: CrawlOptions, restart: Restart | None) -> int:
    _cancel_on_signals()
    # A missing secret, or one that is no key for its layer, is reported before a run is created.
    secrets = await read_secrets(folder.secrets, plan, OWN_COMMAND)
    compile_layers(plan.layers, plan.pages, secrets, plan.trust if plan.layers else None)
    await check_pools(folder, plan, is_local=True)
    await check_cookies(folder, plan, is_local=True)
    with ExitStack() as locks:
        locks.enter_context(task_lock(folder.path, plan.name))
        pending = runs_with_pending_output(folder.path) if options.outputs else ()
        with shown_stages() as show:
            show(f"storing {count(len(plan.entries), 'entry URL')}")
            if restart is not None and restart.run_id:
                run, is_resumed = await folder.store.get_run(restart.run_id), True
            else:
                run, is_resumed = await choose_run(
                    folder.store, plan, fresh=options.fresh, pending_output=pending, actor=folder.actor
                )
        locks.enter_context(run_lock(folder.path, run.id))
        started = folder.clock.monotonic() if restart is None else restart.started_at
        is_stopping = restart is not None and restart.is_stopping
        if restart is None:
            print_message(report.start_line(run, folder.path, is_resumed=is_resumed))
            for override in plan.overrides:
                print_message(f"note: {override}")
        with pending_output(folder.path, run.id) if options.outputs else nullcontext():
            run = await _crawl_run(folder, run, plan, options, is_stopping=is_stopping)
            duration_s = folder.clock.monotonic() - started
            kept = kept_files(options.outputs, run, allows_empty=options.allow_empty or options.only_changes)
            written = await _write_rows(folder, run, plan, options, kept)
        politeness = await report.politeness_lines(folder.store, run, plan)
        left_out, left_out_lines = await report.read_left_out(folder, run)
        failures = await report.failure_lines(folder, run, {one.url for one in left_out.lost_next_pages})
        totals = await folder.store.file_totals(run.id) if plan.downloads else FileTotals()
        about_values = await report.value_lines(folder, run, plan)
    notes = [f"note: {note}" for note in (*written.notes, *empty_run_notes(run, kept))] + about_values
    if options.only_changes and written.files:
        notes.append(f"note: {written.rows} of {count(run.counters.items, 'row')} are new or changed")
    end = report.end_lines(run, duration_s, written.files)
    downloaded = report.file_lines(totals, folder.files_path) if plan.downloads else []
    summary = summarize(run, duration_s, written.files, left_out)
    for line in (*politeness, end, *downloaded, *left_out_lines, *lost_lines(summary), *notes, *failures):
        print_message(line)
    if options.as_json:
        print_json(summary)
    return code_of_state(run.state, run.reason, is_whole=is_whole(summary, summary.failed))


async def _crawl_run(
    folder: DataFolder, run: Run, plan: Plan, options: CrawlOptions, *, is_stopping: bool
) -> Run:
    """Crawl a run until it ends or the user interrupts it (`is_stopping`: has done so), and return it."""
    progress = ProgressDisplay(
        folder.store, run.id, folder.clock, explain=lambda: _why_stalled(folder, run.id)
    )
    try:
        async with progress:
            return await crawl_run(
                folder,
                run,
                plan,
                workers=options.workers,
                on_ready=partial(_stop_on_signals, is_stopping=is_stopping),
                shown_level=printed_log_level(),
            )
    except asyncio.CancelledError:
        return await folder.store.get_run(run.id)


async def _why_stalled(folder: DataFolder, run_id: int) -> str:
    from smartspider.services.runs.stall import explain_stall

    found = await explain_stall(folder, run_id)
    return " ".join([found.summary, *(f"To go on: {one.advice}." for one in found.causes[:1])])


async def _write_rows(
    folder: DataFolder, run: Run, plan: Plan, options: CrawlOptions, kept: Collection[Path]
) -> Written:
    """Write the output files of a finished run."""
    if run.state not in OUTPUT_STATES:
        return Written()
    rows = rows_of(folder.store, run, plan, only_changes=options.only_changes)
    paths = tuple(path for path in options.outputs if path not in kept)
    columns = await stored_columns(folder.store, run.id, plan) if paths else ()
    return await write_outputs(rows, paths, columns, options.output_options)


def _cancel_on_signals() -> Callable[[], object]:
    """Cancel the current task on SIGINT and SIGTERM; return the function that cancels it."""
    main = asyncio.current_task()
    assert main is not None  # noqa: S101 - only tasks await
    _on_signals(main.cancel)
    return main.cancel


def _stop_on_signals(stop: Callable[[], None], *, is_stopping: bool) -> None:
    """Finish the requests in flight on the first Ctrl-C; exit at once on the second. With `is_stopping` the
    first one was received before.
    """
    cancel = _cancel_on_signals()

    def on_signal() -> None:
        print_message("stopping: waiting for requests in flight (press Ctrl-C again to exit immediately)")
        _on_signals(cancel)
        stop()

    _on_signals(on_signal)
    if is_stopping:
        stop()


def _on_signals(act: Callable[[], object]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, act)
