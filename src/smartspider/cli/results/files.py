"""`results files`: the files that a run downloaded."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from smartspider.cli.results.options import JSON_LINES, LIMIT, RUN, TASK
from smartspider.cli.target import Target, collect, with_target
from smartspider.cli.terminal.output import format_size, print_message, printed
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.operations.table import AllOperations
    from smartspider.views.results import FileView


class FileList(msgspec.Struct, frozen=True):
    """Files of a run, and the folder they were copied to."""

    run_id: str
    files: list[FileView]
    folder: Path | None


def _print_files(found: FileList) -> None:
    from smartspider.cli.terminal.columns import print_columns

    if found.files:
        rows = [(one.path, format_size(one.bytes), one.type, one.url) for one in found.files]
        print_columns(("path", "size", "type", "url"), rows)
    copied = "" if found.folder is None else f", copied to {found.folder}"
    print_message(f"{count(len(found.files), 'file')} of run {found.run_id}{copied}")


@click.command()
@RUN
@TASK
@LIMIT
@click.option(
    *("-o", "--output", "folder"),
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    metavar="DIR",
    help="Copy all files of the run to this folder, under the paths that rows have.",
)
@with_target
@printed(_print_files, to_json=lambda found: found.files, per_line=True, about=JSON_LINES)
def files(run_id: str | None, task: str | None, limit: int, folder: Path | None, target: Target) -> FileList:
    """List the files that a run downloaded, or copy them to a folder, also from a server."""

    async def find(operations: AllOperations) -> FileList:
        from smartspider.cli.runs.lookup import find_run

        run = str((await find_run(operations, run_id, task)).run_id)
        found = await collect(partial(operations.list_run_files, run), None if folder else limit)
        for one in found if folder is not None else ():
            await _copy(operations, one, folder or Path())
        return FileList(run, found, folder)

    return target.run_at(run_id, find, task=task)


async def _copy(operations: AllOperations, file: FileView, folder: Path) -> None:
    """Write a file below a folder; it appears when it is complete."""
    from smartspider.cli.results.received_file import write_pieces
    from smartspider.core.errors import RequestInvalid
    from smartspider.outputs.files import PendingFile

    if file.path.startswith("/") or ".." in file.path.split("/"):
        raise RequestInvalid(f"the path {file.path} leads outside of {folder}")
    path = folder / file.path
    await write_pieces(operations.download_run_file(file.run_id, file.id), PendingFile(path))
