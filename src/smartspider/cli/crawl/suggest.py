"""`suggest`: a task for a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from smartspider.cli.crawl.fetch_options import HEADERS, IGNORE_ROBOTS, parse_headers, run_fetching
from smartspider.cli.terminal.output import print_json, print_message, printed
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.core.pages.page import Page
    from smartspider.core.runs.plan import Plan
    from smartspider.suggest.suggestion import Suggestion

_SHOWN_VALUES = 3
_SHOWN_CHARS = 24


class SuggestResult(msgspec.Struct, frozen=True):
    """The candidates of a page, the chosen one, and the task made from it."""

    url: str
    final_url: str
    candidates: list[Suggestion]
    choice: int
    task: dict[str, Any]
    file: Path | None
    explains: bool = False
    headers: dict[str, str] = {}

    @property
    def chosen(self) -> Suggestion:
        """The chosen candidate."""
        return self.candidates[self.choice - 1]


def _print_result(result: SuggestResult) -> None:
    _print_candidates(result)
    if result.file is None:
        print_json(result.task)
        print_message("next: save it as task.json (or use -o task.json), then: smartspider dry-run task.json")


def _written_message(result: SuggestResult) -> str:
    return "" if result.file is None else f"wrote {result.file}; next: smartspider dry-run {result.file}"


def _result_json(result: SuggestResult) -> dict[str, Any]:
    from smartspider.services.preview.suggesting import suggested_task
    from smartspider.suggest.explanation import explain

    return {
        "url": result.url,
        "final_url": result.final_url,
        "choice": result.choice,
        "explanation": explain(result.candidates, result.choice),
        "candidates": [
            {**msgspec.to_builtins(one), "task": suggested_task(one, result.url, result.headers)}
            for one in result.candidates
        ],
    }


@click.command()
@click.argument("url")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=None, metavar="FILE", help="Output file."
)
@click.option(
    "--choice",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of the candidate to use.",
)
@click.option("--explain", is_flag=True, help="Show why this candidate is first and the others are not.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@HEADERS
@IGNORE_ROBOTS
@printed(
    _print_result,
    message=_written_message,
    to_json=_result_json,
    about="Print all candidates with their tasks as one JSON object.",
)
def suggest(
    url: str,
    output: Path | None,
    choice: int,
    headers: tuple[str, ...],
    *,
    explain: bool,
    force: bool,
    ignore_robots: bool,
) -> SuggestResult:
    """Fetch a page, detect its list and fields, check its next page, and print a task that crawls it.

    The URL of a feed, a sitemap or a JSON API works, too. Candidates go to stderr, best first; the task goes
    to stdout or to the file given with -o.
    """
    from smartspider.core.errors import NotAllowed
    from smartspider.services.preview.suggesting import suggested_task
    from smartspider.suggest.suggestion import to_task_name
    from smartspider.taskfile.load import parse_task
    from smartspider.wiring.preview.command_fetch import command_plan

    if output is not None and output.exists() and not force:
        raise NotAllowed(f"{output} exists", hint="choose another name, or add --force")
    name = to_task_name(output.stem) if output is not None else None
    own = parse_headers(headers)
    page, found = candidates_of(url, command_plan(url, own), name, obey_robots=not ignore_robots)
    task = suggested_task(chosen_of(found, choice), url, own)
    parse_task(task)
    if output is not None:
        write_task(output, task)
    return SuggestResult(url, page.url, found, choice, task, output, explain, own)


def candidates_of(
    url: str, plan: Plan, name: str | None, *, obey_robots: bool
) -> tuple[Page, list[Suggestion]]:
    """Return a page, fetched by a plan, and its candidates; with -v, each request is printed."""
    from smartspider.services.preview.suggesting import find_candidates

    return run_fetching(plan, lambda fetch: find_candidates(url, fetch, name), obey_robots=obey_robots)


def chosen_of(found: list[Suggestion], choice: int) -> Suggestion:
    """Return the candidate with a number; raise `BadParameter` if there are fewer."""
    if choice > len(found):
        raise click.BadParameter(f"only {count(len(found), 'candidate')} found", param_hint="--choice")
    return found[choice - 1]


def _print_candidates(result: SuggestResult) -> None:
    """Print the candidates, and the fields of the chosen one with values of the page."""
    from smartspider.cli.terminal.tables import cell_text, print_table

    for number, one in enumerate(result.candidates, 1):
        mark = "*" if number == result.choice else " "
        text = f"{one.kind}, {count(one.count, 'item')}, score {one.score:.2f}"
        print_message(f"{mark} {number}. {text}: {items_text(one.items)}")
        print_message(f"     {'; '.join(one.reasons)}")
    rows = [
        {
            "field": field.name,
            "filled": f"{field.coverage:.0%}",
            "first values": " | ".join(_shown(cell_text(value)) for value in field.samples[:_SHOWN_VALUES]),
        }
        for field in result.chosen.fields
    ]
    print_table(rows, ("field", "filled", "first values"), to_stderr=True)
    print_message(next_page_line(result.chosen))
    if result.explains:
        from smartspider.suggest.explanation import explain

        for line in explain(result.candidates, result.choice):
            print_message(line)


def _shown(text: str) -> str:
    """Return a value cut to a few characters: a URL in the middle, another text at its end."""
    from smartspider.cli.terminal.tables import cut_url

    text = cut_url(text, _SHOWN_CHARS)
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"


def next_page_line(suggestion: Suggestion) -> str:
    """Return the next page of a suggestion and how it was checked, or why none is suggested."""
    found, pagination = suggestion.next_page, suggestion.pagination
    if pagination is not None:
        rule = "next page: " + ", ".join(f"{key} {value}" for key, value in pagination.items())
        return rule if found is None else f"{rule}\n  {found.url}: {found.message}"
    return "no next-page link found" if found is None else f"no next page\n  {found.url}: {found.message}"


def items_text(items: Any) -> str:
    """Return the rule that finds items, in one line."""
    if items is None:
        return "the page itself"
    return items if isinstance(items, str) else f"{items['type']} {items['expr']}"


def write_task(path: Path, task: dict[str, Any]) -> None:
    """Write a task to a file; raise `StoreUnavailable`."""
    import json

    from smartspider.core.errors import StoreUnavailable

    try:
        path.write_text(json.dumps(task, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror}") from error
