"""`move`: migrate a data folder to a cluster, with finished and unfinished runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from smartspider.cli.terminal.output import print_line, print_message, printed
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.wiring.migration import MigrationReport
    from smartspider.wiring.migration_checks import MigrationRequest

PROGRESS_S = 2.0
"""Interval between progress lines of a long table."""


class CancelledMigration(msgspec.Struct, frozen=True):
    """The result of `move --cancel`."""

    folder: str
    store: str
    is_done: bool = False


def _print_result(result: MigrationReport | CancelledMigration) -> None:
    if isinstance(result, CancelledMigration):
        print_message(f"the migration was cancelled; {result.folder} is writable again")
        print_message(
            f"the rows copied to {result.store} are incomplete: migrate this folder again to replace"
        )
        print_message("them, or empty the database with `DROP SCHEMA smartspider CASCADE`")
        return
    rows = f"{count(result.rows, 'row')} of {result.folder}"
    still_open = f"{count(result.open, 'request')} still open"
    if not result.is_done:
        for name, number in result.tables.items():
            if number:
                print_line(f"{name}: {count(number, 'row')}")
        print_message(f"dry run: {rows} to migrate to {result.store}; {still_open}")
        return
    print_line(f"migrated {rows} to {result.store}; {still_open}")
    print_message(f"{count(result.copied, 'row')} in {result.seconds:.1f} s ({result.rows_per_s:.0f}/s)")
    for name in result.cleaned:
        print_message(f"note: NUL bytes in text of {name} were replaced; PostgreSQL cannot store them")
    print_message("start all processes with these settings (add user and password where needed):")
    print_message(f"  SMARTSPIDER_STORE_URL={result.store_url}")
    print_message(f"  SMARTSPIDER_FRONTIER_URL={result.frontier_url}")
    print_message(
        f"and SMARTSPIDER_MASTER_KEY, the content of {result.folder}/master.key if that file exists,"
    )
    print_message("to keep sessions and webhook signatures valid; then start `smartspider keeper` and")
    print_message("`smartspider worker`")


def _result_json(result: MigrationReport | CancelledMigration) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(result)
    if isinstance(result, CancelledMigration):
        return values
    return {**values, "rows": result.rows, "rows_per_s": round(result.rows_per_s)}


@click.command()
@click.option("--data", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Data folder.")
@click.option(
    "--to",
    "frontier",
    default=None,
    metavar="URL",
    help="URL of the Redis server.  [default: SMARTSPIDER_FRONTIER_URL]",
)
@click.option(
    "--store",
    default=None,
    metavar="URL",
    help="URL of the PostgreSQL database.  [default: SMARTSPIDER_STORE_URL]",
)
@click.option("--dry-run", is_flag=True, help="Only check and count; change nothing.")
@click.option("--cancel", is_flag=True, help="Cancel an unfinished migration and use the data folder again.")
@printed(_print_result, to_json=_result_json, about="Print a summary as one JSON object.")
def move(
    data: Path | None, frontier: str | None, store: str | None, *, dry_run: bool, cancel: bool
) -> MigrationReport | CancelledMigration:
    """Migrate a data folder to a cluster: tasks, runs, rows, users, schedules, logs and the audit log.

    First stop all processes that use the folder; do not start any on the cluster. Ids do not
    change; unfinished runs continue as soon as a keeper and a worker run on the cluster. If the migration is
    interrupted, the same command resumes it; after --cancel it starts from the beginning. Afterwards the
    folder is read-only.
    """
    from smartspider.cli.target import cli_actor
    from smartspider.core.extras import require_extra
    from smartspider.installation.data_folder import find_folder
    from smartspider.wiring.processes.lifecycle import run_loop

    require_extra("`smartspider move`", "cluster")
    folder = find_folder(data)
    if cancel:
        from smartspider.wiring.migration import cancel_migration

        return CancelledMigration(str(folder), run_loop(cancel_migration(folder, cli_actor())))
    return run_loop(_migrate(_request(folder, frontier, store), dry_run=dry_run))


def _request(folder: Path, frontier: str | None, store: str | None) -> MigrationRequest:
    """Return the servers to migrate to, by the options or by the settings; options show in process lists."""
    from smartspider.cli.target import cli_actor
    from smartspider.installation.settings import POSTGRES, REDIS, read_settings
    from smartspider.wiring.migration_checks import MigrationRequest

    settings = read_settings()
    store, frontier = store or settings.store_url, frontier or settings.frontier_url
    # No message repeats a URL: it may hold a password.
    if not store.startswith(POSTGRES):
        raise click.UsageError(
            "--store or SMARTSPIDER_STORE_URL must be the URL of a PostgreSQL database:"
            " postgresql://USER:PASSWORD@HOST/DATABASE."
        )
    if not frontier.startswith(REDIS):
        raise click.UsageError(
            "--to or SMARTSPIDER_FRONTIER_URL must be the URL of a Redis server: redis://HOST:6379."
        )
    return MigrationRequest(folder, store, frontier, cli_actor())


async def _migrate(request: MigrationRequest, *, dry_run: bool) -> MigrationReport:
    from smartspider.core.errors import StoreUnavailable
    from smartspider.wiring import fault_injection
    from smartspider.wiring.migration import migrate, plan_migration

    fault_injection.arm_from_environment()
    if dry_run:
        return await plan_migration(request)
    progress = _Progress()
    try:
        return await migrate(request, progress)
    except StoreUnavailable:
        if progress.has_begun:
            print_message("interrupted; copied rows are kept, and the same command copies the rest")
        raise


class _Progress:
    """Print progress: each table, and long tables at intervals."""

    def __init__(self) -> None:
        self._printed_at = time.monotonic()
        self.has_begun = False

    def __call__(self, table: str, rows: int, total: int) -> None:
        self.has_begun = True
        now = time.monotonic()
        if total and (rows == total or now - self._printed_at >= PROGRESS_S):
            self._printed_at = now
            print_message(f"{table}: {rows} of {total} rows")
