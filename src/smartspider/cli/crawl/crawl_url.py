"""`crawl URL`: suggest a task for a page, show its first rows, ask, and crawl it."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from smartspider.backends.sqlite.database import FILE
from smartspider.cli.crawl.crawl_task import CrawlOptions, crawl_task
from smartspider.cli.crawl.suggest import (
    candidates_of,
    chosen_of,
    items_text,
    next_page_line,
    write_task,
)
from smartspider.cli.terminal.output import confirm, print_message
from smartspider.cli.terminal.stages import shown_stages
from smartspider.cli.terminal.streams import is_quiet
from smartspider.cli.terminal.tables import print_table
from smartspider.core.errors import NotAllowed
from smartspider.core.pages.page import Page
from smartspider.core.plurals import count
from smartspider.core.requests.politeness import PolitenessPolicy
from smartspider.core.runs.run import UNFINISHED
from smartspider.installation.data_folder import folder_of, runs_with_pending_output
from smartspider.installation.settings import read_settings
from smartspider.services.preview.rules import apply_rules
from smartspider.services.preview.suggesting import suggested_task
from smartspider.services.results.outputs import check_outputs
from smartspider.suggest.suggestion import Suggestion, task_name, to_task_name
from smartspider.taskfile.load import apply_overrides, parse_task
from smartspider.wiring.opening import open_folder
from smartspider.wiring.preview.command_fetch import command_plan
from smartspider.wiring.processes.lifecycle import run_loop

SHOWN_ROWS = 5
SHOWN_OTHERS = 3


class UrlOptions(msgspec.Struct, frozen=True):
    """Options of `crawl` that concern the suggested task."""

    settings: tuple[str, ...] = ()
    headers: dict[str, str] = {}
    save: Path | None = None
    choice: int = 1
    yes: bool = False


def crawl_url(url: str, options: CrawlOptions, about: UrlOptions) -> int:
    """Crawl a page with the task suggested for it, or resume the unfinished run of that task."""
    check_outputs(options.outputs, options.output_options)
    if about.save is not None and about.save.exists():
        raise NotAllowed(f"{about.save} exists", hint=f"smartspider crawl {shlex.quote(str(about.save))}")
    name = task_name(url) if about.save is None else to_task_name(about.save.stem)
    document = (
        None
        if options.fresh
        else _unfinished(_description(url, about.choice), folder_of(options.data, name), name)
    )
    if document is not None:
        print_message(f"resuming the task suggested for {url}")
    else:
        document = _confirmed(url, name, about)
    if about.save is not None:
        write_task(about.save, document)
        print_message(f"wrote {about.save}")
    code = crawl_task(parse_task(apply_overrides(document, about.settings)), options)
    if about.save is None:
        print_message(f"to keep the task: {_suggest_command(url, about)}")
    return code


def _confirmed(url: str, name: str, about: UrlOptions) -> dict[str, Any]:
    """Return the task suggested for a page after its owner saw the rows and agreed; raise `NotAllowed`."""
    page, found = _suggest(url, name, about)
    fetched_at = time.monotonic()
    chosen = chosen_of(found, about.choice)
    suggested = suggested_task(chosen, url, about.headers)
    description = _description(url, about.choice)
    document = {"name": suggested["name"], "description": description, **suggested}
    task: Any = apply_overrides(document, about.settings)
    parse_task(task)  # mistakes in overrides are reported before anything is asked
    if not is_quiet():
        _show(chosen, _first_rows(chosen, task, page))
        _show_others(found, about.choice)
    _ask(url, name, about)
    # The suggestion has sent the last request to the host, and the crawl sends the next.
    time.sleep(max(0.0, fetched_at + PolitenessPolicy().delay_s - time.monotonic()))
    return document


def _suggest_command(url: str, about: UrlOptions) -> str:
    """Return the command that writes the same task; header values stay out of it, they may be secrets."""
    parts = ["smartspider", "suggest", shlex.quote(url)]
    parts += [f"-H '{name}: ...'" for name in about.headers]
    parts += [f"--choice {about.choice}"] if about.choice > 1 else []
    return " ".join([*parts, "-o task.json"])


def _description(url: str, choice: int) -> str:
    return f"Suggested for {url}" + (f" (choice {choice})" if choice > 1 else "")


def _unfinished(description: str, path: Path, name: str) -> dict[str, Any] | None:
    """Return the task of the newest run if it has this description and is not finished, or its output is not
    written. A new suggestion could differ, because pages change.
    """
    if not (path / FILE).exists():
        return None
    with open_folder(path, settings=read_settings()) as folder:
        newest = next(iter(run_loop(folder.store.find_runs(name, limit=1))), None)
    if newest is None or (newest.state not in UNFINISHED and newest.id not in runs_with_pending_output(path)):
        return None
    spec: dict[str, Any] = msgspec.json.decode(newest.spec)
    return spec if spec.get("description") == description else None


def _suggest(url: str, name: str, about: UrlOptions) -> tuple[Page, list[Suggestion]]:
    plan = command_plan(url, about.headers, about.settings)
    with shown_stages() as report:
        report(f"looking for a list on {url}")
        return candidates_of(url, plan, name, obey_robots=True)


def _first_rows(chosen: Suggestion, task: dict[str, Any], page: Page) -> list[dict[str, Any]]:
    """Return the rows that a crawl stores first; for a sitemap those of a sample page."""
    if chosen.sitemap is None:
        return apply_rules(task, page).items[:SHOWN_ROWS]
    return [{field.name: next(iter(field.samples), None) for field in chosen.fields}]


def _show(chosen: Suggestion, rows: list[dict[str, Any]]) -> None:
    """Print the first rows of a suggestion, and which pages a crawl fetches."""
    what = "page" if chosen.kind == "sitemap" else "item"
    columns = list(dict.fromkeys(name for row in rows for name in row))
    found, fields = count(chosen.count, what), count(len(columns), "field")
    print_message(f"found {found} ({chosen.kind}, {items_text(chosen.items)}) with {fields}")
    print_table(rows, columns, "first rows", to_stderr=True)
    if chosen.sitemap is not None:
        print_message(f"a crawl fetches all pages that {chosen.sitemap} lists")
        return
    print_message(next_page_line(chosen))
    if chosen.details is not None:
        print_message(
            f"note: the pages behind {chosen.details!r} are not fetched; to get fields of theirs, save the"
            " task and add `follow`"
        )


def _show_others(found: list[Suggestion], choice: int) -> None:
    """Print the other candidates of the page, and how to crawl them."""
    others = [(number, one) for number, one in enumerate(found, 1) if number != choice]
    for number, one in others[:SHOWN_OTHERS]:
        print_message(
            f"also found {count(one.count, 'item')} ({one.kind}, {items_text(one.items)}): --choice {number}"
        )
    if len(others) > SHOWN_OTHERS:
        print_message(f"  and {len(others) - SHOWN_OTHERS} more; `smartspider suggest URL` lists all")


def _ask(url: str, name: str, about: UrlOptions) -> None:
    """Return if the user agrees; raise `NotAllowed` otherwise, or without a terminal."""
    if not about.yes and not sys.stdin.isatty():
        raise NotAllowed(
            "crawling a suggested task requires confirmation",
            hint=f"add --yes, or keep the task: {_suggest_command(url, about)}",
        )
    confirm(f"crawl it as task {name!r}?", "crawling a suggested task", yes=about.yes)
