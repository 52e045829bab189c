"""`move`: take a data folder to a cluster, with finished and unfinished runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from smartspider.wiring.move_checks import Order
    from smartspider.wiring.moving import Report

EVERY_S = 2.0
"""How often a long table is spoken of."""


@click.command()
@click.option("--data", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Data folder.")
@click.option(
    "--to", "frontier", default=None, metavar="URL", help="The Redis.  [default: SMARTSPIDER_FRONTIER_URL]"
)
@click.option(
    "--store", default=None, metavar="URL", help="The PostgreSQL.  [default: SMARTSPIDER_STORE_URL]"
)
@click.option("--dry-run", is_flag=True, help="Check everything and count; change nothing.")
@click.option("--cancel", is_flag=True, help="Give up a move that is not through, and work here again.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as one JSON object.")
def move(
    data: Path | None, frontier: str | None, store: str | None, *, dry_run: bool, cancel: bool, as_json: bool
) -> int:
    """Take a data folder to a cluster: tasks, runs, rows, users, schedules, logs and the audit.

    Stop whatever works in the folder, and start nothing on the cluster, before. All ids stay the same; runs
    that are not over go on as soon as a keeper and a worker run there. Broken off, at any point and by
    anything, the same command goes on where it was; after --cancel it begins anew. Afterwards the folder can
    be read, and not worked in.
    """
    from smartspider.cli.exit_codes import Exit
    from smartspider.cli.output import print_json, say
    from smartspider.core.extras import require_extra
    from smartspider.installation.data_folder import find_folder
    from smartspider.wiring.loop import run_loop

    require_extra("`smartspider move`", "cluster")
    folder = find_folder(data)
    if cancel:
        place = run_loop(_cancel(folder))
        if as_json:
            print_json({"folder": str(folder), "store": place, "is_done": False})
        else:
            say(f"{folder} stays where it is, and is worked in again")
            say(f"what has come to {place} is of no use: a move of this folder to there begins anew, and")
            say("`DROP SCHEMA smartspider CASCADE` there makes room for anything else")
        return Exit.OK
    report = run_loop(_move(_order(folder, frontier, store), dry_run=dry_run))
    if as_json:
        print_json({**_plain(report), "rows": report.rows, "rows_per_s": round(report.rows_per_s)})
    else:
        _tell(report)
    return Exit.OK


def _order(folder: Path, frontier: str | None, store: str | None) -> Order:
    """Where it goes: by the options, or by the settings, which nobody reads over a shoulder."""
    from smartspider.cli.actor import cli_actor
    from smartspider.installation.settings import POSTGRES, REDIS, read_settings
    from smartspider.wiring.move_checks import Order

    settings = read_settings()
    store, frontier = store or settings.store_url, frontier or settings.frontier_url
    # Neither is repeated: it may have a password.
    if not store.startswith(POSTGRES):
        raise click.UsageError(
            "--store, or SMARTSPIDER_STORE_URL, is the URL of a PostgreSQL:"
            " postgresql://USER:PASSWORD@HOST/DATABASE."
        )
    if not frontier.startswith(REDIS):
        raise click.UsageError("--to, or SMARTSPIDER_FRONTIER_URL, is the URL of a Redis: redis://HOST:6379.")
    return Order(folder, store, frontier, cli_actor())


async def _cancel(folder: Path) -> str:
    from smartspider.cli.actor import cli_actor
    from smartspider.wiring.moving import stay

    return await stay(folder, cli_actor())


async def _move(order: Order, *, dry_run: bool) -> Report:
    from smartspider.cli.output import say
    from smartspider.core.errors import StoreUnavailable
    from smartspider.wiring import faults, moving

    faults.arm_from_environment()
    if dry_run:
        return await moving.foresee(order)
    progress = _Progress()
    try:
        return await moving.move(order, progress)
    except StoreUnavailable:
        if progress.has_begun:
            say("broken off; what has arrived stays there, and the same command goes on with the rest")
        raise


class _Progress:
    """Says how far it is: each table, and long ones now and then."""

    def __init__(self) -> None:
        self._said_at = time.monotonic()
        self.has_begun = False

    def __call__(self, table: str, rows: int, total: int) -> None:
        from smartspider.cli.output import say

        self.has_begun = True
        now = time.monotonic()
        if total and (rows == total or now - self._said_at >= EVERY_S):
            self._said_at = now
            say(f"{table}: {rows} of {total} rows")


def _tell(report: Report) -> None:
    from smartspider.cli.output import count, say, tell

    whole = f"{count(report.rows, 'row')} of {report.folder}"
    if not report.is_done:
        for name, rows in report.tables.items():
            if rows:
                tell(f"{name}: {count(rows, 'row')}")
        say(f"{whole} would go to {report.store}; {count(report.open, 'request')} still to be made")
        return
    tell(f"moved {whole} to {report.store}; {count(report.open, 'request')} still to be made")
    say(f"{count(report.copied, 'row')} in {report.seconds:.1f} s, {report.rows_per_s:.0f} a second")
    for name in report.cleaned:
        say(f"note: zero bytes in texts of {name} were replaced, PostgreSQL cannot keep them")
    say("give all processes these, with user and password where there are some:")
    say(f"  SMARTSPIDER_STORE_URL={report.store_url}")
    say(f"  SMARTSPIDER_FRONTIER_URL={report.frontier_url}")
    say(f"and SMARTSPIDER_MASTER_KEY: what {report.folder}/master.key holds, if there is one, so that")
    say("sessions and webhooks stay valid; then start `smartspider keeper` and `smartspider worker`")


def _plain(value: object) -> dict[str, object]:
    import msgspec

    plain: dict[str, object] = msgspec.to_builtins(value)
    return plain
