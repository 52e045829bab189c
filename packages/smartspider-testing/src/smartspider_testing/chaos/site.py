"""The site that a cluster crawls: a known graph on several hosts that changes at every fetch.

As a process: `python -m smartspider_testing.chaos.site '{"pages": 300, "hosts": 4}'`. It timestamps every
request; `GET /_visits` returns all of them, `GET /_count` their number, `POST /_behavior` changes how the
site answers.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from smartspider.demo.process import serve_until_stopped
from smartspider_testing.sites.graph import ChangingGraph
from smartspider_testing.sites.http_server import ReceivedRequest, SiteExchange, listen_http

VISITS, COUNT, BEHAVIOR = "/_visits", "/_count", "/_behavior"
HTML = ("Content-Type", "text/html; charset=utf-8")
_LINK = re.compile(r'<li><a class="child" href="/p/([^"]+)">')
_MOVED = re.compile(r"/to/[12]/(.+)")
TWIN_EVERY = 7
"""Interval of pages that two redirecting URLs link to as well, if the layout has twins."""


class SiteLayout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The structure of the site."""

    pages: int = 300
    seed: int = 1
    hosts: int = 4
    leafy: float = 0.2
    has_twins: bool = False
    """True if redirects link to some pages as well."""
    is_wide: bool = False
    """True if the first page links to all others, so that many requests are open at once."""
    with_nul: tuple[str, ...] = ()
    """Pages whose text contains NUL and lone surrogates."""

    @property
    def graph(self) -> ChangingGraph:
        """The pages and their links."""
        return ChangingGraph(self.pages, self.seed, leafy=self.leafy)

    @property
    def names(self) -> list[str]:
        """The host names, all on this machine."""
        return [f"127.0.0.{number + 1}" for number in range(self.hosts)]

    def host_of(self, page: str) -> str:
        """Return the host of a page; a leaf is on the host of its parent."""
        return self.names[int(page.partition("-")[0]) % self.hosts]

    def is_twin(self, page: str) -> bool:
        """Return True if two redirects lead to a page."""
        return self.has_twins and page.isdecimal() and int(page) % TWIN_EVERY == TWIN_EVERY - 1


class SiteBehavior(msgspec.Struct, forbid_unknown_fields=True):
    """The current behaviour of the site."""

    latency_s: float = 0.0
    failing: tuple[str, ...] = ()
    """Pages that answer 500."""
    holding: str = ""
    """A host that answers its next request with 429 and `retry_after`, once."""
    retry_after: int = 0


class SiteVisit(msgspec.Struct, frozen=True, array_like=True):
    """A received request, with its monotonic time."""

    at: float
    host: str
    path: str
    page: str
    """Empty for a redirect or an answer without a page."""
    fetch: int
    status: int


class ChaosSite:
    """Answers requests and records them."""

    def __init__(self, layout: SiteLayout) -> None:
        self.layout = layout
        self.behavior = SiteBehavior()
        self.visits: list[SiteVisit] = []
        self._graph = layout.graph
        self._fetches: Counter[str] = Counter()
        self._port = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Serve in this event loop and yield the URL of the first host."""
        async with listen_http(self._answer, self.layout.names) as self._port:
            yield f"http://127.0.0.1:{self._port}/"

    async def _answer(self, exchange: SiteExchange) -> None:
        if exchange.arrival.path.startswith("/_"):
            await self._tell(exchange)
            return
        status, headers, body = self._reply(exchange.arrival)
        if self.behavior.latency_s > 0:
            await asyncio.sleep(self.behavior.latency_s)
        await exchange.reply(status, headers, body)

    def _reply(self, arrival: ReceivedRequest) -> tuple[int, list[tuple[str, str]], bytes]:
        host, path = arrival.host, arrival.path
        moved, page = _MOVED.fullmatch(path), path.removeprefix("/p/")
        status, fetch = 200, 0
        headers, body = [HTML], b""
        if self.behavior.holding == host:
            self.behavior.holding, status = "", 429
            headers = [("Retry-After", str(self.behavior.retry_after))]
        elif moved:
            status, headers = 302, [("Location", f"/p/{moved[1]}")]
        elif page == path or not self._graph.has(page) or self.layout.host_of(page) != host:
            status = 404
        elif page in self.behavior.failing:
            status = 500
        else:
            self._fetches[page] += 1
            fetch = self._fetches[page]
            body = self._html(page, fetch)
        seen = page if status == 200 else ""
        self.visits.append(SiteVisit(arrival.arrived_at, host, path, seen, fetch, status))
        return status, headers, body

    def _html(self, page: str, fetch: int) -> bytes:
        html = _LINK.sub(lambda found: self._anchors(found[1]), self._graph.html(page, fetch))
        if self.layout.is_wide and page == "0":
            html += "".join(map(self._anchors, map(str, range(1, self.layout.pages))))
        text = "nul\0 &#0; &#xD800;" if page in self.layout.with_nul else "plain"
        return html.replace("</li>\n", f'<i class="text">{text}</i></li>\n').encode()

    def _anchors(self, page: str) -> str:
        base = f"http://{self.layout.host_of(page)}:{self._port}"
        paths = [f"/p/{page}"]
        if self.layout.is_twin(page):
            paths += [f"/to/1/{page}", f"/to/2/{page}"]
        return "<li>" + "".join(f'<a class="child" href="{base}{path}">' for path in paths)

    async def _tell(self, exchange: SiteExchange) -> None:
        answer: Any = None
        match exchange.arrival.path:
            case "/_visits":
                answer = self.visits
            case "/_count":
                answer = len(self.visits)
            case "/_behavior":
                known = msgspec.to_builtins(self.behavior)
                self.behavior = msgspec.convert(
                    {**known, **msgspec.json.decode(exchange.arrival.body)}, SiteBehavior, strict=False
                )
        await exchange.reply(200, [("Content-Type", "application/json")], msgspec.json.encode(answer))


def main() -> None:
    """Serve until stdin closes or a signal arrives."""
    parser = argparse.ArgumentParser(prog="python -m smartspider_testing.chaos.site", description=__doc__)
    parser.add_argument("layout", type=lambda text: msgspec.json.decode(text, type=SiteLayout))
    with contextlib.suppress(OSError):
        # Gaps are measured here: timestamps should not be late, whatever else this machine does.
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    asyncio.run(serve_until_stopped(ChaosSite(parser.parse_args().layout).serving()))


if __name__ == "__main__":
    main()
