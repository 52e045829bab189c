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
    from smartspider.wiring.folder import folder_of

    folder = folder_of(data, "demo_shop")
    rows = output or folder / "demo.jsonl"
    with site_process("smartspider.demo.shop") as address:
        say(f"the demo shop is at {address}")
        task = parse_task(demo_task(address))
        code = crawl_task(task, Order((rows,), folder, fresh=True, as_json=as_json))
    if code == Exit.OK and not as_json:
        _show(rows)
    return code


def _show(path: Path) -> None:
    """The first rows as a table, and where all of them are."""
    import msgspec
    from rich.console import Console
    from rich.table import Table

    lines = path.read_bytes().splitlines()
    items = [msgspec.json.decode(line) for line in lines[:SHOWN]]
    table = Table(title=f"{SHOWN} of {len(lines)} rows")
    columns = list(items[0])[:6] if items else []
    for name in columns:
        table.add_column(name, overflow="ellipsis", no_wrap=True, max_width=28)
    for item in items:
        table.add_row(*(_cell(item.get(name)) for name in columns))
    console = Console()
    console.print(table)
    console.print(f"all rows: {path}", soft_wrap=True)


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
