"""`fetch`, `extract`, `shell`: fetch one page and try rules on it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.crawl.fetch_options import (
    HEADERS,
    IGNORE_ROBOTS,
    fetch_by,
    parse_headers,
    with_headers,
)
from smartspider.cli.own_functions import expect_functions
from smartspider.cli.terminal.output import json_option, print_json_line, print_message, printed
from smartspider.cli.terminal.streams import write_data
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.core.pages.page import Page
    from smartspider.core.runs.plan import Plan
    from smartspider.services.preview.rules import RuleResult


def _print_page(fetched: tuple[str, Page, bool]) -> None:
    _, page, only_head = fetched
    for hop in page.hops:
        print_message(f"redirected from {hop}")
    print_message(
        f"{page.status} {page.url} ({count(len(page.body), 'byte')}, {page.charset}, {page.elapsed_s:.3f} s)"
    )
    for name, value in page.headers.items():
        print_message(f"{name}: {value}")
    if not only_head:
        write_data(page.text)


def _page_json(fetched: tuple[str, Page, bool]) -> dict[str, Any]:
    url, page, only_head = fetched
    return {
        "url": url,
        "final_url": page.url,
        "status": page.status,
        "headers": page.headers,
        "charset": page.charset,
        "bytes": len(page.body),
        "elapsed_s": round(page.elapsed_s, 4),
        "redirects": list(page.hops),
        "text": "" if only_head else page.text,
    }


@click.command()
@click.argument("url")
@click.option("--head", "only_head", is_flag=True, help="Show the status and headers only.")
@HEADERS
@IGNORE_ROBOTS
@printed(_print_page, to_json=_page_json, about="Print the response as one JSON object.")
def fetch(
    url: str, headers: tuple[str, ...], *, only_head: bool, ignore_robots: bool
) -> tuple[str, Page, bool]:
    """Fetch one URL with the crawler's HTTP stack and print the body.

    Status and headers go to stderr.
    """
    from smartspider.wiring.preview.command_fetch import command_plan

    plan = command_plan(url, parse_headers(headers))
    return url, fetch_by(plan, obey_robots=not ignore_robots), only_head


def _print_items(extracted: tuple[Page, RuleResult]) -> None:
    page, found = extracted
    for item in found.items:
        print_json_line(item)
    for reject in found.rejected:
        print_message(f"rejected: {reject['reason']}")
    print_message(f"{page.status} {page.url}: {count(len(found.items), 'item')}, read by {found.engine}")


def _items_json(extracted: tuple[Page, RuleResult]) -> dict[str, Any]:
    page, found = extracted
    return {
        "url": page.url,
        "status": page.status,
        "engine": found.engine,
        "items": found.items,
        "rejected": found.rejected,
    }


@click.command()
@click.argument("url")
@click.argument("rules")
@click.option(
    "--page", "page_type", default="default", show_default=True, help="Page type whose rules are used."
)
@HEADERS
@IGNORE_ROBOTS
@printed(
    _print_items,
    to_json=_items_json,
    about="Print one JSON object with rows, rejected items and the engine.",
)
def extract(
    url: str, rules: str, page_type: str, headers: tuple[str, ...], *, ignore_robots: bool
) -> tuple[Page, RuleResult]:
    """Fetch a URL, apply RULES and print one JSON object per row.

    RULES is a file (a task or its `selectors`), the same content as inline JSON, or one selector: CSS such as
    'h1::text', or XPath such as '//h1/text()'. The page is fetched with the `fetch` of a task.
    """
    from smartspider.services.preview.rules import apply_rules, build_task
    from smartspider.wiring.fetch_page import check_url

    check_url(url)
    task = with_headers(build_task(url, _read_rules(rules), page_type), parse_headers(headers))
    folder = Path(rules).parent if _is_file(rules) else Path()
    plan = _checked_plan(task, folder)
    page = fetch_by(plan, obey_robots=not ignore_robots)
    return page, apply_rules(task, page, folder)


def _checked_plan(task: dict[str, Any], folder: Path) -> Plan:
    """Return the plan of rules; raise `TaskInvalid` for invalid ones before anything is fetched."""
    from smartspider.services.plans import compile_plan
    from smartspider.taskfile.compile import compile_task
    from smartspider.taskfile.load import parse_local_task

    plan = compile_task(parse_local_task(task, folder))
    if plan.runs_functions:
        expect_functions()
    compile_plan(plan, is_local=True)
    return plan


def _read_rules(rules: str) -> Any:
    """Read rules from JSON text, a file or a plain selector."""
    from smartspider.core.errors import NotFound
    from smartspider.services.preview.rules import rule_for_all
    from smartspider.taskfile.load import read_document, read_text

    if rules.lstrip().startswith(("{", "[{", '["')):
        return read_document(rules, "rules.json")
    if _is_file(rules):
        path = Path(rules)
        return read_document(read_text(path), path.name)
    if not rules.strip():
        raise NotFound("RULES is empty", hint="for example: 'h1::text'")
    return rule_for_all(rules)


def _is_file(rules: str) -> bool:
    is_json = rules.lstrip().startswith(("{", "["))
    return not is_json and Path(rules).suffix.lower() in {".json", ".yaml", ".yml"}


@click.command()
@click.argument("url")
@HEADERS
@IGNORE_ROBOTS
@json_option("Print each result as one line of JSON.")
def shell(url: str, headers: tuple[str, ...], *, ignore_robots: bool, as_json: bool) -> None:
    """Fetch a URL, try rules on it interactively, and save them as a task."""
    from smartspider.cli.crawl.shell import ShellSession

    expect_functions(has_prompt=sys.stdin.isatty())
    ShellSession(parse_headers(headers), obey_robots=not ignore_robots, as_json=as_json).run(url)
