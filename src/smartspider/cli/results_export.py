"""`results export`: rows into files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from smartspider.cli.output_options import (
    only_changes_option,
    options_from,
    output_file_option,
    output_options,
)


@click.command()
@output_file_option("Where the rows go", required=True)
@click.option("--run", "run_id", type=int, default=None, help="Which run.  [default: the newest]")
@click.option("--data", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Data folder.")
@output_options
@only_changes_option
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def export(
    outputs: tuple[Path, ...],
    run_id: int | None,
    data: Path | None,
    *,
    only_changes: bool,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Write all rows that a run has so far to files."""
    from smartspider.cli.output import listed, print_json, say
    from smartspider.services.columns import columns_of
    from smartspider.services.difference import rows_of
    from smartspider.services.outputs import check_outputs, write_outputs
    from smartspider.services.runs import find_run
    from smartspider.wiring.folder import find_folder, open_folder
    from smartspider.wiring.loop import run_loop
    from smartspider.wiring.plans import plan_of

    options = options_from(chosen)
    check_outputs(outputs, options)
    with open_folder(find_folder(data)) as folder:
        run = run_loop(find_run(folder.store, run_id))
        plan = plan_of(run)
        rows = rows_of(folder.store, run, plan, only_changes=only_changes)
        written = run_loop(write_outputs(rows, outputs, columns_of(plan), options))
    if as_json:
        print_json({"run_id": str(run.id), "items": written.rows, "outputs": written.files})
    say(f"{written.rows} rows of run {run.id}: {listed(written.files)}")
    for note in written.notes:
        say(f"note: {note}")
