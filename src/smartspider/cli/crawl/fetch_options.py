"""Options and functions of commands that fetch single pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.terminal.output import print_message
from smartspider.cli.terminal.streams import printed_log_level

if TYPE_CHECKING:
    from collections.abc import Callable

    from smartspider.core.pages.page import Page
    from smartspider.core.runs.plan import Plan

HEADERS = click.option(
    *("-H", "--header", "headers"),
    multiple=True,
    metavar="'NAME: VALUE'",
    help="Send a request header; ${NAME} in it is a secret (SMARTSPIDER_VAR_NAME). May be repeated.",
)
IGNORE_ROBOTS = click.option("--ignore-robots", is_flag=True, help="Fetch even if robots.txt disallows it.")


def parse_headers(texts: tuple[str, ...]) -> dict[str, str]:
    """Return headers given as `Name: value`; a later one replaces an earlier one."""
    from smartspider.core.errors import RequestInvalid

    headers: dict[str, str] = {}
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon or not name.strip():
            raise RequestInvalid("--header: a header has the form NAME: VALUE", hint="-H 'Accept: text/html'")
        headers[name.strip()] = value.strip()
    return headers


def fetch_by(plan: Plan, *, obey_robots: bool) -> Page:
    """Fetch the entry of a plan; with -v, each request is printed."""
    from smartspider.wiring.preview.command_fetch import CommandFetcher
    from smartspider.wiring.processes.lifecycle import run_loop

    fetcher = CommandFetcher(plan, obey_robots=obey_robots, report=request_report())
    return run_loop(fetcher(plan.entries[0].url))


def request_report() -> Callable[[str], object] | None:
    """Return the function that prints a line about each request, or None without -v."""
    return None if printed_log_level() is None else print_message


def with_headers(task: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
    """Return a task document that sends these headers in addition to its own."""
    if not headers:
        return task
    fetch = _object(task.get("fetch"))
    named = {name.lower() for name in headers}
    kept = {name: text for name, text in _object(fetch.get("headers")).items() if name.lower() not in named}
    return {**task, "fetch": {**fetch, "headers": {**kept, **headers}}}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
