"""`crawl`: one task, here and now."""

from __future__ import annotations

import os
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
@click.argument("task", type=click.Path(path_type=Path))
@output_file_option("Write the rows to a file when the run is over")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR",
    help="Where the run is kept.  [default: ./.smartspider/<task name>]",
)
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Worker processes.")
@click.option("--set", "settings", multiple=True, metavar="A.B=JSON", help="Change a value of the task.")
@click.option("--fresh", is_flag=True, help="Drop an unfinished run of this task and start anew.")
@output_options
@only_changes_option
@click.option("--json", "as_json", is_flag=True, help="Print one summary object on standard output.")
def crawl(
    task: Path,
    outputs: tuple[Path, ...],
    data: Path | None,
    workers: int,
    settings: tuple[str, ...],
    *,
    fresh: bool,
    only_changes: bool,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Crawl a task here and now; run the same command again to go on with an unfinished run."""
    from smartspider.cli.crawling import Order, crawl_task
    from smartspider.core.errors import RequestInvalid
    from smartspider.taskfile.load import load_task

    if any(os.path.realpath(path) == os.path.realpath(task) for path in outputs):
        raise RequestInvalid(f"the output {task} is the task itself", hint="choose another name")
    order = Order(
        *(outputs, data, workers),
        fresh=fresh,
        options=options_from(chosen),
        only_changes=only_changes,
        as_json=as_json,
    )
    return crawl_task(load_task(task, settings), order)
