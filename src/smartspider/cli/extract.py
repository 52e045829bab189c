"""`extract`: rules tried on one URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("url")
@click.argument("rules")
@click.option("--page", "page_type", default="default", show_default=True, help="Page type of the rules.")
@click.option("--ignore-robots", is_flag=True, help="Fetch although robots.txt forbids it.")
@click.option("--json", "as_json", is_flag=True, help="Print one object with rows, rejects and the engine.")
def extract(url: str, rules: str, page_type: str, *, ignore_robots: bool, as_json: bool) -> int:
    """Fetch a URL and print what RULES find in it, one JSON object per row.

    RULES is a file (a task, or just its selectors), the same as JSON text, or one selector: CSS such as
    'h1::text', or XPath such as '//h1/text()'.
    """
    from smartspider.cli.exit_codes import Exit
    from smartspider.cli.output import count, print_json, say, tell_json
    from smartspider.services.preview.rules import task_from, try_rules
    from smartspider.wiring.fetch_one import fetch_one
    from smartspider.wiring.loop import run_loop

    task = task_from(url, _read_rules(rules), page_type)
    _check(task)
    page = run_loop(fetch_one(url, obey_robots=not ignore_robots))
    tried = try_rules(task, page)
    if as_json:
        print_json(
            {
                "url": page.url,
                "status": page.status,
                "engine": tried.engine,
                "items": tried.items,
                "rejected": tried.rejected,
            }
        )
        return Exit.OK
    for item in tried.items:
        tell_json(item)
    for reject in tried.rejected:
        say(f"rejected: {reject['reason']}")
    say(f"{page.status} {page.url}: {count(len(tried.items), 'item')}, read by {tried.engine}")
    return Exit.OK


def _check(task: dict[str, Any]) -> None:
    """Wrong rules are refused before anything is fetched."""
    from smartspider.services.runs.compiled import compile_plan
    from smartspider.taskfile.compile import compile_task
    from smartspider.taskfile.load import parse_task

    compile_plan(compile_task(parse_task(task)))


def _read_rules(rules: str) -> Any:
    """A file, JSON text or a plain selector."""
    from smartspider.core.errors import NotFound
    from smartspider.services.preview.rules import many
    from smartspider.taskfile.load import read_document, read_text

    if rules.lstrip().startswith(("{", "[{", '["')):
        return read_document(rules, "rules.json")
    path = Path(rules)
    if path.suffix.lower() in {".json", ".yaml", ".yml"}:
        return read_document(read_text(path), path.name)
    if not rules.strip():
        raise NotFound("RULES is empty", hint="for example: 'h1::text'")
    return many(rules)
