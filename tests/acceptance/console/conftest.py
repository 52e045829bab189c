"""A server with its demo shop, and browsers that look at its console."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Playwright, expect, sync_playwright
from tests.acceptance.console.visitor import Visitor
from tests.acceptance.server import Server, served
from tests.acceptance.workshop import Workshop

from smartspider_testing.servers.programs import chromium
from smartspider_testing.waiting import WAIT_S

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run", "--disable-quic", "--disable-dev-shm-usage"),
)

Visit = Callable[..., Visitor]


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    """Of one module: its event loop must not run while other tests have theirs."""
    with sync_playwright() as started:
        expect.set_options(timeout=WAIT_S * 1000)
        yield started


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    launched = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
    yield launched
    launched.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server as `make serve` starts it, on free ports. All tests of a module share it."""
    workshop = Workshop(Path(tmp_path_factory.mktemp("console")) / "here")
    try:
        with served(workshop, "--demo", "--demo-port", "0") as started:
            yield started
    finally:
        workshop.close()


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Visit]:
    """Opens browser profiles of their own. At the end no page may have broken a rule."""
    contexts: list[BrowserContext] = []
    visitors: list[Visitor] = []

    def opened(**options: Any) -> Visitor:
        context = browser.new_context(**{"locale": "en-US", **options})
        context.set_default_timeout(WAIT_S * 1000)
        contexts.append(context)
        visitors.append(Visitor(context, server))
        return visitors[-1]

    yield opened
    broken = [rule for visitor in visitors for rule in visitor.broken]
    for context in contexts:
        context.close()
    assert broken == []
