"""The floor: aiohttp, uvloop and Lexbor with nothing around: no retries, no durability, no politeness."""

from __future__ import annotations

import argparse
import asyncio
import ctypes
from pathlib import Path
from typing import BinaryIO

import aiohttp
import msgspec
import uvloop
from ada_url import join_url
from selectolax.lexbor import LexborHTMLParser, LexborNode


def keep_freed_memory() -> None:
    """Tell glibc not to give every parsed tree back to the kernel page by page."""
    libc = ctypes.CDLL(None)
    for option, value in ((-2, 1 << 26), (-1, 1 << 30), (-3, 1 << 30)):
        libc.mallopt(option, value)


def _text(card: LexborNode, css: str) -> str | None:
    node = card.css_first(css)
    return node.text(deep=False) if node is not None else None


def _row(card: LexborNode) -> dict[str, str | None]:
    rating = card.css_first(".rating")
    return {
        "name": _text(card, ".name"),
        "price": _text(card, ".price"),
        "rating": rating.attributes["data-value"] if rating is not None else None,
        "seller": _text(card, ".seller a"),
        "summary": _text(card, ".summary"),
    }


async def _work(
    client: aiohttp.ClientSession, queue: asyncio.Queue[str], seen: set[str], rows: BinaryIO
) -> None:
    encoder = msgspec.json.Encoder()
    while True:
        url = await queue.get()
        async with client.get(url) as answer:
            tree = LexborHTMLParser(await answer.read())
        rows.write(encoder.encode_lines([_row(card) for card in tree.css(".card")]))
        for node in tree.css("a[href]"):
            link = join_url(url, node.attributes["href"] or "")
            if link not in seen:
                seen.add(link)
                queue.put_nowait(link)
        queue.task_done()


async def crawl(entry: str, rows: BinaryIO, concurrency: int) -> None:
    queue: asyncio.Queue[str] = asyncio.Queue()
    queue.put_nowait(entry)
    seen = {entry}
    connector = aiohttp.TCPConnector(limit=concurrency)
    jar = aiohttp.DummyCookieJar()
    async with (
        aiohttp.ClientSession(connector=connector, cookie_jar=jar) as client,
        asyncio.TaskGroup() as group,
    ):
        tasks = [group.create_task(_work(client, queue, seen, rows)) for _ in range(concurrency)]
        await queue.join()
        for task in tasks:
            task.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entry")
    parser.add_argument("output")
    parser.add_argument("--concurrency", type=int, default=64)
    options = parser.parse_args()
    keep_freed_memory()
    with Path(options.output).open("wb") as rows:
        uvloop.run(crawl(options.entry, rows, options.concurrency))


if __name__ == "__main__":
    main()
