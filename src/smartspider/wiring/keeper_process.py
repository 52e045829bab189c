"""The keeper as a process of its own: `python -m smartspider.wiring.keeper_process DATA`.

Any number of them may run: one leads. It stops in good order on SIGTERM and SIGINT, and when its standard
input closes, because then the process that started it is gone; `--alone` leaves the input out.
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
from smartspider.dedup.url_filter import FilterStack
from smartspider.installation.installation import Installation
from smartspider.installation.settings import read_settings
from smartspider.keeper.duties import build_duties
from smartspider.keeper.frontier.duties import TERM_S as SHORT_TERM_S
from smartspider.keeper.keeper import TERM_S, Keeper
from smartspider.wiring import faults
from smartspider.wiring.dedup import filter_location, open_filters
from smartspider.wiring.deletion import remove_run
from smartspider.wiring.loop import run_process
from smartspider.wiring.opening import open_installation
from smartspider.wiring.parent import stop_on_signals
from smartspider.wiring.redaction import redactor_of


def keeper_command(data: Path) -> list[str]:
    """The command line of a keeper that ends with the process that starts it."""
    return [sys.executable, "-m", "smartspider.wiring.keeper_process", str(data)]


def keeper_of(
    installation: Installation,
    term_s: float | None = None,
    layers: FilterStack = FilterStack(),
) -> Keeper:
    """A keeper that goes by a name nobody else has."""
    owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    delete_run = partial(remove_run, installation, actor=SYSTEM)
    filters = [one for one in (layers.exact, layers.lossy) if one is not None]
    duties = build_duties(installation, delete_run, filters)
    usual_s = SHORT_TERM_S if installation.is_cluster else TERM_S
    return Keeper(owner, installation.leadership, duties, installation.clock, term_s=term_s or usual_s)


async def keep(data: Path, *, with_parent: bool = True, term_s: float | None = None) -> None:
    """Keep house until this process is asked to stop."""
    from smartspider.telemetry.process_log import ProcessLogDestinations, process_log

    settings = read_settings()
    async with open_installation(data, settings, "keeper") as installation:
        places = ProcessLogDestinations(installation.path, installation.logs, settings.log_level)
        async with (
            process_log(places, "keeper", redactor_of(settings)),
            open_filters(
                filter_location(installation, settings, "exact")
            ) as layers,  # also what was made before
        ):
            keeping = asyncio.create_task(keeper_of(installation, term_s, layers).run())
            stop_on_signals(keeping.cancel, with_parent=with_parent)
            with contextlib.suppress(asyncio.CancelledError):
                await keeping


def main() -> int:
    """The command line of a keeper process."""
    parser = argparse.ArgumentParser(prog="python -m smartspider.wiring.keeper_process", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--alone", action="store_true", help="go on when standard input closes")
    parser.add_argument("--term-s", type=float, default=None, help="seconds a term of leading lasts")
    asked = parser.parse_args()
    faults.arm_from_environment()
    return run_process(keep(asked.data, with_parent=not asked.alone, term_s=asked.term_s))


if __name__ == "__main__":
    sys.exit(main())
