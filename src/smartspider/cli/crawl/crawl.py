"""`crawl`, `demo`: crawl a task in this process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.crawl.fetch_options import HEADERS, parse_headers
from smartspider.cli.program import is_program
from smartspider.cli.results.options import (
    check_stdout_free,
    file_options,
    only_changes_option,
    output_file_option,
    output_options,
)
from smartspider.cli.terminal.output import json_option, print_line, print_message
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

DEMO_ROWS = 8
DEMO_COLUMNS = 6
SUMMARY = "Print a summary as one JSON object."


def _complete_file(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete file names; there is nothing to complete of a URL."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


@click.command()
@click.argument("target", metavar="TASK|URL", shell_complete=_complete_file)
@output_file_option("Write the rows to a file when the run ends")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR",
    help="Data folder of the run.  [default: ./.smartspider/<task name>]",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Number of worker processes.",
)
@click.option("--set", "settings", multiple=True, metavar="A.B=JSON", help="Override a value of the task.")
@click.option(
    "--skip-invalid",
    is_flag=True,
    help="Leave out lines of the task's URL files that are not URLs, and say how many.",
)
@click.option("--fresh", is_flag=True, help="Discard an unfinished run of this task and start a new one.")
@click.option("--yes", is_flag=True, help="With a URL: crawl the suggested task without asking.")
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    default=None,
    metavar="FILE",
    help="With a URL: also write the suggested task to a file.",
)
@click.option(
    "--choice",
    type=click.IntRange(min=1),
    default=None,
    metavar="N",
    help="With a URL: crawl the list with this number instead of the first.",
)
@HEADERS
@file_options
@only_changes_option
@click.option(
    "--allow-empty", is_flag=True, help="Let a run without rows replace a file that has rows by an empty one."
)
@json_option(SUMMARY)
def crawl(
    target: str,
    outputs: tuple[Path, ...],
    data: Path | None,
    workers: int,
    settings: tuple[str, ...],
    *,
    save: Path | None,
    choice: int | None,
    headers: tuple[str, ...],
    skip_invalid: bool,
    fresh: bool,
    yes: bool,
    only_changes: bool,
    allow_empty: bool,
    as_json: bool,
    **file_settings: Any,
) -> int:
    """Crawl a task in this process. Run the same command again to resume an unfinished run.

    With the URL of a list, a feed, a sitemap or a JSON API instead of a task file: suggest a task, show its
    first rows, ask, and crawl it.
    """
    from smartspider.cli.crawl.crawl_task import CrawlOptions, crawl_task
    from smartspider.cli.tasks.loading import is_url, load_task_file, url_hint
    from smartspider.core.errors import NotFound, RequestInvalid

    check_stdout_free(outputs, as_json=as_json)
    options = CrawlOptions(
        *(outputs, data, workers),
        fresh=fresh,
        output_options=output_options(file_settings),
        only_changes=only_changes,
        allow_empty=allow_empty,
        as_json=as_json,
        is_guarded=is_program(),
    )
    if is_url(target):
        if skip_invalid:
            raise RequestInvalid("--skip-invalid is for a task file", hint="remove it: there is one URL")
        from smartspider.cli.crawl.crawl_url import UrlOptions, crawl_url

        about = UrlOptions(settings, parse_headers(headers), save, choice or 1, yes)
        return crawl_url(target, options, about)
    if hint := url_hint(target):
        raise NotFound(f"there is no file {target}", hint=hint)
    if save is not None:
        raise RequestInvalid("--save is for a URL", hint="remove it: the task is a file already")
    if choice is not None:
        raise RequestInvalid("--choice is for a URL", hint="remove it: the task names its items")
    if headers:
        raise RequestInvalid("--header is for a URL", hint="write the header into fetch.headers of the task")
    if any(os.path.realpath(path) == os.path.realpath(target) for path in outputs):
        raise RequestInvalid(f"the output file is the task file {target}", hint="choose another name")
    return crawl_task(load_task_file(Path(target), settings, skip_invalid=skip_invalid), options)


@click.command()
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR",
    help="Data folder of the run.  [default: ./.smartspider/demo_shop]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=None,
    metavar="FILE",
    help="Output file.  [default: demo.jsonl in the data folder]",
)
@json_option(SUMMARY)
def demo(data: Path | None, output: Path | None, *, as_json: bool) -> int:
    """Start the demo shop on the loopback interface, crawl it, and show the rows and the output file."""
    from smartspider.cli.crawl.crawl_task import CrawlOptions, crawl_task
    from smartspider.cli.exit_codes import Exit
    from smartspider.demo.process import site_process
    from smartspider.demo.shop import demo_task
    from smartspider.installation.data_folder import folder_of
    from smartspider.taskfile.load import parse_task

    folder = folder_of(data, "demo_shop")
    file = output or folder / "demo.jsonl"
    with site_process("smartspider.demo.shop") as address:
        print_message(f"the demo shop is at {address}")
        task = parse_task(demo_task(address))
        code = crawl_task(task, CrawlOptions((file,), folder, fresh=True, as_json=as_json))
    if code == Exit.OK and not as_json:
        _print_rows(folder)
        print_line(f"all rows: {file}")
    return code


def _print_rows(path: Path) -> None:
    """Print the first rows of the newest run as a table."""
    from smartspider.cli.terminal.tables import print_table
    from smartspider.services.results.filters import find_rows
    from smartspider.services.runs.lookup import find_run
    from smartspider.wiring.opening import open_folder
    from smartspider.wiring.processes.lifecycle import run_loop

    with open_folder(path) as folder:
        run = run_loop(find_run(folder, None))
        rows = run_loop(find_rows(folder.store, run.id, DEMO_ROWS))
    columns = list(rows[0])[:DEMO_COLUMNS] if rows else []
    print_table(rows, columns, f"{DEMO_ROWS} of {count(run.counters.items, 'row')}")
