"""`up`: a server on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.spans import SpanType

if TYPE_CHECKING:
    import socket

    from smartspider.core.workers.worker import WorkerRange
    from smartspider.wiring.up import Crew, Post

WORKERS = 2


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Where the API listens.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="At which port.")
@click.option(
    "--workers",
    type=SpanType(0, 256),
    default=str(WORKERS),
    show_default=True,
    help="Worker processes; 1-4: as many as are wanted, within these.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR",
    help="Data folder; on a cluster, where files of this machine go.  [default: ./.smartspider/server]",
)
@click.option("--demo", "with_demo", is_flag=True, help="Start the demo shop beside it, open to crawls.")
@click.option(
    "--demo-port",
    type=click.IntRange(0, 65535),
    default=8800,
    show_default=True,
    help="Port of the shop.",
)
@click.option("--logs", "shows_logs", is_flag=True, help="Print what they log as JSON lines.")
@click.option("--json", "as_json", is_flag=True, help="Print where everything is as one JSON object.")
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
    """Run everything on this machine: API, keeper and workers.

    Ctrl-C stops it in good order. Runs go on where they were when it is started again.
    """
    from smartspider.core.extras import require_extra
    from smartspider.installation.settings import read_settings
    from smartspider.wiring import faults
    from smartspider.wiring.loop import run_loop
    from smartspider.wiring.opening import files_folder
    from smartspider.wiring.up import SLOTS, crew_of, listen, posts, shop_post

    require_extra("`smartspider up`", "server")
    faults.arm_from_environment()
    place = files_folder(data, read_settings())
    with listen(host, port) as listener:
        crew = crew_of(place, workers, slots=SLOTS) if workers.is_range else None
        staff, shop = posts(place, listener, workers=0 if crew else workers.minimum), ""
        if with_demo:
            post, shop = shop_post(demo_port)
            staff.append(post)
        run_loop(_up(place, listener, (staff, crew), shop, **flags))


async def _up(
    place: Path,
    listener: socket.socket,
    staffing: tuple[list[Post], Crew | None],
    shop: str,
    *,
    shows_logs: bool,
    as_json: bool,
) -> None:
    """Start everybody, say where they are once the API answers, and wait for their end."""
    import asyncio

    from smartspider.cli.output import say
    from smartspider.wiring.driver import driven
    from smartspider.wiring.parent import stop_on_signals
    from smartspider.wiring.up import Staff, environment

    told = {
        "url": address_of(listener),
        "token": await first_token(place),
        "shop": f"http://{shop}/" if shop else None,
        "data": str(place),
    }
    posts, crew = staffing
    staff = Staff(posts, environment(shop), lambda *end: say(_ended(*end)), crew=crew, shows_logs=shows_logs)
    stop_on_signals(staff.stop, with_parent=False)
    greeting = asyncio.create_task(_greet(listener, told, as_json=as_json))
    try:
        async with driven(place, staff, say):
            await staff.run()
    finally:
        greeting.cancel()
    say("stopped; runs that were not over go on when it is started again")


def _ended(name: str, code: int) -> str:
    if code == 0:
        return f"{name} has left, as it was asked to; it comes back when the server is started again"
    return f"{name} died (code {code}); starting another one"


async def first_token(place: Path) -> str | None:
    """The token of the first admin, when this is the first start."""
    from smartspider.installation.settings import read_settings
    from smartspider.wiring.first_admin import first_admin
    from smartspider.wiring.house import open_house
    from smartspider.wiring.left_folder import refuse_left

    refuse_left(place)
    async with open_house(place, read_settings()) as house:
        return await first_admin(house)


async def _greet(listener: socket.socket, told: dict[str, Any], *, as_json: bool) -> None:
    """Say where everything is, as soon as that is true."""
    import sys

    from smartspider.cli.missing import note_missing
    from smartspider.cli.output import say, tell_json
    from smartspider.installation.settings import read_settings
    from smartspider.wiring.up import answers

    await answers(listener, is_tls=told["url"].startswith("https:"))
    if as_json:
        tell_json(told)
        sys.stdout.flush()
        await note_missing(Path(told["data"]), has_keeper=True)
        return
    say(f"the API is at {told['url']}/api, its documentation at {told['url']}/api/docs ({told['data']})")
    if told["shop"]:
        say(f"the demo shop is at {told['shop']}")
    if told["token"]:
        say(f"token of the first admin, shown this once: {told['token']}")
    else:
        of = "" if read_settings().is_cluster else f" --data {told['data']}"
        say(f"`smartspider token add NAME --role admin{of}` makes a token")
    say("Ctrl-C stops everything")
    await note_missing(Path(told["data"]), has_keeper=True)


def address_of(listener: socket.socket) -> str:
    """Where a browser finds what listens there."""
    from smartspider.installation.settings import read_settings

    host, port = listener.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104 - compared
    return f"{'https' if read_settings().tls_cert else 'http'}://{shown}:{port}"
