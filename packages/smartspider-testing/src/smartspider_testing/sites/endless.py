"""Lists whose links have no end: five pages of five entries each.

    python -m smartspider_testing.sites.endless --list last

`last` and `first` show that page for all pages after the last one, and link on; `clock` links to its last
page again and again, at another time; `path` and `query` have a session id in all links, which every answer
replaces.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from smartspider.demo.process import serve_until_stopped

PAGES = 5
PER_PAGE = 5
KINDS = ("last", "first", "clock", "path", "query")


class EndlessLists:
    """A site with a list of one kind. `/_stats` tells which URLs were asked for."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._clock = itertools.count(1_699_999_999)
        self._served: list[str] = []

    def app(self) -> web.Application:
        """Return the application."""
        app = web.Application()
        app.add_routes(
            [
                web.get("/_stats", self._stats),
                web.get(r"/list{session:.*}", self._list),
                web.get(r"/entry/{number:\d+}{session:.*}", self._entry),
            ]
        )
        return app

    async def _list(self, request: web.Request) -> web.Response:
        self._served.append(request.path_qs)
        asked = int(request.query.get("page", 1))
        shown = asked if asked <= PAGES else {"first": 1}.get(self._kind, PAGES)
        link = self._linker()
        entries = range((shown - 1) * PER_PAGE + 1, shown * PER_PAGE + 1)
        items = "".join(
            f'<li><a class="entry" href="{link(f"/entry/{entry}")}">entry {entry}</a></li>'
            for entry in entries
        )
        further = f'<a class="next" href="{self._next(asked, link)}">more</a>'
        start = f'<a class="start" href="{link("/list")}">start</a>'
        return _html(f"<h1>Page {asked}</h1>{start}<ul>{items}</ul>{further}")

    def _next(self, asked: int, link: Linker) -> str:
        if self._kind == "clock":
            return link("/list", f"page={min(asked + 1, PAGES)}&t={next(self._clock)}")
        if self._kind in ("path", "query"):
            return link("/list", f"page={asked % PAGES + 1}")
        return link("/list", f"page={asked + 1}")

    async def _entry(self, request: web.Request) -> web.Response:
        self._served.append(request.path_qs)
        start = self._linker()("/list")
        return _html(
            f'<h1>entry {request.match_info["number"]}</h1><a class="start" href="{start}">start</a>'
        )

    def _linker(self) -> Linker:
        return Linker(self._kind, secrets.token_hex(16))

    async def _stats(self, _request: web.Request) -> web.Response:
        return web.json_response(self._served)


class Linker:
    """Writes the links of one answer, all with its session id."""

    def __init__(self, kind: str, session: str) -> None:
        self._kind = kind
        self._session = session

    def __call__(self, path: str, query: str = "") -> str:
        """Return a link."""
        if self._kind == "path":
            path += f";jsessionid={self._session}"
        elif self._kind == "query":
            query = f"{query}&sid={self._session}" if query else f"sid={self._session}"
        return f"{path}?{query}" if query else path


@asynccontextmanager
async def serving_lists(lists: EndlessLists) -> AsyncIterator[str]:
    """Serve the site on a free port of loopback."""
    runner = web.AppRunner(lists.app())
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/"
    finally:
        await runner.cleanup()


def _html(body: str) -> web.Response:
    text = f"<!DOCTYPE html><title>Endless</title>{body}"
    return web.Response(text=text, content_type="text/html")


def main() -> None:
    """Serve until stdin closes or a signal arrives."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", choices=KINDS, default="last")
    told = parser.parse_args()
    asyncio.run(serve_until_stopped(serving_lists(EndlessLists(told.list))))


if __name__ == "__main__":
    main()
