"""A worker process: `python -m smartspider.wiring.processes.worker_process DATA NUMBER`.

With `--run RUN` it works on one run and exits when that ends; with `--slots N` it is a fleet worker of a
server and works on all runs. It stops gracefully on SIGTERM and SIGINT, and when its standard input closes,
which means that its parent process is gone.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import socket
import sys
from pathlib import Path

import msgspec

from smartspider.backends.sqlite.database import FILE
from smartspider.core.errors import StoreUnavailable
from smartspider.core.logs import LEVELS
from smartspider.engine.context import DRAIN_S, RENEW_S, WorkerOptions
from smartspider.engine.outage import OutageRetry
from smartspider.engine.runtime import end_process, tune_process
from smartspider.engine.worker import Worker
from smartspider.installation.installation import Installation
from smartspider.installation.settings import build_redactor, read_settings
from smartspider.services.plans import run_plan
from smartspider.telemetry.subscribers import LogDestinations, worker_subscribers
from smartspider.wiring import fault_injection
from smartspider.wiring.crawl_log import CrawlLog
from smartspider.wiring.dedup import process_dedup
from smartspider.wiring.opening import open_folder, open_installation
from smartspider.wiring.processes.lifecycle import become_child, run_process, stop_on_signals
from smartspider.wiring.worker import JobFactory, build_bus, fleet_worker, run_worker


def run_command(log: CrawlLog, number: int) -> list[str]:
    """Return the command line of a worker for one run."""
    shown = [] if log.shown_level is None else ["--show-logs", log.shown_level]
    return [*_command(log.folder.path, number), "--run", str(log.run_id), *shown]


def fleet_command(
    data: Path, number: int, slots: int, drain_s: float | None = None, *, driver: int | None = None
) -> list[str]:
    """Return the command line of a fleet worker with at most `slots` requests in flight."""
    drain = [] if drain_s is None else ["--drain-s", str(drain_s)]
    driven_by = [] if driver is None else ["--driver", str(driver)]
    return [*_command(data, number), "--slots", str(slots), *drain, *driven_by]


def _command(data: Path, number: int) -> list[str]:
    return [sys.executable, "-m", "smartspider.wiring.processes.worker_process", str(data), str(number)]


async def run_single_run_worker(data: Path, run_id: int, number: int, shown_level: str | None) -> None:
    """Work on a run until it ends or this process is stopped."""
    if not (data / FILE).exists():  # it would be created again
        raise StoreUnavailable(f"the data folder {data} was removed", hint="run the same command again")
    settings = read_settings()
    redactor = build_redactor(settings)
    with open_folder(data, settings=settings) as folder:
        log = CrawlLog(folder, run_id, shown_level)
        run = await folder.store.get_run(run_id)
        plan = run_plan(run)
        async with log.open(f"worker-{number}", redactor) as subscribers:
            bus = build_bus(*subscribers)
            factory = JobFactory(folder, bus, redactor=redactor, is_local=True)
            worker = run_worker(factory, run, plan, folder.policy_for(plan), number=number)
            stop_on_signals(worker.stop, with_parent=True)
            await worker.run()


class FleetWorkerOptions(msgspec.Struct, frozen=True):
    """The options of a fleet worker process."""

    data: Path
    number: int
    slots: int
    with_parent: bool = True
    """Stop when the parent process ends."""
    drain_s: float | None = None
    """Time to finish requests in flight when it is stopped."""
    driver: int | None = None
    """Process id of the driver that scales this worker, if any."""


async def run_fleet_worker(process: FleetWorkerOptions) -> None:
    """Work on all runs until this process is stopped."""
    settings = read_settings()
    redactor = build_redactor(settings)
    async with open_installation(process.data, settings, "worker") as installation:
        destinations = LogDestinations(
            installation.path, installation.logs, settings.log_level, installation.metrics
        )
        async with worker_subscribers(destinations, _name(process, installation), redactor) as subscribers:
            bus = build_bus(*subscribers)
            outage = (
                OutageRetry(installation.clock, bus, is_enabled=True) if installation.is_cluster else None
            )
            options = WorkerOptions(
                drain_s=DRAIN_S if process.drain_s is None else process.drain_s,
                renew_s=fault_injection.renew_s() or RENEW_S,
                reclaims=not installation.is_cluster,
                leases_ahead=installation.is_cluster,
            )
            dedup = process_dedup(installation, bus)
            factory = JobFactory(installation, bus, redactor=redactor, outage=outage, dedup=dedup)
            worker = fleet_worker(
                factory, number=process.number, slots=process.slots, options=options, driver=process.driver
            )
            await _run_until_stopped(worker, with_parent=process.with_parent)


def _name(process: FleetWorkerOptions, installation: Installation) -> str:
    """Return the name for logs: on a cluster, worker numbers are not unique."""
    return f"{socket.gethostname()}-{os.getpid()}" if installation.is_cluster else f"worker-{process.number}"


async def _run_until_stopped(worker: Worker, *, with_parent: bool) -> None:
    """Run the worker; the first signal drains it, the second cancels it."""
    working = asyncio.create_task(worker.run())
    is_stopping = False

    def stop() -> None:
        nonlocal is_stopping
        if is_stopping:
            working.cancel()
        is_stopping = True
        worker.stop()

    stop_on_signals(stop, with_parent=with_parent)
    with contextlib.suppress(asyncio.CancelledError):
        await working


def main() -> int:
    """Run the command line of a worker process."""
    parser = argparse.ArgumentParser(
        prog="python -m smartspider.wiring.processes.worker_process", description=__doc__
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("number", type=int)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--run", type=int, metavar="RUN")
    kind.add_argument("--slots", type=int, metavar="N")
    parser.add_argument("--show-logs", choices=LEVELS, help="print log lines of this level as text")
    parser.add_argument("--drain-s", type=float, help="seconds to finish requests in flight when stopped")
    parser.add_argument("--driver", type=int, metavar="PID", help="process that scales this worker")
    args = parser.parse_args()
    become_child()
    fault_injection.arm_from_environment()
    tune_process()
    if args.slots is None:
        return run_process(run_single_run_worker(args.data, args.run, args.number, args.show_logs))
    options = FleetWorkerOptions(args.data, args.number, args.slots, drain_s=args.drain_s, driver=args.driver)
    return run_process(run_fleet_worker(options))


if __name__ == "__main__":
    end_process(main())
