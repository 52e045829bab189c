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
from smartspider.interfaces.seen import Layers
from smartspider.keeper.duties import Estate, duties_of
from smartspider.keeper.frontier.duties import TERM_S as SHORT_TERM_S
from smartspider.keeper.keeper import TERM_S, Keeper
from smartspider.keeper.scaling import Scalable
from smartspider.services.retention import read_retention
from smartspider.wiring import faults
from smartspider.wiring.deleting import forget_run
from smartspider.wiring.known import seen_place
from smartspider.wiring.loop import run_process
from smartspider.wiring.opening import keys_of, open_premises
from smartspider.wiring.parent import stop_on_signals
from smartspider.wiring.posting import post_of
from smartspider.wiring.premises import Premises
from smartspider.wiring.redaction import redactor_of
from smartspider.wiring.scaling_settings import aims_of
from smartspider.wiring.seen import open_layers
from smartspider.wiring.settings import Settings, read_settings
from smartspider.wiring.timetable import timetable_of


def keeper_command(data: Path) -> list[str]:
    """The command line of a keeper that ends with the process that starts it."""
    return [sys.executable, "-m", "smartspider.wiring.keeper_process", str(data)]


def estate_of(premises: Premises, settings: Settings, layers: Layers = Layers()) -> Estate:
    """What a keeper looks after, on an installation."""
    keys = keys_of(premises, settings)
    return Estate(
        path=premises.path,
        store=premises.store,
        frontier=premises.frontier,
        replay=premises.replay,
        events=premises.events,
        logs=premises.logs,
        users=premises.users,
        answers=premises.answers,
        notices=premises.notices,
        workers=premises.workers,
        clock=premises.clock,
        table=timetable_of(premises, settings),
        post=post_of(settings, keys, premises.clock),
        kept=read_retention(settings.keep_logs, settings.keep_runs, settings.keep_events),
        forget_run=partial(forget_run, premises, actor=SYSTEM),
        store_now=premises.leadership.now,
        check_room=premises.check_room,
        scalable=_scalable(premises, settings),
        apart=premises.apart,
        layers=tuple(layer for layer in (layers.exact, layers.lossy) if layer is not None),
        epoch=premises.seen_rows.epoch if premises.is_cluster else None,
    )


def _scalable(premises: Premises, settings: Settings) -> Scalable:
    return Scalable(
        premises.scaling, premises.demand, premises.workers, premises.leadership.now, aims_of(settings)
    )


def keeper_of(
    premises: Premises, settings: Settings, term_s: float | None = None, layers: Layers = Layers()
) -> Keeper:
    """A keeper that goes by a name nobody else has."""
    owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    duties = duties_of(estate_of(premises, settings, layers))
    usual_s = SHORT_TERM_S if premises.is_cluster else TERM_S
    return Keeper(owner, premises.leadership, duties, premises.clock, term_s=term_s or usual_s)


async def keep(data: Path, *, with_parent: bool = True, term_s: float | None = None) -> None:
    """Keep house until this process is asked to stop."""
    from smartspider.telemetry.process_log import ProcessPlaces, process_log

    settings = read_settings()
    async with open_premises(data, settings, "keeper") as premises:
        places = ProcessPlaces(premises.path, premises.logs, settings.log_level)
        async with (
            process_log(places, "keeper", redactor_of(settings)),
            open_layers(seen_place(premises, settings, "exact")) as layers,  # also what was made before
        ):
            keeping = asyncio.create_task(keeper_of(premises, settings, term_s, layers).run())
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
