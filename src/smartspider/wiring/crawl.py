"""A whole crawl in this process and, when asked, worker processes beside it."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from smartspider.core.events import RunEnded, RunStarted
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import UNFINISHED, Run
from smartspider.engine.supervisor import Supervisor
from smartspider.installation.addresses import address_policy
from smartspider.installation.data_folder import DataFolder
from smartspider.installation.settings import Settings
from smartspider.telemetry.log_files import EventLog
from smartspider.wiring.dedup import drop_run_filter, open_run_dedup
from smartspider.wiring.redaction import redactor_of
from smartspider.wiring.worker import JobFactory, bus_of, run_worker
from smartspider.wiring.worker_process import run_command

LOOK_S = 0.1
"""How often to look whether the workers of a crawl that was killed have let go of a run that is stopping."""

OnReady = Callable[[Callable[[], None]], None]
"""Called with the function that stops the crawl in good order."""


async def crawl_run(
    folder: DataFolder, run: Run, plan: Plan, settings: Settings, *, workers: int, on_ready: OnReady
) -> Run:
    """Work on a run until it is over, paused or stopped; the run as it then stands."""
    is_resumed = run.started_at is not None
    while run.state == "stopping":
        await folder.clock.sleep(LOOK_S)
        run = await _ended(folder, run.id)
    if run.state not in UNFINISHED:
        return run
    run = await folder.store.set_state(run.id, "running", actor=folder.actor)
    log = EventLog(folder.path, f"run-{run.id}", settings.log_level)
    try:
        log(RunStarted(run.id, run.task_name, is_resumed))
        if workers == 1:
            run = await _work_here(folder, run, plan, settings, on_ready)
        else:
            run = await _work_beside(folder, run, workers, on_ready)
        run = await _paused(folder, run.id)
        if plan.urls == "bloom" and run.state not in UNFINISHED:
            await drop_run_filter(folder, run.id)
        log(RunEnded(run.id, run.state, run.reason))
    except asyncio.CancelledError:
        await _paused(folder, run.id)
        raise
    finally:
        log.close()
    return run


async def _ended(folder: DataFolder, run_id: int) -> Run:
    """A run whose workers have left: what they still held is taken back, and the run ends if it may."""
    await folder.frontier.reclaim()
    return await folder.store.finish(run_id)


async def _paused(folder: DataFolder, run_id: int) -> Run:
    """A run that everybody left before it was over waits for the next command."""
    run = await folder.store.get_run(run_id)
    if run.state != "running":
        return run
    return await folder.store.set_state(run_id, "paused", "interrupted", actor=folder.actor)


async def _work_here(folder: DataFolder, run: Run, plan: Plan, settings: Settings, on_ready: OnReady) -> Run:
    redactor = redactor_of(settings)
    log = EventLog(folder.path, f"run-{run.id}-worker-0", settings.log_level, redactor)
    try:
        bus = bus_of(log)
        async with open_run_dedup(plan, folder, settings, bus) as dedup:
            place = JobFactory(folder, settings, bus, redactor=redactor, dedup=dedup)
            worker = run_worker(place, run, plan, address_policy(plan, settings))
            on_ready(worker.stop)
            await worker.run()
    finally:
        log.close()
    return await folder.store.finish(run.id)


async def _work_beside(folder: DataFolder, run: Run, workers: int, on_ready: OnReady) -> Run:
    async with _processes(folder, run, workers) as supervisor:
        on_ready(supervisor.stop)
        await supervisor.run()
    return await _ended(folder, run.id)


@asynccontextmanager
async def _processes(folder: DataFolder, run: Run, workers: int) -> AsyncIterator[Supervisor]:
    """Worker processes that end when this one does: they read from a pipe that nobody else holds open."""
    started: list[Process] = []

    async def spawn(number: int) -> Process:
        process = await asyncio.create_subprocess_exec(
            *run_command(folder.path, run.id, number),
            stdin=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the process that started them, which then stops them
        )
        started.append(process)
        return process

    def on_end(number: int, code: int) -> None:
        if code:
            sys.stderr.write(f"worker {number} died (code {code}); starting another one\n")

    try:
        yield Supervisor(spawn, workers, folder.clock, on_end)
    finally:
        for process in started:
            if process.returncode is None:
                process.kill()
                await process.wait()
