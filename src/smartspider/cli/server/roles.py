"""`api`, `worker`, `keeper`: the processes of a server or a cluster, each in the foreground."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from smartspider.cli.program import is_program
from smartspider.cli.server.startup import (
    FIRST_TOKEN,
    WorkerRangeType,
    announce,
    console_line,
    console_url,
    first_secrets,
    server_url,
    warn_missing,
)
from smartspider.cli.terminal.output import json_option, print_message

if TYPE_CHECKING:
    from smartspider.core.workers.worker import WorkerRange
    from smartspider.wiring.processes.guard import Restart

DRAIN_S = 60.0
"""Time a worker gets to finish its requests in flight on shutdown; longer than any request timeout."""
STOP_TIMEOUT_S = DRAIN_S + 15.0

NO_FOLDER = (
    "start `smartspider api` or `smartspider up` in the same folder first; for a cluster, set"
    " SMARTSPIDER_STORE_URL and SMARTSPIDER_FRONTIER_URL"
)

DATA = click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR",
    help="Data folder; on a cluster, the folder for this machine's files."
    "  [default: ./.smartspider/server; on a cluster ./.smartspider/cluster]",
)
JSON = json_option("Print the startup information as one JSON object.")


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port to listen on."
)
@DATA
@JSON
def api(host: str, port: int, data: Path | None, *, as_json: bool) -> None:
    """Run only the API, until Ctrl-C."""
    from smartspider.core.extras import require_extra
    from smartspider.installation.settings import read_settings
    from smartspider.wiring import fault_injection
    from smartspider.wiring.opening import files_folder
    from smartspider.wiring.processes.lifecycle import run_loop
    from smartspider.wiring.processes.process_group import listen

    require_extra("`smartspider api`", "server")
    fault_injection.arm_from_environment()
    path = files_folder(data, read_settings())
    with listen(host, port) as listener:
        from smartspider.api.process import serve

        token, link = run_loop(first_secrets(path))
        url = server_url(listener)
        console = console_url(url, link)
        text = f"the API is at {url}/api; press Ctrl-C to stop\n{console_line(console)}"
        text += f"\n{FIRST_TOKEN}: {token}" if token else ""
        values = {"url": url, "console": console, "token": token, "data": str(path)}
        announce(values, text, as_json=as_json)
        run_loop(serve(path, listener, with_parent=False))


@click.command()
@click.option(
    "--concurrency",
    type=click.IntRange(1, 10_000),
    default=32,
    show_default=True,
    help="Maximum requests in flight per process.",
)
@click.option(
    "--processes",
    type=WorkerRangeType(1, 256),
    default=None,
    help="Number of worker processes, restarted if they crash; a range such as 1-8 scales them with demand."
    "  [default: no child processes]",
)
@DATA
@JSON
def worker(concurrency: int, processes: WorkerRange | None, data: Path | None, *, as_json: bool) -> None:
    """Run a worker for all runs until Ctrl-C or until it is drained.

    The first signal makes it finish its requests in flight and return the others to the queue; the second
    makes it exit immediately.
    """
    from smartspider.engine.runtime import tune_process
    from smartspider.wiring import fault_injection
    from smartspider.wiring.opening import check_not_moved
    from smartspider.wiring.processes.lifecycle import run_loop
    from smartspider.wiring.processes.worker_process import FleetWorkerOptions, run_fleet_worker

    fault_injection.arm_from_environment()
    path, number = _existing_folder(data), os.getpid()
    check_not_moved(path)
    values: dict[str, object] = {"data": str(path), "pid": number, "concurrency": concurrency}
    what = "a worker" if processes is None else f"workers ({processes} processes)"
    text = f"{what} for {_display_name(path)}, at most {concurrency} requests in flight; press Ctrl-C to stop"
    announce(values | _process_counts(processes), text, as_json=as_json)
    if processes is not None:
        run_loop(warn_missing(path))
        run_loop(_supervise(path, processes, concurrency))
        return
    tune_process()
    restart = _guarded(path) if is_program() else None
    if restart is None:
        run_loop(warn_missing(path))
    elif restart.is_stopping:
        return
    options = FleetWorkerOptions(path, number, concurrency, with_parent=False, drain_s=DRAIN_S)
    run_loop(run_fleet_worker(options))


def _guarded(path: Path) -> Restart | None:
    from smartspider.installation.settings import read_settings
    from smartspider.wiring.processes.guard import guarded
    from smartspider.wiring.processes.losses import Supervision

    return guarded(Supervision(path, read_settings()), "the worker", print_message, has_peers=True)


def _process_counts(processes: WorkerRange | None) -> dict[str, object]:
    if processes is None:
        return {"processes": 1}
    more = {"most_processes": processes.maximum} if processes.is_range else {}
    return {"processes": processes.minimum, **more}


async def _supervise(path: Path, processes: WorkerRange, slots: int) -> None:
    """Run worker processes until all have exited."""
    from smartspider.installation.settings import read_settings
    from smartspider.wiring.processes.driver import driving
    from smartspider.wiring.processes.lifecycle import stop_on_signals
    from smartspider.wiring.processes.losses import Supervision
    from smartspider.wiring.processes.process_group import (
        ProcessGroup,
        child_environment,
        elastic_workers,
        worker_specs,
    )
    from smartspider.wiring.processes.watcher import Watcher

    def on_end(name: str, code: int) -> None:
        if code == 0:
            print_message(f"{name} exited as requested")
        else:
            print_message(f"{name} exited unexpectedly (code {code}); restarting")

    elastic, specs = None, []
    if processes.is_range:
        elastic = elastic_workers(path, processes, slots=slots, drain_s=DRAIN_S)
    else:
        specs = worker_specs(path, count=processes.minimum, slots=slots, drain_s=DRAIN_S)
    watcher = Watcher(Supervision(path, read_settings()), print_message)
    group = ProcessGroup(
        specs, child_environment(), on_end, watcher, elastic=elastic, stop_timeout_s=STOP_TIMEOUT_S
    )
    stop_on_signals(group.stop, with_parent=False)
    async with driving(path, group, print_message):
        await group.run()


@click.command()
@DATA
@JSON
def keeper(data: Path | None, *, as_json: bool) -> None:
    """Run a keeper (coordinator): schedules, notifications, retention and recovery of requests held by dead
    workers.

    Runs until Ctrl-C. A cluster needs a keeper to lease requests. If several run, one is the leader and
    the others are on standby.
    """
    from smartspider.wiring import fault_injection
    from smartspider.wiring.opening import check_not_moved
    from smartspider.wiring.processes.keeper_process import run_keeper
    from smartspider.wiring.processes.lifecycle import run_loop

    fault_injection.arm_from_environment()
    path = _existing_folder(data)
    check_not_moved(path)
    text = f"keeper for {_display_name(path)} started; press Ctrl-C to stop"
    announce({"data": str(path), "pid": os.getpid()}, text, as_json=as_json)
    run_loop(run_keeper(path, with_parent=False))


def _existing_folder(data: Path | None) -> Path:
    """Return the data folder of the other processes; raise `NotFound` if it does not exist.

    On a cluster it is the folder for this machine's files.
    """
    from smartspider.core.errors import NotFound
    from smartspider.installation.data_folder import find_folder
    from smartspider.installation.settings import read_settings
    from smartspider.wiring.opening import files_folder

    settings = read_settings()
    path = files_folder(data, settings)
    try:
        return path if settings.is_cluster else find_folder(path)
    except NotFound as error:
        raise NotFound(error.message, hint=NO_FOLDER) from error


def _display_name(path: Path) -> str:
    from smartspider.cli.target import CLUSTER
    from smartspider.installation.settings import read_settings

    return CLUSTER if read_settings().is_cluster else str(path)
