"""The site of the comparison: a fast server of pages rendered in advance.

`python benchmarks/bench_site.py --pages 1000` prints `listening on http://127.0.0.1:PORT/` and serves until
stdin closes. Every page has 20 cards with 5 fields each and 35 links, and weighs about 23 KB. With `--hosts`,
the pages are spread over as many addresses of this machine. `GET /gaps` returns the number of requests and
the shortest time between two requests to the same host; `GET /reset` forgets them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterator
from typing import cast

import uvloop

CARDS = 20
LINKS = 35
CHILDREN = 10
FIELDS = {
    "name": ".name::text",
    "price": ".price::text",
    "rating": ".rating::attr(data-value)",
    "seller": ".seller a::text",
    "summary": ".summary::text",
}
"""The fields of a card, as parsel and our own task files write them."""

_WORDS = (
    "amber birch cedar delta ember fjord grove heath inlet juniper kelp larch maple north oak pine".split()
)


def host_name(number: int) -> str:
    """Return a loopback address; the first is 127.0.0.1."""
    return f"127.0.{number // 250}.{number % 250 + 1}"


def entry(base_url: str) -> str:
    """Return the entry page; links lead from it to all others."""
    return f"{base_url}page/0"


def targets(page: int, pages: int) -> list[int]:
    """Return the pages that a page links to: its children in a tree, and pages across the site."""
    children = [child for child in range(page * CHILDREN + 1, (page + 1) * CHILDREN + 1) if child < pages]
    others = ((page * 7919 + step * 104_729 + 13) % pages for step in range(LINKS - len(children)))
    return [*children, *others]


def cards(page: int) -> Iterator[dict[str, str]]:
    """The items of a page."""
    for place in range(CARDS):
        number = page * CARDS + place
        words = [_WORDS[(number * step + step) % len(_WORDS)] for step in (1, 3, 5, 7)]
        yield {
            "name": f"{words[0].title()} {words[1]} {number}",
            "price": f"{number % 900 + 5}.{number % 100:02d}",
            "rating": f"{number % 50 / 10:.1f}",
            "seller": f"{words[2].title()} & {words[3].title()}",
            "summary": " ".join(_WORDS[(number + step * step) % len(_WORDS)] for step in range(30)),
        }


def expected_items(pages: int) -> set[tuple[str, ...]]:
    """Every item of the site, as a tuple of its fields in the order of `FIELDS`."""
    return {tuple(card[name] for name in FIELDS) for page in range(pages) for card in cards(page)}


def html(page: int, pages: int, hosts: int = 1, port: int = 0) -> str:
    """A page. Links to other hosts are absolute."""
    links = [_address(target, hosts, port) for target in targets(page, pages)]
    body = "\n".join(_card(card, link) for card, link in zip(cards(page), links[:CARDS], strict=True))
    nav = "\n".join(
        f'<li class="entry"><a href="{link}">Page {_number(link)}</a></li>' for link in links[CARDS:]
    )
    style = "\n".join(f".r{number} {{ margin: {number}px; padding: 0 {number}px; }}" for number in range(60))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Page {page}</title>\n'
        f"<style>\n{style}\n</style></head>\n<body><header><h1>Page {page}</h1></header>\n"
        f'<nav><ul class="index">\n{nav}\n</ul></nav>\n'
        f'<main class="results">\n{body}\n</main></body></html>\n'
    )


def _address(page: int, hosts: int, port: int) -> str:
    path = f"/page/{page}"
    return path if hosts == 1 else f"http://{host_name(page % hosts)}:{port}{path}"


def _number(link: str) -> str:
    return link.rpartition("/")[2]


def _card(card: dict[str, str], link: str) -> str:
    image = f'<img class="thumb lazy" src="/images/{_number(link)}.jpg" width="320" height="240" alt="">'
    seller = card["seller"].replace("&", "&amp;")
    return f"""<article class="card shadow rounded" data-kind="product">
  <div class="media">{image}</div>
  <div class="content">
    <h2 class="heading"><a class="open" href="{link}"><span class="name">{card["name"]}</span></a></h2>
    <div class="meta"><span class="price">{card["price"]}</span> <span class="unit">EUR</span>
      <span class="rating" data-value="{card["rating"]}"><i class="star"></i><i class="star"></i></span></div>
    <p class="seller">sold by <a class="plain">{seller}</a> <em class="badge">verified</em></p>
    <p class="summary">{card["summary"]}</p>
    <ul class="actions"><li><button type="button" class="small">Compare</button></li>
      <li><button type="button" class="small">Remember</button></li></ul>
  </div>
</article>"""


def rendered(pages: int, hosts: int = 1, port: int = 0) -> dict[bytes, bytes]:
    """Return complete responses by path."""
    return {
        f"/page/{page}".encode(): _response(html(page, pages, hosts, port).encode()) for page in range(pages)
    }


def _response(body: bytes, media_type: str = "text/html; charset=utf-8") -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Arrivals:
    """The times of requests to each host: the last one, and the shortest gap between two."""

    def __init__(self) -> None:
        self._last: dict[bytes, float] = {}
        self._shortest_s = float("inf")
        self._count = 0

    def record(self, host: bytes) -> None:
        """Record a request that has arrived."""
        now = time.monotonic()
        self._shortest_s = min(self._shortest_s, now - self._last.get(host, float("-inf")))
        self._last[host] = now
        self._count += 1

    def report(self) -> bytes:
        """Return what was recorded as JSON."""
        shortest_s = None if self._shortest_s == float("inf") else self._shortest_s
        return json.dumps({"requests": self._count, "shortest_s": shortest_s}).encode()

    def reset(self) -> None:
        """Forget all requests."""
        self._last.clear()
        self._shortest_s = float("inf")
        self._count = 0


class PageServer(asyncio.Protocol):
    """One keep-alive connection."""

    MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

    def __init__(self, answers: dict[bytes, bytes], arrivals: Arrivals) -> None:
        self._answers = answers
        self._arrivals = arrivals
        self._host = b""
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports behave like asyncio.Transport without being a subclass.
        self._transport = cast("asyncio.Transport", transport)
        self._host = transport.get_extra_info("sockname")[0].encode()

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            self._transport.write(self._answer(head.split(b" ", 2)[1]))
            if b"connection: close" in head.lower():
                self._transport.close()

    def _answer(self, path: bytes) -> bytes:
        if path == b"/reset":
            self._arrivals.reset()
        if path in {b"/gaps", b"/reset"}:
            return _response(self._arrivals.report(), "application/json")
        self._arrivals.record(self._host)
        return self._answers.get(path, self.MISSING)


async def serve(pages: int, hosts: int) -> None:
    """Serve until stdin closes."""
    answers: dict[bytes, bytes] = {}
    arrivals = Arrivals()
    loop = asyncio.get_running_loop()
    port = 0
    servers = []
    for number in range(hosts):
        server = await loop.create_server(
            lambda: PageServer(answers, arrivals), host_name(number), port, backlog=1024
        )
        port = server.sockets[0].getsockname()[1]
        servers.append(server)
    answers.update(rendered(pages, hosts, port))
    print(f"listening on http://127.0.0.1:{port}/", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    for server in servers:
        server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--hosts", type=int, default=1)
    options = parser.parse_args()
    uvloop.run(serve(options.pages, options.hosts))


if __name__ == "__main__":
    main()
