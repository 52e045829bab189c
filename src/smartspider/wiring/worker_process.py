"""A worker as a process of its own.

`python -m smartspider.wiring.worker_process DATA NUMBER --run RUN` works on one run and leaves when that is
over; with `--slots N` instead it is one of a server's workers and takes up whatever there is. It stops in
good order on SIGTERM and SIGINT, and when its standard input closes, because then the process that started
it is gone.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

from smartspider.engine.memory import tune_process
from smartspider.telemetry.logs import EventLog
from smartspider.telemetry.subscribers import Places, worker_subscribers
from smartspider.wiring import faults
from smartspider.wiring.addresses import address_policy
from smartspider.wiring.folder import open_folder
from smartspider.wiring.loop import run_process
from smartspider.wiring.parent import stop_on_signals
from smartspider.wiring.plans import plan_of
from smartspider.wiring.redaction import redactor_of
from smartspider.wiring.settings import read_settings
from smartspider.wiring.worker import Workplace, bus_of, fleet_worker, run_worker


def run_command(data: Path, run_id: int, number: int) -> list[str]:
    """The command line of a worker that works on one run."""
    return [*_command(data, number), "--run", str(run_id)]


def fleet_command(data: Path, number: int, slots: int) -> list[str]:
    """The command line of a worker that works on all runs, with so many requests in flight at most."""
    return [*_command(data, number), "--slots", str(slots)]


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
        plan = plan_of(run)
        place = Workplace(folder, settings, bus_of(log), redactor=redactor)
        worker = run_worker(place, run, plan, address_policy(plan, settings), number=number)
        stop_on_signals(worker.stop, with_parent=True)
        await worker.run()


async def work_on_all(data: Path, number: int, slots: int, *, with_parent: bool = True) -> None:
    """Work on whatever there is until this process is asked to stop."""
    settings = read_settings()
    redactor = redactor_of(settings)
    with open_folder(data) as folder:
        places = Places(folder.path, folder.logs, folder.metrics, settings.log_level)
        async with worker_subscribers(places, f"worker-{number}", redactor) as subscribers:
            place = Workplace(folder, settings, bus_of(*subscribers), redactor=redactor)
            worker = fleet_worker(place, number=number, slots=slots)
            stop_on_signals(worker.stop, with_parent=with_parent)
            await worker.run()


def main() -> int:
    """The command line of a worker process."""
    parser = argparse.ArgumentParser(prog="python -m smartspider.wiring.worker_process", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("number", type=int)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--run", type=int, metavar="RUN")
    kind.add_argument("--slots", type=int, metavar="N")
    asked = parser.parse_args()
    faults.arm_from_environment()
    tune_process()
    if asked.slots is None:
        return run_process(work_on(asked.data, asked.run, asked.number))
    return run_process(work_on_all(asked.data, asked.number, asked.slots))


if __name__ == "__main__":
    sys.exit(main())
