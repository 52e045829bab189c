"""Somebody with a browser of their own at the console."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped] # it ships no types
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, expect
from tests.acceptance.server import Server

GRAVE = frozenset({"serious", "critical"})
WATCH = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`csp: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`));
"""

ENDED = """
() => Promise.allSettled(
  document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished))
"""
"""Waits for transitions; other animations may have no end."""


class Visitor:
    """A browser profile. `broken` lists violated policies, failed scripts and requests to elsewhere."""

    def __init__(self, context: BrowserContext, server: Server) -> None:
        self.context, self.server = context, server
        self.broken: list[str] = []
        context.add_init_script(WATCH)
        context.on("request", self._see_request)
        context.on("console", self._see_message)
        context.on("weberror", lambda error: self.broken.append(f"script: {error.error}"))

    def open(self, path: str = "/") -> Page:
        """Open a path in a new tab."""
        page = self.context.new_page()
        page.goto(self.server.url + path)
        return page

    def sign_in(self, path: str = "/", token: str | None = None) -> Page:
        """Open a tab that is signed in by a token, that of the admin unless another is given."""
        page = self.open(path)
        sign_in(page, token or self.server.token)
        expect(page.get_by_role("navigation")).to_be_visible()
        return page

    def _see_request(self, request: Request) -> None:
        if not request.url.startswith((self.server.url, "data:")):
            self.broken.append(f"asked {request.url}")

    def _see_message(self, message: ConsoleMessage) -> None:
        if any(mark in message.text for mark in ("Content Security Policy", "csp:", "[Vue")):
            self.broken.append(message.text)


def sign_in(page: Page, token: str) -> None:
    """Fill in the form, in any language."""
    page.locator("form select").first.select_option("token")
    page.locator("input[type=password]").fill(token)
    page.locator("button[type=submit]").click()


def grave_findings(page: Page) -> list[dict[str, Any]]:
    """What axe finds serious or critical, once no colour changes any more."""
    page.evaluate(ENDED)
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        {"rule": one["id"], "nodes": [node["html"][:200] for node in one["nodes"]]}
        for one in found
        if one["impact"] in GRAVE
    ]
