"""A hundred thousand log lines in a browser: only the visible ones are in the page."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect
from tests.acceptance.console.conftest import Visit
from tests.acceptance.server import Server
from tests.acceptance.workshop import until

from smartspider.core.logs import LogLine
from smartspider.wiring.opening import open_folder
from smartspider_testing.waiting import scaled

pytestmark = [
    *(pytest.mark.acceptance, pytest.mark.soak, pytest.mark.timeout(scaled(300))),
    pytest.mark.xdist_group("console lines"),
]
LINES = 100_000
AT_ONCE = 5_000
LINE_PX = 22
MOST_NODES = 2_000
JUMPS = 20


async def write_lines(folder: Path) -> None:
    """Write lines into the folder of a server."""
    with open_folder(folder) as opened:
        now = opened.clock.now()
        for first in range(0, LINES, AT_ONCE):
            numbers = range(first, first + AT_ONCE)
            lines = [LogLine(now, 20, "page.done", f"line {number} of many") for number in numbers]
            await opened.logs.add(lines)


def height(log: Locator) -> int:
    return int(log.evaluate("log => log.scrollHeight"))


def test_100_000_lines_are_read_with_few_nodes_in_the_page(server: Server, visit: Visit) -> None:
    with ThreadPoolExecutor(1) as thread:  # Playwright has a loop in this one
        thread.submit(asyncio.run, write_lines(server.workshop.folder / "data")).result()
    page = visit().sign_in("/logs")
    log = page.get_by_role("log")
    expect(log.get_by_text(f"line {LINES - 1} of many")).to_be_visible()
    while height(log) < LINES * LINE_PX:
        before = height(log)
        log.evaluate("log => { log.scrollTop = 100; log.scrollTop = 0; }")
        until(lambda: height(log) > before, f"lines before {before // LINE_PX}")  # noqa: B023 # at once
    for jump in range(JUMPS):
        log.evaluate("(log, place) => { log.scrollTop = place * log.scrollHeight; }", jump / JUMPS)
        expect(log.get_by_text("of many").first).to_be_visible()
        assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
