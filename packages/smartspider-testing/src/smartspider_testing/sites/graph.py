"""A site with a known set of pages whose content changes at every fetch.

As a process: `python -m smartspider_testing.sites.graph --pages 3000 --seed 1`. Entry `/p/0`, items `.row`
with `data-page`, `data-fetch` and `data-row`, links `a.child`; `GET /_stats` returns the fetches so far.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from smartspider.demo.process import serve_until_stopped
from smartspider_testing.sites.http_server import SiteExchange, listen_http

STATS_PATH = "/_stats"
_MAX_CHILDREN = 12


class ChangingGraph:
    """The pages and the content of each fetch, as pure functions of a seed.

    Pages `0` to `pages - 1` form a tree that every fetch shows. In addition each fetch shows different
    cross
    links, a different number of rows in a different order, and on some pages leaves that only this fetch
    links
    to. So the rows of a finished crawl show which fetch of each page was stored, and that determines
    exactly
    which pages must be present: `problems` returns the differences.
    """

    def __init__(self, pages: int, seed: int = 1, *, leafy: float = 0.2) -> None:
        self.pages = pages
        self.seed = seed
        self._leafy = leafy
        self._children: dict[int, list[int]] = defaultdict(list)
        draw = random.Random(seed)  # noqa: S311 - a repeatable shape, no secret
        with_room = [0]
        for number in range(1, pages):
            place = draw.randrange(len(with_room))
            parent = with_room[place]
            self._children[parent].append(number)
            if len(self._children[parent]) == _MAX_CHILDREN:
                with_room[place] = number
            else:
                with_room.append(number)

    def has(self, page: str) -> bool:
        """Return True if a page exists, in the tree or as a leaf of some fetch."""
        if page.isdecimal():
            return page == str(int(page)) and int(page) < self.pages
        parent, _, rest = page.partition("-")
        fetch, _, _ = rest.partition("-")
        return parent.isdecimal() and fetch.isdecimal() and page in self.leaves(parent, int(fetch))

    def children(self, page: str) -> list[str]:
        """Return the pages that every fetch of `page` links to."""
        return [str(child) for child in self._children.get(int(page), ())] if page.isdecimal() else []

    def leaves(self, page: str, fetch: int) -> list[str]:
        """Return the pages that only this fetch of `page` links to."""
        if not page.isdecimal() or int(page) >= self.pages:
            return []
        draw = self._draw(page, fetch, "leaves")
        count = draw.randint(1, 3) if draw.random() < self._leafy else 0
        return [f"{page}-{fetch}-{number}" for number in range(count)]

    def rows(self, page: str, fetch: int) -> int:
        """Return the number of items on this fetch of `page`; at least one."""
        return self._draw(page, fetch, "rows").randint(1, 4)

    def html(self, page: str, fetch: int) -> str:
        """Return the HTML of this fetch."""
        draw = self._draw(page, fetch, "order")
        cross = [str(draw.randrange(self.pages)) for _ in range(draw.randint(0, 6))]
        links = [*self.children(page), *self.leaves(page, fetch), *cross]
        rows = list(range(self.rows(page, fetch)))
        draw.shuffle(links)
        draw.shuffle(rows)
        anchors = "".join(f'<li><a class="child" href="/p/{link}">{link}</a></li>\n' for link in links)
        items = "".join(
            f'<li class="row" data-page="{page}" data-fetch="{fetch}" data-row="{row}">{row}</li>\n'
            for row in rows
        )
        return f"<!DOCTYPE html>\n<title>{page}</title>\n<ul>\n{items}</ul>\n<ul>\n{anchors}</ul>\n"

    def expected(self, stored: Mapping[str, int]) -> set[str]:
        """Return the pages of a correct crawl that stored these fetches."""
        wanted, waiting = {"0"}, ["0"]
        while waiting:
            page = waiting.pop()
            links = self.children(page) + (self.leaves(page, stored[page]) if page in stored else [])
            fresh = [link for link in links if link not in wanted]
            wanted.update(fresh)
            waiting.extend(fresh)
        return wanted

    def problems(self, items: Iterable[Mapping[str, Any]]) -> list[str]:
        """Return what is wrong with the rows of a finished crawl (`page`, `fetch`, `row`)."""
        fetches: dict[str, Counter[int]] = defaultdict(Counter)
        rows: Counter[tuple[str, int, int]] = Counter()
        for item in items:
            key = str(item["page"]), int(item["fetch"]), int(item["row"])
            fetches[key[0]][key[1]] += 1
            rows[key] += 1
        stored = {page: counts.most_common(1)[0][0] for page, counts in fetches.items()}
        found = self.page_problems(stored)
        found += [
            f"page {page} is doubled: fetches {sorted(counts)}"
            for page, counts in fetches.items()
            if len(counts) > 1
        ]
        found += [f"row {key} is there {times} times" for key, times in rows.items() if times > 1]
        for page, fetch in stored.items():
            wanted = {(page, fetch, row) for row in range(self.rows(page, fetch))}
            found += [f"row {key} is lost" for key in sorted(wanted - rows.keys())]
        return found

    def page_problems(self, stored: Mapping[str, int]) -> list[str]:
        """Return what is wrong with the pages of a finished crawl that stored these fetches."""
        expected = self.expected(stored)
        found = [f"page {page} is lost" for page in sorted(expected - stored.keys())]
        return found + [
            f"page {page} was never linked by a stored page" for page in sorted(stored.keys() - expected)
        ]

    def _draw(self, page: str, fetch: int, what: str) -> random.Random:
        return random.Random(f"{self.seed}/{page}/{fetch}/{what}")  # noqa: S311 - repeatable, no secret


class GraphStats(msgspec.Struct):
    """Fetches by page, and every request as (monotonic time, page, fetch)."""

    pages: dict[str, int] = {}
    arrivals: list[tuple[float, str, int]] = []
    total: int = 0


@asynccontextmanager
async def serving_graph(graph: ChangingGraph, *, port: int = 0, delay_s: float = 0.0) -> AsyncIterator[str]:
    """Serve the graph in this event loop and yield its base URL."""
    stats = GraphStats()

    async def answer(exchange: SiteExchange) -> None:
        path = exchange.arrival.path
        if path == STATS_PATH:
            await exchange.reply(200, [("Content-Type", "application/json")], msgspec.json.encode(stats))
            return
        page = path.removeprefix("/p/")
        if page == path or not graph.has(page):
            await exchange.reply(404)
            return
        fetch = stats.pages[page] = stats.pages.get(page, 0) + 1
        stats.total += 1
        stats.arrivals.append((exchange.arrival.arrived_at, page, fetch))
        if delay_s > 0:
            await asyncio.sleep(delay_s)
        html = graph.html(page, fetch).encode()
        await exchange.reply(200, [("Content-Type", "text/html; charset=utf-8")], html)

    async with listen_http(answer, port=port) as bound:
        yield f"http://127.0.0.1:{bound}/"


def graph_task(base_url: str) -> dict[str, Any]:
    """Return a task that crawls the whole graph without delay."""
    attributes = ("page", "fetch", "row")
    fields = {name: {"type": "css", "expr": f"::attr(data-{name})"} for name in attributes}
    return {
        "name": "changing_graph",
        "entry_urls": [f"{base_url}p/0"],
        "selectors": {"items": {"type": "css", "expr": ".row"}, "fields": fields},
        "follow": [{"selector": "a.child"}],
        "concurrency": 16,
        "politeness": {"robots": "ignore", "delay_s": 0, "per_host": 16, "adaptive": False},
    }


def main() -> None:
    """Serve a graph until stdin closes or a signal arrives."""
    parser = argparse.ArgumentParser(prog="python -m smartspider_testing.sites.graph", description=__doc__)
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay-ms", type=float, default=0.0)
    parser.add_argument(
        "--leafy", type=float, default=0.2, help="share of fetches that show leaves of their own"
    )
    options = parser.parse_args()
    graph = ChangingGraph(options.pages, options.seed, leafy=options.leafy)
    asyncio.run(
        serve_until_stopped(serving_graph(graph, port=options.port, delay_s=options.delay_ms / 1000.0))
    )


if __name__ == "__main__":
    main()
