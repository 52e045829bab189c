"""`dry-run`: a look at what a task would find."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from smartspider.services.preview.preview import FieldCoverageCount, Preview, PreviewedPage

ROWS_SHOWN = 10
LOW = 0.5
"""A field that fewer items have is worth a second look."""


@click.command("dry-run")
@click.argument("task", type=click.Path(path_type=Path))
@click.option("--limit", type=click.IntRange(1, 100), default=3, show_default=True, help="Pages to fetch.")
@click.option("--set", "settings", multiple=True, metavar="A.B=JSON", help="Change a value of the task.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
def dry_run(task: Path, limit: int, settings: tuple[str, ...], *, as_json: bool) -> int:
    """Fetch a few pages of a task as a crawl would, show what comes out of them, and keep nothing."""
    from smartspider.cli.exit_codes import Exit
    from smartspider.cli.output import print_json, say
    from smartspider.installation.addresses import address_policy
    from smartspider.installation.settings import read_settings
    from smartspider.services.runs.compiled import compile_plan
    from smartspider.taskfile.compile import compile_task
    from smartspider.taskfile.load import load_task
    from smartspider.wiring.loop import run_loop
    from smartspider.wiring.previewing import preview_task

    plan = compile_task(load_task(task, settings))
    compile_plan(plan)
    installation = read_settings()
    address_policy(plan, installation)
    for override in plan.overrides:
        say(f"note: {override}")
    preview = run_loop(preview_task(plan, installation, limit=limit))
    if as_json:
        print_json(preview)
    else:
        _show(preview, task)
    return Exit.OK if preview.pages else Exit.FAILED


def _show(preview: Preview, task: Path) -> None:
    from smartspider.cli.output import count, say, tell
    from smartspider.cli.tables import show_rows

    for page in preview.pages:
        _show_page(page)
    for failure in preview.failures:
        tell(f"failed   {failure.url}: {failure.reason}")
    if preview.rows:
        shown = preview.rows[:ROWS_SHOWN]
        title = f"{len(shown)} of {count(len(preview.rows), 'row')}"
        show_rows(shown, preview.columns, title)
        _show_coverage(preview)
    elif preview.pages:
        tell("no rows: no item was found on these pages (or every one was rejected)")
    if preview.rows:
        say(f"nothing was kept; next: smartspider crawl {task} -o rows.csv")
    elif preview.pages:
        say(f"nothing was kept; try selectors with: smartspider shell {preview.pages[0].url}")


def _show_page(page: PreviewedPage) -> None:
    from smartspider.cli.output import count, tell

    found = count(len(page.items), "item")
    tell(f"fetched  {page.url} ({page.status}, page type {page.page}, read by {page.engine}): {found}")
    if page.rejected:
        reasons = dict.fromkeys(str(one["reason"]) for one in page.rejected)
        tell(f"  rejected   {count(len(page.rejected), 'item')}: {'; '.join(reasons)}")
    if page.next_pages:
        tell(f"  next page  {', '.join(page.next_pages[:3])}")
    if page.followed_count:
        more = page.followed_count - len(page.followed)
        rest = f" and {more} more" if more else ""
        tell(f"  follows    {', '.join(page.followed)}{rest}")
    for reason, group in page.refused.items():
        tell(f"  leaves out {count(group.count, 'link')} ({reason}): {', '.join(group.examples)}")
    for name, steps in page.counts.items():
        if steps.emptied or steps.rejected:
            said = f"{steps.emptied} of {steps.seen} not understood, {steps.rejected} rejected"
            tell(f"  step       {name}: {said}")


def _note(line: FieldCoverageCount) -> str:
    if line.filled > line.items * LOW:
        return ""
    return "rarely found" if line.filled else "never found"


def _show_coverage(preview: Preview) -> None:
    from smartspider.cli.tables import cell, show_rows

    lines = [
        {
            "field": line.field if line.page == "default" else f"{line.page}.{line.field}",
            "filled": f"{line.filled}/{line.items}",
            "note": _note(line),
            "for example": cell(line.sample),
        }
        for line in preview.coverage
    ]
    show_rows(lines, ("field", "filled", "note", "for example"), "coverage")
