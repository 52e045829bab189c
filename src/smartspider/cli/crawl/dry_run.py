"""`dry-run`: preview a task on a few pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from smartspider.cli.crawl.fetch_options import print_gates_note
from smartspider.cli.exit_codes import Exit
from smartspider.cli.own_functions import expect_functions
from smartspider.cli.tasks.loading import TaskFile
from smartspider.cli.terminal.output import print_line, print_message, printed
from smartspider.cli.terminal.streams import printed_log_level
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.services.preview.preview import FieldCoverageCount, Preview, PreviewedPage

ROWS_SHOWN = 10
FILES_SHOWN = 3
LOW = 0.5
"""Fields found in a smaller share of items than this are marked "rarely found"."""


def _print_preview(found: tuple[Preview, Path]) -> None:
    from smartspider.cli.runs.left_out import left_out_lines, missing_lines
    from smartspider.cli.terminal.tables import print_table

    preview, task = found
    for page in preview.pages:
        _print_page(page)
    for failure in preview.failures:
        print_line(f"failed   {failure.url}: {failure.reason}")
    next_pages = [one for one in preview.left_out if one.is_next_page]  # links are shown with their page
    missing = missing_lines(preview.missing_entries, preview.missing_entry_count, preview.empty_fields)
    if preview.rows:
        shown = preview.rows[:ROWS_SHOWN]
        title = f"{len(shown)} of {count(len(preview.rows), 'row')}"
        print_table(shown, preview.columns, title)
        _print_coverage(preview)
    for line in (*left_out_lines(next_pages), *missing):
        print_line(line)
    if preview.rows:
        print_message(f"nothing was stored; next: smartspider crawl {task} -o rows.csv")
    elif preview.pages:
        print_line("no rows: these pages have no items, or all items were rejected")
        print_message(f"nothing was stored; try selectors with: smartspider shell {preview.pages[0].url}")


def _print_page(page: PreviewedPage) -> None:
    items = count(len(page.items), "item")
    print_line(f"fetched  {page.url} ({page.status}, page type {page.page}, read by {page.engine}): {items}")
    if page.rejected:
        reasons = dict.fromkeys(str(one["reason"]) for one in page.rejected)
        print_line(f"  rejected   {count(len(page.rejected), 'item')}: {'; '.join(reasons)}")
    if page.next_pages:
        print_line(f"  next page  {', '.join(page.next_pages[:3])}")
    if page.followed_count:
        more = page.followed_count - len(page.followed)
        rest = f" and {more} more" if more else ""
        print_line(f"  follows    {', '.join(page.followed)}{rest}")
    if page.files:
        more = len(page.files) - FILES_SHOWN
        rest = f" and {more} more" if more > 0 else ""
        print_line(f"  files      not downloaded in a dry run: {', '.join(page.files[:FILES_SHOWN])}{rest}")
    for reason, group in page.refused.items():
        print_line(f"  skips      {count(group.count, 'link')} ({reason}): {', '.join(group.examples)}")
    for name, steps in page.counts.items():
        if steps.emptied or steps.rejected:
            text = f"{steps.emptied} of {steps.seen} not parsed, {steps.rejected} rejected"
            print_line(f"  step       {name}: {text}")
        if steps.unsure:
            option = "formats" if name.endswith(" date") else "locale"
            text = f"{steps.unsure} of {steps.seen} can be read in two ways; set {option!r}"
            print_line(f"  unsure     {name}: {text}")


def _coverage_note(line: FieldCoverageCount) -> str:
    if line.filled > line.items * LOW:
        return ""
    return "rarely found" if line.filled else "never found"


def _print_coverage(preview: Preview) -> None:
    from smartspider.cli.terminal.tables import cell_text, print_table

    lines = [
        {
            "field": line.field if line.page == "default" else f"{line.page}.{line.field}",
            "filled": f"{line.filled}/{line.items}",
            "note": _coverage_note(line),
            "for example": cell_text(line.sample),
        }
        for line in preview.coverage
    ]
    print_table(lines, ("field", "filled", "note", "for example"), "coverage")


@click.command("dry-run")
@click.argument("task", type=TaskFile())
@click.option(
    "--limit",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="Maximum number of pages to fetch.",
)
@click.option("--set", "settings", multiple=True, metavar="A.B=JSON", help="Override a value of the task.")
@printed(
    _print_preview,
    to_json=lambda found: found[0],
    exit_code=lambda found: Exit.OK if found[0].pages else Exit.FAILED,
    about="Print the result as one JSON object.",
)
def dry_run(task: Path, limit: int, settings: tuple[str, ...]) -> tuple[Preview, Path]:
    """Fetch a few pages of a task as a crawl would and show the rows. Nothing is stored."""
    from smartspider.cli.tasks.loading import load_task_file
    from smartspider.installation.settings import read_settings
    from smartspider.services.plans import compile_plan
    from smartspider.taskfile.compile import compile_task
    from smartspider.wiring.preview.task_preview import preview_task
    from smartspider.wiring.processes.lifecycle import run_loop

    plan = compile_task(load_task_file(task, settings))
    if plan.runs_functions:
        expect_functions()
    compile_plan(plan, is_local=True)
    installation_settings = read_settings()
    for override in plan.overrides:
        print_message(f"note: {override}")
    print_gates_note()
    preview = preview_task(plan, installation_settings, limit=limit, shown_level=printed_log_level())
    return run_loop(preview), task
