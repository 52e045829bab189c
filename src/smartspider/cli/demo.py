"""`demo`: the bundled shop, crawled before your eyes."""

from __future__ import annotations

from pathlib import Path

import click

SHOWN = 8


@click.command()
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR",
    help="Where the run is kept.  [default: ./.smartspider/demo_shop]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=None,
    metavar="FILE",
    help="Where the rows go.  [default: demo.jsonl in the data folder]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one summary object on standard output.")
def demo(data: Path | None, output: Path | None, *, as_json: bool) -> int:
    """Start the demo shop on loopback, crawl it, show the rows and where they are saved."""
    from smartspider.cli.crawling import Order, crawl_task
    from smartspider.cli.exit_codes import Exit
    from smartspider.cli.output import say
    from smartspider.demo.process import site_process
    from smartspider.demo.task import demo_task
    from smartspider.taskfile.load import parse_task
    from smartspider.installation.data_folder import folder_of

    folder = folder_of(data, "demo_shop")
    rows = output or folder / "demo.jsonl"
    with site_process("smartspider.demo.shop") as address:
        say(f"the demo shop is at {address}")
        task = parse_task(demo_task(address))
        code = crawl_task(task, Order((rows,), folder, fresh=True, as_json=as_json))
    if code == Exit.OK and not as_json:
        _show(folder, rows)
    return code


def _show(place: Path, file: Path) -> None:
    """The first rows as a table, and where all of them are."""
    from smartspider.cli.output import tell
    from smartspider.cli.tables import show_rows
    from smartspider.services.results.filters import find_rows
    from smartspider.services.runs.lookup import find_run
    from smartspider.wiring.folder import open_folder
    from smartspider.wiring.loop import run_loop

    with open_folder(place) as folder:
        run = run_loop(find_run(folder.store, None))
        items = run_loop(find_rows(folder.store, run.id, SHOWN))
    columns = list(items[0])[:6] if items else []
    show_rows(items, columns, f"{SHOWN} of {run.counters.items} rows")
    tell(f"all rows: {file}")
