"""`results export`: the rows of a run, whenever they are wanted."""

from __future__ import annotations

from pathlib import Path

import click


@click.group()
def results() -> None:
    """Write the rows of a run to files."""


@results.command("export")
@click.option(
    *("-o", "--output", "outputs"),
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where the rows go (.jsonl, .csv); may be given more than once.",
)
@click.option("--run", "run_id", type=int, default=None, help="Which run.  [default: the newest]")
@click.option("--data", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Data folder.")
@click.option("--envelope", is_flag=True, help="Write url, run, fingerprint and time with every row.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def export(
    outputs: tuple[Path, ...], run_id: int | None, data: Path | None, *, envelope: bool, as_json: bool
) -> None:
    """Write all rows that a run has so far to files."""
    from smartspider.cli.output import print_json, say
    from smartspider.services.outputs import check_outputs, write_outputs
    from smartspider.services.runs import find_run
    from smartspider.wiring.folder import find_folder, open_folder
    from smartspider.wiring.loop import run_loop
    from smartspider.wiring.plans import plan_of

    check_outputs(outputs)
    with open_folder(find_folder(data)) as folder:
        run = run_loop(find_run(folder.store, run_id))
        columns = plan_of(run).columns
        written = run_loop(write_outputs(folder.store, run, outputs, columns, envelope=envelope))
    if as_json:
        print_json({"run_id": str(run.id), "items": run.counters.items, "outputs": written})
    say(f"rows of run {run.id}: {', '.join(written)}")
