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
from smartspider.cli.crawl.suggest import find_candidates, items_text, next_page_line, write_task
from smartspider.cli.terminal.output import confirm, count, print_message
from smartspider.cli.terminal.stages import shown_stages
from smartspider.cli.terminal.streams import is_quiet
from smartspider.cli.terminal.tables import print_table
from smartspider.core.errors import NotAllowed, NotFound, RequestInvalid
from smartspider.core.pages.page import Page
from smartspider.core.requests.politeness import PolitenessPolicy
from smartspider.core.runs.run import UNFINISHED
from smartspider.installation.data_folder import folder_of, runs_with_pending_output
from smartspider.installation.settings import read_settings
from smartspider.services.preview.rules import apply_rules
from smartspider.services.results.outputs import check_outputs
from smartspider.suggest.suggestion import Suggestion, task_name, to_task, to_task_name
from smartspider.taskfile.load import apply_overrides, parse_task
from smartspider.wiring.opening import open_folder
from smartspider.wiring.processes.lifecycle import run_loop

SHOWN_ROWS = 5


class UrlOptions(msgspec.Struct, frozen=True):
    """Options of `crawl` that concern the suggested task."""

    settings: tuple[str, ...] = ()
    save: Path | None = None
    yes: bool = False


def crawl_url(url: str, options: CrawlOptions, about: UrlOptions) -> int:
    """Crawl a page with the task suggested for it, or resume the unfinished run of that task."""
    check_outputs(options.outputs, options.output_options)
    if about.save is not None and about.save.exists():
        raise NotAllowed(f"{about.save} exists", hint=f"smartspider crawl {shlex.quote(str(about.save))}")
    name = task_name(url) if about.save is None else to_task_name(about.save.stem)
    document = None if options.fresh else _unfinished(url, folder_of(options.data, name), name)
    if document is not None:
        print_message(f"resuming the task suggested for {url}")
    else:
        document = _confirmed(url, name, about)
    if about.save is not None:
        write_task(about.save, document)
        print_message(f"wrote {about.save}")
    code = crawl_task(parse_task(apply_overrides(document, about.settings)), options)
    if about.save is None:
        print_message(f"to keep the task: {_suggest_command(url)}")
    return code


def _confirmed(url: str, name: str, about: UrlOptions) -> dict[str, Any]:
    """Return the task suggested for a page after its owner saw the rows and agreed; raise `NotAllowed`."""
    page, chosen = _suggest(url, name)
    fetched_at = time.monotonic()
    suggested = to_task(chosen, url)
    document = {"name": suggested["name"], "description": _description(url), **suggested}
    task: Any = apply_overrides(document, about.settings)
    parse_task(task)  # mistakes in overrides are reported before anything is asked
    if not is_quiet():
        _show(chosen, _first_rows(chosen, task, page))
    _ask(url, name, yes=about.yes)
    # The suggestion has sent the last request to the host, and the crawl sends the next.
    time.sleep(max(0.0, fetched_at + PolitenessPolicy().delay_s - time.monotonic()))
    return document


def _suggest_command(url: str) -> str:
    return f"smartspider suggest {shlex.quote(url)} -o task.json"


def _description(url: str) -> str:
    return f"Suggested for {url}"


def _unfinished(url: str, path: Path, name: str) -> dict[str, Any] | None:
    """Return the task of the newest run if it was suggested for this URL and is not finished, or its output
    is not written. A new suggestion could differ, because pages change.
    """
    if not (path / FILE).exists():
        return None
    with open_folder(path, settings=read_settings()) as folder:
        newest = next(iter(run_loop(folder.store.find_runs(name, limit=1))), None)
    if newest is None or (newest.state not in UNFINISHED and newest.id not in runs_with_pending_output(path)):
        return None
    spec: dict[str, Any] = msgspec.json.decode(newest.spec)
    return spec if spec.get("description") == _description(url) else None


def _suggest(url: str, name: str) -> tuple[Page, Suggestion]:
    try:
        with shown_stages() as report:
            report(f"looking for a list on {url}")
            page, found = run_loop(find_candidates(url, name, obey_robots=True))
    except NotFound as error:  # there is no task to crawl
        raise RequestInvalid(error.message, hint=error.hint) from error
    return page, found[0]


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


def _ask(url: str, name: str, *, yes: bool) -> None:
    """Return if the user agrees; raise `NotAllowed` otherwise, or without a terminal."""
    if not yes and not sys.stdin.isatty():
        raise NotAllowed(
            "crawling a suggested task requires confirmation",
            hint=f"add --yes, or keep the task: {_suggest_command(url)}",
        )
    confirm(f"crawl it as task {name!r}?", "crawling a suggested task", yes=yes)
