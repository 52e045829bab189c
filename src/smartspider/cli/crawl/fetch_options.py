"""Options and functions of commands that fetch single pages."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import click

from smartspider.cli.terminal.output import print_message
from smartspider.cli.terminal.streams import printed_log_level

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from smartspider.core.pages.page import Page
    from smartspider.core.runs.plan import Plan
    from smartspider.wiring.preview.command_fetch import FetchUrl

T = TypeVar("T")

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
    return run_fetching(plan, lambda fetch: fetch(plan.entries[0].url), obey_robots=obey_robots)


def run_fetching(plan: Plan, work: Callable[[FetchUrl], Coroutine[Any, Any, T]], *, obey_robots: bool) -> T:
    """Run `work` with a function that fetches URLs by a plan; with -v, each request is printed."""
    from smartspider.wiring.preview.command_fetch import command_fetcher
    from smartspider.wiring.processes.lifecycle import run_loop

    async def fetching() -> T:
        async with command_fetcher(plan, obey_robots=obey_robots, report=request_report()) as fetch:
            return await work(fetch)

    print_gates_note()
    return run_loop(fetching())


@cache
def print_gates_note() -> None:
    """Print a note, once, if this command cannot see other crawls of this machine."""
    from smartspider.installation.settings import read_settings
    from smartspider.wiring.opening import gates_note

    if note := gates_note(read_settings()):
        print_message(f"note: {note}")


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
