"""A worker as a process of its own: `python -m smartspider.wiring.worker_process DATA RUN NUMBER`.

It stops in good order on SIGTERM and SIGINT, and when its standard input closes, because then the process
that started it is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

from smartspider.core.errors import SmartSpiderError, StoreUnavailable
from smartspider.engine.memory import tune_process
from smartspider.engine.supervisor import STORE_UNAVAILABLE
from smartspider.engine.worker import Worker
from smartspider.wiring import faults
from smartspider.wiring.folder import open_folder
from smartspider.wiring.loop import run_loop
from smartspider.wiring.plans import plan_of
from smartspider.wiring.settings import read_settings
from smartspider.wiring.worker import open_worker


async def work(data: Path, run_id: int, number: int) -> None:
    """Work on a run until it is over or this process is asked to stop."""
    with open_folder(data) as folder:
        run = await folder.store.get_run(run_id)
        async with open_worker(folder, run, plan_of(run), read_settings(), number=number) as worker:
            _stop_on_signals(worker)
            await worker.run()


def _stop_on_signals(worker: Worker) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, worker.stop)

    def on_input() -> None:
        if not os.read(sys.stdin.fileno(), 1024):
            loop.remove_reader(sys.stdin.fileno())
            worker.stop()

    loop.add_reader(sys.stdin.fileno(), on_input)


def main() -> int:
    """The command line of a worker process."""
    data, run_id, number = sys.argv[1:4]
    faults.arm_from_environment()
    tune_process()
    try:
        run_loop(work(Path(data), int(run_id), int(number)))
    except SmartSpiderError as error:
        with contextlib.suppress(OSError):  # nobody may be there to read it
            sys.stderr.write(f"{error.message}\n")
        return STORE_UNAVAILABLE if isinstance(error, StoreUnavailable) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
