"""`up`: a server on this machine."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

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
    import socket

    from smartspider.core.workers.worker import WorkerRange
    from smartspider.wiring.processes.process_group import ElasticWorkers, ProcessSpec

WORKERS = 2


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address the API listens on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port of the API."
)
@click.option(
    "--workers",
    type=WorkerRangeType(0, 256),
    default=str(WORKERS),
    show_default=True,
    help="Number of worker processes; a range such as 1-4 scales them with demand.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR",
    help="Data folder; on a cluster, the folder for this machine's files.  [default: ./.smartspider/server]",
)
@click.option("--demo", "with_demo", is_flag=True, help="Also start the demo shop and allow crawls of it.")
@click.option(
    "--demo-port",
    type=click.IntRange(0, 65535),
    default=8800,
    show_default=True,
    help="Port of the demo shop.",
)
@click.option("--logs", "shows_logs", is_flag=True, help="Print logs as JSON lines.")
@json_option("Print the addresses as one JSON object.")
def up(
    host: str,
    port: int,
    workers: WorkerRange,
    data: Path | None,
    demo_port: int,
    *,
    with_demo: bool,
    **flags: bool,
) -> None:
    """Run a whole server on this machine: API, keeper (coordinator) and workers.

    Ctrl-C shuts it down gracefully. Unfinished runs resume at the next start.
    """
    from smartspider.core.extras import require_extra
    from smartspider.installation.data_folder import is_served, serving
    from smartspider.installation.settings import read_settings
    from smartspider.wiring import fault_injection
    from smartspider.wiring.opening import files_folder
    from smartspider.wiring.processes.lifecycle import run_loop
    from smartspider.wiring.processes.process_group import (
        SLOTS,
        demo_shop_spec,
        elastic_workers,
        listen,
        server_specs,
    )

    require_extra("`smartspider up`", "server")
    fault_injection.arm_from_environment()
    settings = read_settings()
    path = files_folder(data, settings)
    if settings.metrics_address is not None:
        listen(*settings.metrics_address, "SMARTSPIDER_METRICS_PORT").close()  # its process would restart
    if not settings.is_cluster and is_served(path):
        print_message(
            f"note: another `smartspider up` serves {path}, and both will work on its runs; stop one, or"
            " serve another folder with --data DIR"
        )
    with listen(host, port) as listener, nullcontext() if settings.is_cluster else serving(path):
        elastic = elastic_workers(path, workers, slots=SLOTS) if workers.is_range else None
        specs, shop = server_specs(path, listener, workers=0 if elastic else workers.minimum), ""
        if with_demo:
            spec, shop = demo_shop_spec(demo_port)
            specs.append(spec)
        run_loop(_run_server(path, listener, (specs, elastic), shop, **flags))


async def _run_server(
    path: Path,
    listener: socket.socket,
    processes: tuple[list[ProcessSpec], ElasticWorkers | None],
    shop: str,
    *,
    shows_logs: bool,
    as_json: bool,
) -> None:
    """Start all processes, print the addresses once the API responds, and wait until all have exited."""
    import asyncio

    from smartspider.installation.settings import read_settings
    from smartspider.wiring.processes.driver import driving
    from smartspider.wiring.processes.lifecycle import stop_on_signals
    from smartspider.wiring.processes.losses import Supervision
    from smartspider.wiring.processes.process_group import ProcessGroup, child_environment
    from smartspider.wiring.processes.watcher import Watcher

    token, link = await first_secrets(path)
    url = server_url(listener)
    addresses = {
        "url": url,
        "console": console_url(url, link),
        "token": token,
        "shop": f"http://{shop}/" if shop else None,
        "data": str(path),
    }
    specs, elastic = processes
    group = ProcessGroup(
        specs,
        child_environment(shop),
        lambda *end: print_message(_end_message(*end)),
        Watcher(Supervision(path, read_settings()), print_message),
        elastic=elastic,
        shows_logs=shows_logs,
    )
    stop_on_signals(group.stop, with_parent=False)
    announcing = asyncio.create_task(_announce_server(listener, addresses, as_json=as_json))
    try:
        async with driving(path, group, print_message):
            await group.run()
    finally:
        announcing.cancel()
    print_message("stopped; unfinished runs resume at the next start")


def _end_message(name: str, code: int) -> str:
    if code == 0:
        return f"{name} exited as requested; it restarts with the server"
    return f"{name} exited unexpectedly (code {code}); restarting"


async def _announce_server(listener: socket.socket, addresses: dict[str, Any], *, as_json: bool) -> None:
    """Print the addresses of a server as soon as its API responds."""
    from smartspider.wiring.processes.process_group import wait_for_api

    await wait_for_api(listener, is_tls=addresses["url"].startswith("https:"))
    announce(addresses, _addresses_text(addresses), as_json=as_json)
    await warn_missing(Path(addresses["data"]), has_keeper=True)


def _addresses_text(addresses: dict[str, Any]) -> str:
    from smartspider.installation.settings import read_settings

    url, data = addresses["url"], addresses["data"]
    lines = [f"the API is at {url}/api, its documentation at {url}/api/docs ({data})"]
    lines.append(console_line(addresses["console"]))
    if addresses["shop"]:
        lines.append(f"the demo shop is at {addresses['shop']}")
    if addresses["token"]:
        lines.append(f"{FIRST_TOKEN}: {addresses['token']}")
    else:
        option = "" if read_settings().is_cluster else f" --data {data}"
        lines.append(f"`smartspider token add NAME --role admin{option}` creates a token")
    return "\n".join([*lines, "press Ctrl-C to stop all processes"])
