"""`results export`: rows into files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from smartspider.cli.results.options import (
    RUN,
    TASK,
    WHERE,
    check_stdout_free,
    file_options,
    only_changes_option,
    output_file_option,
    output_options,
)
from smartspider.cli.target import Target, local_installation, with_target
from smartspider.cli.terminal.output import join_names, printed
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.installation.installation import Installation
    from smartspider.interfaces.output import OutputOptions
    from smartspider.operations.table import AllOperations


class ExportSummary(msgspec.Struct, frozen=True):
    """Result of an export: files without standard output and, where known, the number of rows."""

    run_id: str
    items: int | None
    outputs: list[str]
    notes: list[str] = []


class ChosenRows(msgspec.Struct, frozen=True):
    """The rows that are exported."""

    only_changes: bool
    where: tuple[str, ...]


def _summary_message(written: ExportSummary) -> str:
    rows = "rows" if written.items is None else count(written.items, "row")
    lines = [f"{rows} of run {written.run_id}: {join_names(written.outputs) or 'standard output'}"]
    return "\n".join([*lines, *(f"note: {note}" for note in written.notes)])


@click.command()
@output_file_option("Output file", required=True)
@RUN
@TASK
@file_options
@only_changes_option
@WHERE
@with_target
@printed(
    message=_summary_message,
    to_json=lambda written: {
        "run_id": written.run_id,
        "items": written.items,
        "outputs": written.outputs,
    },
    about="Print a summary as JSON.",
)
def export(
    outputs: tuple[Path, ...],
    run_id: str | None,
    task: str | None,
    target: Target,
    *,
    only_changes: bool,
    where: tuple[str, ...],
    **file_settings: Any,
) -> ExportSummary:
    """Export the rows of a run so far to files."""
    from smartspider.cli.runs.lookup import find_run
    from smartspider.outputs.stdout import STDOUT
    from smartspider.services.results.outputs import check_outputs

    options, rows = output_options(file_settings), ChosenRows(only_changes, where)
    check_stdout_free(outputs, as_json=click.get_current_context().params["as_json"])
    check_outputs(outputs, options)

    async def write(operations: AllOperations) -> ExportSummary:
        run = await find_run(operations, run_id, task)
        assert run.run_id is not None  # noqa: S101 - a run has one
        installation = local_installation(operations)
        if installation is not None:
            return await _write_local(installation, run.run_id, outputs, options, rows)
        items = None if only_changes or where else run.items
        for path in outputs:
            await _download(operations, run.run_id, path, options, rows)
        return ExportSummary(run.run_id, items, [str(path) for path in outputs if path != STDOUT])

    return target.run_at(run_id, write, task=task)


async def _write_local(
    installation: Installation,
    run_id: str,
    paths: tuple[Path, ...],
    options: OutputOptions,
    chosen: ChosenRows,
) -> ExportSummary:
    """Write all files in one pass over the rows."""
    from smartspider.services.plans import run_plan
    from smartspider.services.results.columns import stored_columns
    from smartspider.services.results.diff import rows_of
    from smartspider.services.results.filters import matching_rows, parse_where
    from smartspider.services.results.outputs import write_outputs

    store = installation.store
    run = await store.get_run(int(run_id))
    plan = run_plan(run)
    columns = await stored_columns(store, run.id, plan)
    conditions = parse_where(chosen.where, [column.name for column in columns])
    rows = matching_rows(rows_of(store, run, plan, only_changes=chosen.only_changes), conditions)
    written = await write_outputs(rows, paths, columns, options)
    return ExportSummary(run_id, written.rows, written.files, written.notes)


async def _download(
    operations: AllOperations, run_id: str, path: Path, options: OutputOptions, chosen: ChosenRows
) -> None:
    """Write a file that the server exports; it appears only when it is complete."""
    from smartspider.cli.results.received_file import write_pieces
    from smartspider.core.errors import NotBuilt
    from smartspider.outputs.files import PendingFile, compression_of
    from smartspider.outputs.stdout import STDOUT, StdoutFile

    if options.is_split:
        raise NotBuilt("a server exports to a single file", hint="remove --split-rows and --split-mb")
    compression = compression_of(path)
    suffix = Path(path.stem if compression else path.name).suffix.removeprefix(".").lower()
    file: PendingFile | StdoutFile = StdoutFile() if path == STDOUT else PendingFile(path)
    pieces = operations.export_results(
        format="jsonl" if path == STDOUT else suffix,
        run_id=run_id,
        compression=compression,
        only_changes=chosen.only_changes,
        where=chosen.where,
        envelope=options.has_envelope,
        excel=options.is_for_excel,
        delimiter=options.delimiter,
    )
    await write_pieces(pieces, file)
