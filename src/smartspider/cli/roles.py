"""`api`, `worker`, `keeper`: the processes of a server or a cluster, one by one, each in the foreground."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from smartspider.cli.spans import SpanType

if TYPE_CHECKING:
    from smartspider.core.workers.worker import WorkerRange

DRAIN_S = 60.0
"""How long a worker finishes what it holds when it is asked to leave: longer than any request takes."""
PATIENCE_S = DRAIN_S + 15.0

NO_FOLDER = (
    "start `smartspider api` or `smartspider up` first, in the same folder; for a cluster set"
    " SMARTSPIDER_STORE_URL and SMARTSPIDER_FRONTIER_URL"
)

DATA = click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR",
    help="Data folder; on a cluster, where files of this machine go."
    "  [default: ./.smartspider/server; on a cluster ./.smartspider/cluster]",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print where it is as one JSON object.")


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Where it listens.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="At which port.")
@DATA
@JSON
def api(host: str, port: int, data: Path | None, *, as_json: bool) -> None:
    """Run the API alone, until Ctrl-C."""
    from smartspider.cli.up import address_of, first_token
    from smartspider.core.extras import require_extra
    from smartspider.installation.settings import read_settings
    from smartspider.wiring import faults
    from smartspider.wiring.loop import run_loop
    from smartspider.wiring.opening import files_folder
    from smartspider.wiring.up import listen

    require_extra("`smartspider api`", "server")
    faults.arm_from_environment()
    place = files_folder(data, read_settings())
    with listen(host, port) as listener:
        from smartspider.api.process import serve

        token = run_loop(first_token(place))
        url = address_of(listener)
        _tell({"url": url, "token": token, "data": str(place)}, f"the API is at {url}/api", as_json=as_json)
        if token and not as_json:
            click.echo(f"token of the first admin, shown this once: {token}", err=True)
        run_loop(serve(place, listener, with_parent=False))


@click.command()
@click.option(
    "--concurrency",
    type=click.IntRange(1, 10_000),
    default=32,
    show_default=True,
    help="Requests in flight at most, of each process.",
)
@click.option(
    "--processes",
    type=SpanType(1, 256),
    default=None,
    help="So many processes, started again when they die; 1-8: as many as are wanted, within these."
    "  [default: this one alone]",
)
@DATA
@JSON
def worker(concurrency: int, processes: WorkerRange | None, data: Path | None, *, as_json: bool) -> None:
    """Run a worker, which takes up whatever there is, until Ctrl-C or until it is drained.

    Asked to stop, it finishes what it holds and returns the rest; asked twice, it leaves at once.
    """
    from smartspider.cli.missing import note_missing
    from smartspider.engine.runtime import tune_process
    from smartspider.wiring import faults
    from smartspider.wiring.left_folder import refuse_left
    from smartspider.wiring.loop import run_loop
    from smartspider.wiring.worker_process import Place, work_on_all

    faults.arm_from_environment()
    place, number = _existing(data), os.getpid()
    refuse_left(place)
    told: dict[str, object] = {"data": str(place), "pid": number, "concurrency": concurrency}
    many = "a worker" if processes is None else f"workers ({processes} processes)"
    text = f"{many} for {_called(place)}, {concurrency} requests in flight at most"
    _tell(told | _counted(processes), text, as_json=as_json)
    run_loop(note_missing(place))
    if processes is not None:
        run_loop(_supervise(place, processes, concurrency))
        return
    tune_process()
    run_loop(work_on_all(Place(place, number, concurrency, with_parent=False, drain_s=DRAIN_S)))


def _counted(processes: WorkerRange | None) -> dict[str, object]:
    if processes is None:
        return {"processes": 1}
    more = {"most_processes": processes.maximum} if processes.is_range else {}
    return {"processes": processes.minimum, **more}


async def _supervise(place: Path, processes: WorkerRange, slots: int) -> None:
    from smartspider.cli.output import say
    from smartspider.wiring.driver import driven
    from smartspider.wiring.parent import stop_on_signals
    from smartspider.wiring.up import Staff, crew_of, environment, worker_posts

    def on_end(name: str, code: int) -> None:
        say(
            f"{name} has left, as it was asked to"
            if code == 0
            else f"{name} died (code {code}); starting another one"
        )

    crew, posts = None, []
    if processes.is_range:
        crew = crew_of(place, processes, slots=slots, drain_s=DRAIN_S)
    else:
        posts = worker_posts(place, count=processes.minimum, slots=slots, drain_s=DRAIN_S)
    staff = Staff(posts, environment(), on_end, crew=crew, patience_s=PATIENCE_S)
    stop_on_signals(staff.stop, with_parent=False)
    async with driven(place, staff, say):
        await staff.run()


@click.command()
@DATA
@JSON
def keeper(data: Path | None, *, as_json: bool) -> None:
    """Run a keeper: schedules, notices, retention and what dead workers left, until Ctrl-C.

    On a cluster nothing is handed out without one. Of several one leads, the others wait.
    """
    from smartspider.wiring import faults
    from smartspider.wiring.keeper_process import keep
    from smartspider.wiring.left_folder import refuse_left
    from smartspider.wiring.loop import run_loop

    faults.arm_from_environment()
    place = _existing(data)
    refuse_left(place)
    _tell({"data": str(place), "pid": os.getpid()}, f"a keeper for {_called(place)}", as_json=as_json)
    run_loop(keep(place, with_parent=False))


def _existing(data: Path | None) -> Path:
    """The folder that the other processes use; these two make none. On a cluster, that of this machine."""
    from smartspider.core.errors import NotFound
    from smartspider.installation.settings import read_settings
    from smartspider.installation.data_folder import find_folder
    from smartspider.wiring.opening import files_folder

    settings = read_settings()
    place = files_folder(data, settings)
    try:
        return place if settings.is_cluster else find_folder(place)
    except NotFound as error:
        raise NotFound(error.message, hint=NO_FOLDER) from error


def _called(place: Path) -> str:
    from smartspider.cli.place import CLUSTER
    from smartspider.installation.settings import read_settings

    return CLUSTER if read_settings().is_cluster else str(place)


def _tell(told: dict[str, object], text: str, *, as_json: bool) -> None:
    import sys

    from smartspider.cli.output import say, tell_json

    if as_json:
        tell_json(told)
        sys.stdout.flush()
    else:
        say(f"{text}; Ctrl-C stops it")
