"""`api`, `worker`, `keeper`: the processes of a server, one by one, each in the foreground."""

from __future__ import annotations

import os
from pathlib import Path

import click

DATA = click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR",
    help="Data folder.  [default: ./.smartspider/server]",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print where it is as one JSON object.")


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Where it listens.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="At which port.")
@DATA
@JSON
def api(host: str, port: int, data: Path | None, *, as_json: bool) -> None:
    """Run the API alone, until Ctrl-C."""
    from smartspider.cli.up import FOLDER, address_of, first_token
    from smartspider.wiring import faults
    from smartspider.wiring.folder import folder_of
    from smartspider.wiring.loop import run_loop
    from smartspider.wiring.up import listen

    faults.arm_from_environment()
    place = folder_of(data, FOLDER)
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
    help="Requests in flight at most.",
)
@DATA
@JSON
def worker(concurrency: int, data: Path | None, *, as_json: bool) -> None:
    """Run one worker, which takes up whatever there is, until Ctrl-C or until it is drained."""
    from smartspider.engine.memory import tune_process
    from smartspider.wiring import faults
    from smartspider.wiring.loop import run_loop
    from smartspider.wiring.worker_process import work_on_all

    faults.arm_from_environment()
    place, number = _existing(data), os.getpid()
    tune_process()
    told = {"data": str(place), "pid": number, "concurrency": concurrency}
    _tell(told, f"a worker for {place}, {concurrency} requests in flight at most", as_json=as_json)
    run_loop(work_on_all(place, number, concurrency, with_parent=False))


@click.command()
@DATA
@JSON
def keeper(data: Path | None, *, as_json: bool) -> None:
    """Run a keeper: schedules, notices, retention and what dead workers left, until Ctrl-C."""
    from smartspider.wiring import faults
    from smartspider.wiring.keeper_process import keep
    from smartspider.wiring.loop import run_loop

    faults.arm_from_environment()
    place = _existing(data)
    _tell({"data": str(place), "pid": os.getpid()}, f"a keeper for {place}", as_json=as_json)
    run_loop(keep(place, with_parent=False))


def _existing(data: Path | None) -> Path:
    """The folder that the other processes use; these two make none."""
    from smartspider.cli.up import FOLDER
    from smartspider.wiring.folder import find_folder, folder_of

    return find_folder(folder_of(data, FOLDER))


def _tell(told: dict[str, object], text: str, *, as_json: bool) -> None:
    import sys

    from smartspider.cli.output import say, tell_json

    if as_json:
        tell_json(told)
        sys.stdout.flush()
    else:
        say(f"{text}; Ctrl-C stops it")
