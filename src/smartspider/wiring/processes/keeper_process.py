"""A keeper process: `python -m smartspider.wiring.processes.keeper_process DATA`.

Any number may run; one of them leads. It stops gracefully on SIGTERM and SIGINT, and when its standard input
closes, which means that its parent process is gone; with `--alone` it ignores standard input.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import secrets
import socket
import sys
from functools import partial
from pathlib import Path

from smartspider.core.tasks import SYSTEM
from smartspider.engine.loop_tick import ticking
from smartspider.installation.installation import Installation
from smartspider.installation.settings import build_redactor, read_settings
from smartspider.keeper.duties import TERM_S as SHORT_TERM_S
from smartspider.keeper.duties import build_duties
from smartspider.keeper.keeper import TERM_S, Keeper
from smartspider.wiring import fault_injection
from smartspider.wiring.cookie_check import check_set
from smartspider.wiring.deletion import remove_run
from smartspider.wiring.opening import open_installation
from smartspider.wiring.processes.lifecycle import become_child, run_process, stop_on_signals


def keeper_command(data: Path) -> list[str]:
    """Return the command line of a keeper that stops with its parent process."""
    return [sys.executable, "-m", "smartspider.wiring.processes.keeper_process", str(data)]


def build_keeper(installation: Installation, term_s: float | None = None) -> Keeper:
    """Build a keeper with a unique name."""
    owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    delete_run = partial(remove_run, installation, actor=SYSTEM)
    duties = build_duties(installation, delete_run, partial(check_set, installation))
    default_s = SHORT_TERM_S if installation.is_cluster else TERM_S
    return Keeper(owner, installation.leadership, duties, installation.clock, term_s=term_s or default_s)


async def run_keeper(data: Path, *, with_parent: bool = True, term_s: float | None = None) -> None:
    """Run a keeper until this process is stopped."""
    from smartspider.telemetry.process_log import ProcessLogDestinations, process_log

    settings = read_settings()
    async with open_installation(data, settings, "keeper") as installation:
        destinations = ProcessLogDestinations(installation.path, installation.logs, settings.log_level)
        async with process_log(destinations, "keeper", build_redactor(settings)):
            task = asyncio.create_task(build_keeper(installation, term_s).run())
            stop_on_signals(task.cancel, with_parent=with_parent)
            with contextlib.suppress(asyncio.CancelledError), ticking():
                await task


def main() -> int:
    """Run the command line of a keeper process."""
    parser = argparse.ArgumentParser(
        prog="python -m smartspider.wiring.processes.keeper_process", description=__doc__
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--alone", action="store_true", help="continue when standard input closes")
    parser.add_argument("--term-s", type=float, default=None, help="seconds a term of leadership lasts")
    args = parser.parse_args()
    if not args.alone:
        become_child()
    fault_injection.arm_from_environment()
    return run_process(run_keeper(args.data, with_parent=not args.alone, term_s=args.term_s))


if __name__ == "__main__":
    sys.exit(main())
