"""`suggest`: a task for a page that nobody has described yet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from smartspider.core.pages.page import Page
    from smartspider.suggest.suggestion import Suggestion

_SHOWN_ROWS = 3
_SHOWN_CHARS = 24


@click.command()
@click.argument("url")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=None, metavar="FILE", help="Write it there."
)
@click.option(
    "--choice", type=click.IntRange(min=1), default=1, show_default=True, help="Which of the candidates."
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--ignore-robots", is_flag=True, help="Fetch although robots.txt forbids it.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print all candidates with their tasks as one JSON object."
)
def suggest(
    url: str,
    output: Path | None,
    choice: int,
    *,
    force: bool,
    ignore_robots: bool,
    as_json: bool,
) -> None:
    """Fetch one page, find its list, fields and next page, and print a task that crawls it.

    The candidates go to stderr, the best first; the task goes to stdout, or to the file of -o.
    """
    from smartspider.cli.output import count, print_json, say
    from smartspider.core.errors import NotAllowed
    from smartspider.suggest.suggestion import to_task
    from smartspider.suggest.suggestion import plain_name
    from smartspider.taskfile.load import parse_task
    from smartspider.wiring.fetch_one import fetch_one
    from smartspider.wiring.loop import run_loop

    if output is not None and output.exists() and not force:
        raise NotAllowed(f"{output} exists", hint="choose another name, or add --force")
    page = run_loop(fetch_one(url, obey_robots=not ignore_robots))
    found = _suggestions(page, url, plain_name(output.stem) if output is not None else None)
    if choice > len(found):
        raise click.BadParameter(f"there is {count(len(found), 'candidate')}", param_hint="--choice")
    if not as_json:
        _show(found, choice)
    task = to_task(found[choice - 1], url)
    parse_task(task)
    if output is not None:
        _write(output, task)
        say(f"wrote {output}; next: smartspider dry-run {output}")
    if as_json:
        print_json({"url": url, "final_url": page.url, "choice": choice, "candidates": _as_json(found, url)})
    elif output is None:
        print_json(task)
        say("next: save it as task.json (or use -o task.json), then: smartspider dry-run task.json")


def _suggestions(page: Page, url: str, name: str | None) -> list[Suggestion]:
    """What is found in the page; raises `NotFound` when that is nothing."""
    from smartspider.core.errors import NotFound, NotReadable
    from smartspider.suggest.suggest import suggest as suggest_for

    by_hand = "write the selectors by hand: smartspider init writes a task to start from"
    if page.status >= 400:
        raise NotFound(f"{url} answers {page.status}, so there is no page to look at", hint="check the URL")
    try:
        found = suggest_for(page, name)
    except NotReadable as error:
        raise NotFound(
            f"{url} cannot be suggested for: {error.message}", hint=error.hint or by_hand
        ) from error
    if not found:
        raise NotFound(
            f"nothing on {url} repeats or describes itself",
            hint=f"{by_hand}; a page that scripts build may have an API behind it: try that URL",
        )
    return found


def _show(found: list[Suggestion], choice: int) -> None:
    """The candidates, and the fields of the chosen one with values from the page."""
    from smartspider.cli.output import count, say
    from smartspider.cli.tables import cell, show_rows

    for number, one in enumerate(found, 1):
        chosen = "*" if number == choice else " "
        what = f"{one.kind}, {count(one.count, 'item')}, score {one.score:.2f}"
        say(f"{chosen} {number}. {what}: {_where(one.items)}")
        say(f"     {'; '.join(one.reasons)}")
    one = found[choice - 1]
    rows = [
        {
            "field": field.name,
            "filled": f"{field.coverage:.0%}",
            "first values": " | ".join(cell(value)[:_SHOWN_CHARS] for value in field.samples[:_SHOWN_ROWS]),
        }
        for field in one.fields
    ]
    show_rows(rows, ("field", "filled", "first values"), is_talk=True)
    if one.pagination is None:
        say("no next page was found")
    else:
        say("next page: " + ", ".join(f"{key} {value}" for key, value in one.pagination.items()))


def _where(items: Any) -> str:
    if items is None:
        return "the page itself"
    return items if isinstance(items, str) else f"{items['type']} {items['expr']}"


def _as_json(found: list[Suggestion], url: str) -> list[dict[str, Any]]:
    import msgspec

    from smartspider.suggest.suggestion import to_task

    return [{**msgspec.to_builtins(one), "task": to_task(one, url)} for one in found]


def _write(path: Path, task: dict[str, Any]) -> None:
    import json

    from smartspider.core.errors import StoreUnavailable

    try:
        path.write_text(json.dumps(task, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror}") from error
