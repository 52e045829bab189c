"""The site of the comparison: a fast server of pages rendered in advance.

`python benchmarks/bench_site.py --pages 1000` prints `listening on http://127.0.0.1:PORT/` and serves until
stdin closes. Every page has 20 cards with 5 fields each and 35 links, and weighs about 23 KB.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
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


def html(page: int, pages: int) -> str:
    """A page."""
    links = targets(page, pages)
    body = "\n".join(_card(card, link) for card, link in zip(cards(page), links[:CARDS], strict=True))
    nav = "\n".join(
        f'<li class="entry"><a href="/page/{link}">Page {link}</a></li>' for link in links[CARDS:]
    )
    style = "\n".join(f".r{number} {{ margin: {number}px; padding: 0 {number}px; }}" for number in range(60))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Page {page}</title>\n'
        f"<style>\n{style}\n</style></head>\n<body><header><h1>Page {page}</h1></header>\n"
        f'<nav><ul class="index">\n{nav}\n</ul></nav>\n'
        f'<main class="results">\n{body}\n</main></body></html>\n'
    )


def _card(card: dict[str, str], link: int) -> str:
    seller = card["seller"].replace("&", "&amp;")
    return f"""<article class="card shadow rounded" data-kind="product">
  <div class="media"><img class="thumb lazy" src="/images/{link}.jpg" width="320" height="240" alt=""></div>
  <div class="content">
    <h2 class="heading"><a class="open" href="/page/{link}"><span class="name">{card["name"]}</span></a></h2>
    <div class="meta"><span class="price">{card["price"]}</span> <span class="unit">EUR</span>
      <span class="rating" data-value="{card["rating"]}"><i class="star"></i><i class="star"></i></span></div>
    <p class="seller">sold by <a class="plain">{seller}</a> <em class="badge">verified</em></p>
    <p class="summary">{card["summary"]}</p>
    <ul class="actions"><li><button type="button" class="small">Compare</button></li>
      <li><button type="button" class="small">Remember</button></li></ul>
  </div>
</article>"""


def rendered(pages: int) -> dict[bytes, bytes]:
    """Return complete responses by path."""
    answers = {}
    for page in range(pages):
        body = html(page, pages).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n"
        answers[f"/page/{page}".encode()] = head % len(body) + body
    return answers


class PageServer(asyncio.Protocol):
    """One keep-alive connection."""

    MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

    def __init__(self, answers: dict[bytes, bytes]) -> None:
        self._answers = answers
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports behave like asyncio.Transport without being a subclass.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            self._transport.write(self._answers.get(head.split(b" ", 2)[1], self.MISSING))
            if b"connection: close" in head.lower():
                self._transport.close()


async def serve(pages: int) -> None:
    """Serve until stdin closes."""
    answers = rendered(pages)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: PageServer(answers), "127.0.0.1", 0, backlog=1024)
    print(f"listening on http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1000)
    uvloop.run(serve(parser.parse_args().pages))


if __name__ == "__main__":
    main()
