"""Crawl a run in this process or in worker processes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from smartspider.core.errors import StoreUnavailable, WorkerVanished
from smartspider.core.events import RunEnded, RunStarted
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import UNFINISHED, Run
from smartspider.core.workers.activity import ActivityRecord
from smartspider.engine.supervisor import Supervisor
from smartspider.installation.data_folder import DataFolder
from smartspider.installation.settings import build_redactor
from smartspider.wiring.crawl_log import CrawlLog
from smartspider.wiring.processes.losses import Supervision, fail_vanished
from smartspider.wiring.processes.watcher import VANISHED, WatchedProcess, Watcher
from smartspider.wiring.processes.worker_process import run_command
from smartspider.wiring.worker import JobFactory, build_bus, run_worker

STOP_TIMEOUT_S = 15.0
"""Time for workers to stop before they are killed; a worker needs up to eight seconds."""
STDERR = 2
POLL_S = 0.1
"""Interval of the check whether the workers of a killed crawl have released a stopping run."""

OnReady = Callable[[Callable[[], None]], None]
"""Called with the function that stops the crawl gracefully."""


async def crawl_run(
    folder: DataFolder,
    run: Run,
    plan: Plan,
    *,
    workers: int,
    on_ready: OnReady,
    shown_level: str | None = None,
) -> Run:
    """Crawl a run until it ends, is paused or is stopped; return it. Log lines of `shown_level` are printed
    to standard error.
    """
    is_resumed = run.started_at is not None
    while run.state == "stopping":
        await folder.clock.sleep(POLL_S)
        run = await _finish(folder, run.id)
    if run.state not in UNFINISHED:
        return run
    run = await folder.store.set_state(run.id, "running", actor=folder.actor)
    log = CrawlLog(folder, run.id, shown_level)
    async with log.trimmed():
        try:
            await log.record(RunStarted(run.id, run.task_name, is_resumed))
            if workers == 1:
                run = await _crawl_in_process(log, run, plan, on_ready)
            else:
                run = await _crawl_with_processes(log, run, workers, on_ready)
        except asyncio.CancelledError:
            run = await _pause_if_running(folder, run.id)
            await log.record(RunEnded(run.id, run.state, run.reason))
            raise
        run = await _pause_if_running(folder, run.id)
        await log.record(RunEnded(run.id, run.state, run.reason))
    return run


async def _finish(folder: DataFolder, run_id: int) -> Run:
    """Reclaim the leases of workers that exited, and finish the run if nothing is open."""
    await folder.frontier.reclaim()
    return await folder.store.finish(run_id)


async def _pause_if_running(folder: DataFolder, run_id: int) -> Run:
    """Pause a run that was interrupted, for the next command to resume."""
    run = await folder.store.get_run(run_id)
    if run.state != "running":
        return run
    return await folder.store.set_state(run_id, "paused", "interrupted", actor=folder.actor)


async def _crawl_in_process(log: CrawlLog, run: Run, plan: Plan, on_ready: OnReady) -> Run:
    folder = log.folder
    redactor = build_redactor(folder.settings)
    async with log.open("worker-0", redactor) as subscribers:
        bus = build_bus(*subscribers)
        factory = JobFactory(folder, bus, redactor=redactor, is_local=True)
        worker = run_worker(factory, run, plan, folder.policy_for(plan))
        on_ready(worker.stop)
        await worker.run()
    return await folder.store.finish(run.id)


async def _crawl_with_processes(log: CrawlLog, run: Run, workers: int, on_ready: OnReady) -> Run:
    folder = log.folder
    vanished: list[tuple[ActivityRecord, str]] = []
    async with _processes(log, workers, vanished.append) as (supervisor, stop):
        on_ready(stop)
        try:
            await supervisor.run()
        except WorkerVanished:
            _print_line(await fail_vanished(folder, *vanished[0]))
        except StoreUnavailable:
            await folder.store.get_run(run.id)  # raises the reason if it concerns this process too
            raise
    return await _finish(folder, run.id)


@asynccontextmanager
async def _processes(
    log: CrawlLog, workers: int, on_vanished: Callable[[tuple[ActivityRecord, str]], None]
) -> AsyncIterator[tuple[Supervisor, Callable[[], None]]]:
    """Supervise and watch worker processes; none outlives the block. `on_vanished` is told what a process did
    last that exited without an orderly end, and its name.
    """
    watcher = Watcher(Supervision(log.folder.path, log.folder.settings), _print_line, has_neighbours=False)

    async def spawn(number: int) -> WatchedProcess:
        # What plug-ins print is no result.
        command = run_command(log, number)
        return await watcher.spawn(number, f"worker {number}", command, stdout=STDERR)

    def on_end(number: int, code: int) -> None:
        if code == VANISHED:
            name = f"worker {number}"
            on_vanished((watcher.last_activity(number), name))
            raise WorkerVanished(f"{name} exited by itself")
        if code:
            _print_line(f"worker {number} died (code {code}); starting another one")

    supervisor = Supervisor(spawn, workers, log.folder.clock, on_end, is_replaced=watcher.is_replaced)

    def stop() -> None:
        supervisor.stop()
        watcher.stop(STOP_TIMEOUT_S)

    async with watcher.watching():
        yield supervisor, stop


def _print_line(text: str) -> None:
    sys.stderr.write(f"{text}\n")
