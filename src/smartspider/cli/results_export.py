"""`results export`: rows into files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from smartspider.cli.output_options import (
    only_changes_option,
    options_from,
    output_file_option,
    output_options,
)
from smartspider.cli.place import Place, placed
from smartspider.cli.results_options import RUN, TASK

if TYPE_CHECKING:
    from smartspider.cli.place import Office
    from smartspider.client import Client
    from smartspider.interfaces.output import OutputOptions
    from smartspider.wiring.office.local import LocalOffice


class Exported(msgspec.Struct, frozen=True):
    """What was written. How many rows, where that is known."""

    run_id: str
    items: int | None
    outputs: list[str]
    notes: list[str] = []


@click.command()
@output_file_option("Where the rows go", required=True)
@RUN
@TASK
@output_options
@only_changes_option
@placed
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def export(
    outputs: tuple[Path, ...],
    run_id: str | None,
    task: str | None,
    place: Place,
    *,
    only_changes: bool,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Write all rows that a run has so far to files."""
    from smartspider.cli.output import listed, print_json, say
    from smartspider.cli.runs import chosen_run
    from smartspider.services.results.outputs import check_outputs
    from smartspider.wiring.office.local import LocalOffice

    options = options_from(chosen)
    check_outputs(outputs, options)

    async def write(office: Office) -> Exported:
        run = await chosen_run(office, run_id, task)
        assert run.run_id is not None  # noqa: S101 - a run has one
        if isinstance(office, LocalOffice):
            return await _from_folder(office, run.run_id, outputs, options, only_changes=only_changes)
        items = None if only_changes else run.items
        for path in outputs:
            await _from_server(office, run.run_id, path, options, only_changes=only_changes)
        return Exported(run.run_id, items, [str(path) for path in outputs])

    written = place.do(write, task=task)
    if as_json:
        print_json({"run_id": written.run_id, "items": written.items, "outputs": written.outputs})
    rows = "rows" if written.items is None else f"{written.items} rows"
    say(f"{rows} of run {written.run_id}: {listed(written.outputs)}")
    for note in written.notes:
        say(f"note: {note}")


async def _from_folder(
    office: LocalOffice, run_id: str, paths: tuple[Path, ...], options: OutputOptions, *, only_changes: bool
) -> Exported:
    """All files in one pass over the rows."""
    from smartspider.services.results.columns import columns_of
    from smartspider.services.results.diff import rows_of
    from smartspider.services.results.outputs import write_outputs
    from smartspider.services.runs.plans import plan_of

    store = office.installation.store
    run = await store.get_run(int(run_id))
    plan = plan_of(run)
    rows = rows_of(store, run, plan, only_changes=only_changes)
    written = await write_outputs(rows, paths, columns_of(plan), options)
    return Exported(run_id, written.rows, written.files, written.notes)


async def _from_server(
    client: Client, run_id: str, path: Path, options: OutputOptions, *, only_changes: bool
) -> None:
    """A file as the server makes it; it appears whole."""
    from contextlib import aclosing

    from smartspider.core.errors import NotBuilt
    from smartspider.outputs.compression import compression_of
    from smartspider.outputs.files import PendingFile

    if options.is_split:
        raise NotBuilt(
            "a server writes its rows into one file", hint="leave --split-rows and --split-mb away"
        )
    compression = compression_of(path)
    suffix = Path(path.stem if compression else path.name).suffix.removeprefix(".").lower()
    file = PendingFile(path)
    try:
        async with aclosing(
            client.export_results(
                format=suffix,
                run_id=run_id,
                compression=compression,
                only_changes=only_changes,
                envelope=options.has_envelope,
                excel=options.is_for_excel,
                delimiter=options.delimiter,
            )
        ) as pieces:
            async for piece in pieces:
                file.write(piece)
        file.seal()
        file.commit()
    except BaseException:
        file.abort()
        raise
