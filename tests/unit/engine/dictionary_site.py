"""A site made of a dictionary, and how its pages are read."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from smartspider.core.pages.extraction import Extraction, Link
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Request
from smartspider.interfaces.fetcher import Exchange

HOST = "http://h.example"


class Site:
    """Answers with the links of the page; a path in `doors` is answered when its door is opened."""

    def __init__(self, pages: dict[str, list[str]], host: str = HOST) -> None:
        self._pages = pages
        self._host = host
        self.errors: dict[str, list[Exception]] = {}
        self.doors: dict[str, asyncio.Event] = {}
        self.fetched: Counter[str] = Counter()
        self.only_waits = False
        """Requests that wait for their doors say so."""
        self._knock = asyncio.Event()

    async def fetch(self, exchange: Exchange) -> Page:
        request = exchange.request
        await exchange.permit.enter()
        exchange.permit.sent()
        path = request.url.removeprefix(self._host)
        self.fetched[path] += 1
        self._knock.set()
        if path in self.doors:
            exchange.progress.only_waits = self.only_waits
            await self.doors[path].wait()
            exchange.progress.only_waits = False
        if waiting := self.errors.get(path):
            raise waiting.pop()
        body = "\n".join(self._pages.get(path, [])).encode()
        return Page(request.url, 200, {}, body, "utf-8", 0.0)

    def close(self, *paths: str) -> None:
        self.doors.update({path: asyncio.Event() for path in paths})

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until fetches have made something true."""
        while not is_so():
            self._knock.clear()
            await self._knock.wait()


class Lines:
    """An extractor: a line is a link, a page is an item."""

    def engine_of(self, page: str) -> str:
        raise NotImplementedError(page)

    def extract(self, page: Page, _request: Request) -> Extraction:
        links = [Link(href, "default") for href in page.text.split("\n") if href]
        return Extraction([{"url": page.url}], links, page.url)
