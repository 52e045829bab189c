"""A worker as a process of its own.

`python -m smartspider.wiring.worker_process DATA NUMBER --run RUN` works on one run and leaves when that is
over; with `--slots N` instead it is one of a server's workers and takes up whatever there is. It stops in
good order on SIGTERM and SIGINT, and when its standard input closes, because then the process that started
it is gone.
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

from smartspider.engine.context import WorkerOptions
from smartspider.engine.outage import OutageRetry
from smartspider.engine.runtime import tune_process
from smartspider.engine.worker import Worker
from smartspider.installation.addresses import address_policy
from smartspider.installation.installation import Installation
from smartspider.installation.settings import read_settings
from smartspider.services.runs.plans import plan_of
from smartspider.telemetry.log_files import EventLog
from smartspider.telemetry.subscribers import LogDestinations, worker_subscribers
from smartspider.wiring import faults
from smartspider.wiring.dedup import open_dedup, open_run_dedup
from smartspider.wiring.folder import open_folder
from smartspider.wiring.loop import run_process
from smartspider.wiring.opening import open_installation
from smartspider.wiring.parent import stop_on_signals
from smartspider.wiring.redaction import redactor_of
from smartspider.wiring.worker import JobFactory, bus_of, fleet_worker, run_worker


def run_command(data: Path, run_id: int, number: int) -> list[str]:
    """The command line of a worker that works on one run."""
    return [*_command(data, number), "--run", str(run_id)]


def fleet_command(
    data: Path, number: int, slots: int, drain_s: float | None = None, *, driver: int | None = None
) -> list[str]:
    """The command line of a worker that works on all runs, with so many requests in flight at most."""
    drains = [] if drain_s is None else ["--drain-s", str(drain_s)]
    driven = [] if driver is None else ["--driver", str(driver)]
    return [*_command(data, number), "--slots", str(slots), *drains, *driven]


def _command(data: Path, number: int) -> list[str]:
    return [sys.executable, "-m", "smartspider.wiring.worker_process", str(data), str(number)]


async def work_on(data: Path, run_id: int, number: int) -> None:
    """Work on a run until it is over or this process is asked to stop."""
    settings = read_settings()
    redactor = redactor_of(settings)
    with (
        open_folder(data) as folder,
        contextlib.closing(
            EventLog(folder.path, f"run-{run_id}-worker-{number}", settings.log_level, redactor)
        ) as log,
    ):
        run = await folder.store.get_run(run_id)
        plan, bus = plan_of(run), bus_of(log)
        async with open_run_dedup(plan, folder, settings, bus) as dedup:
            place = JobFactory(folder, settings, bus, redactor=redactor, dedup=dedup)
            worker = run_worker(place, run, plan, address_policy(plan, settings), number=number)
            stop_on_signals(worker.stop, with_parent=True)
            await worker.run()


class Place(msgspec.Struct, frozen=True):
    """Which of a server's workers this is, and how it is at work."""

    data: Path
    number: int
    slots: int
    with_parent: bool = True
    """Whether it ends with the process that started it."""
    drain_s: float | None = None
    """How long it finishes what it holds when it is asked to leave."""
    driver: int | None = None
    """The process that started it because there is much to do."""


async def work_on_all(place: Place) -> None:
    """Work on whatever there is until this process is asked to stop."""
    settings = read_settings()
    redactor = redactor_of(settings)
    async with open_installation(place.data, settings, "worker") as installation:
        places = LogDestinations(
            installation.path, installation.logs, installation.metrics, settings.log_level
        )
        async with worker_subscribers(places, _name(place, installation), redactor) as subscribers:
            bus = bus_of(*subscribers)
            outage = (
                OutageRetry(installation.clock, bus, is_enabled=True) if installation.is_cluster else None
            )
            options = WorkerOptions(
                place.drain_s,
                faults.renew_s(),
                reclaims=not installation.is_cluster,
                is_placed=faults.is_placed(),
                leases_ahead=installation.is_cluster,
            )
            async with open_dedup(installation, settings, bus) as dedup:
                workplace = JobFactory(
                    installation, settings, bus, redactor=redactor, outage=outage, dedup=dedup
                )
                worker = fleet_worker(
                    workplace, number=place.number, slots=place.slots, options=options, driver=place.driver
                )
                await _until_left(worker, with_parent=place.with_parent)


def _name(place: Place, installation: Installation) -> str:
    """In logs: on a cluster with the machine, where numbers alone mean nothing."""
    return f"{socket.gethostname()}-{os.getpid()}" if installation.is_cluster else f"worker-{place.number}"


async def _until_left(worker: Worker, *, with_parent: bool) -> None:
    """The first signal lets what is in flight finish; the second ends it at once."""
    working = asyncio.create_task(worker.run())
    is_asked = False

    def stop() -> None:
        nonlocal is_asked
        if is_asked:
            working.cancel()
        is_asked = True
        worker.stop()

    stop_on_signals(stop, with_parent=with_parent)
    with contextlib.suppress(asyncio.CancelledError):
        await working


def main() -> int:
    """The command line of a worker process."""
    parser = argparse.ArgumentParser(prog="python -m smartspider.wiring.worker_process", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("number", type=int)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--run", type=int, metavar="RUN")
    kind.add_argument("--slots", type=int, metavar="N")
    parser.add_argument("--drain-s", type=float, help="seconds to finish in, when asked to leave")
    parser.add_argument("--driver", type=int, metavar="PID", help="who starts and drains it as needed")
    asked = parser.parse_args()
    faults.arm_from_environment()
    tune_process()
    if asked.slots is None:
        return run_process(work_on(asked.data, asked.run, asked.number))
    place = Place(asked.data, asked.number, asked.slots, drain_s=asked.drain_s, driver=asked.driver)
    return run_process(work_on_all(place))


if __name__ == "__main__":
    sys.exit(main())
