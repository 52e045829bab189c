"""Hostile sites by name. Every function returns an answer for a scripted site."""

from __future__ import annotations

import asyncio
import random
import zlib
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from types import MappingProxyType

from smartspider_testing.sites.answers import Answer, page, redirect, reply, too_many, too_many_until
from smartspider_testing.sites.http_server import SiteExchange

_HTML = ("Content-Type", "text/html; charset=utf-8")


def gzip_bomb(unpacked_bytes: int = 400_000_000) -> Answer:
    """A small compressed page that unpacks to `unpacked_bytes`."""

    async def answer(exchange: SiteExchange) -> None:
        headers = [_HTML, ("Content-Encoding", "gzip"), ("Connection", "close")]
        await exchange.head(200, headers)
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        left, block = unpacked_bytes, b" " * 1_000_000
        while left > 0:
            await exchange.write(packer.compress(block[:left]))
            left -= len(block)
            await asyncio.sleep(0)
        await exchange.write(packer.flush())
        exchange.close()

    return answer


def endless_body(chunk: str = "<p>more and more</p>\n") -> Answer:
    """A page that continues until the client disconnects."""
    block = chunk.encode() * 500

    async def answer(exchange: SiteExchange) -> None:
        await exchange.head(200, [_HTML, ("Connection", "close")])
        while True:
            await exchange.write(block)
            await asyncio.sleep(0)

    return answer


def slow_drip(interval_s: float = 0.05, total_bytes: int = 1_000_000) -> Answer:
    """A page sent one byte at a time."""

    async def answer(exchange: SiteExchange) -> None:
        await exchange.head(200, [_HTML, ("Content-Length", str(total_bytes))])
        for _ in range(total_bytes):
            await exchange.write(b".")
            await asyncio.sleep(interval_s)

    return answer


def never() -> Answer:
    """A request that is never answered."""

    async def answer(exchange: SiteExchange) -> None:
        await exchange.until_gone()

    return answer


def dropped_mid_body(promised: int = 100_000, sent: int = 1_000) -> Answer:
    """A body that is shorter than its Content-Length, followed by a closed connection."""

    async def answer(exchange: SiteExchange) -> None:
        await exchange.head(200, [_HTML, ("Content-Length", str(promised))])
        await exchange.write(b"<html><body>".ljust(sent, b"x"))
        exchange.close()

    return answer


def dropped_at_once() -> Answer:
    """A connection closed without a response."""

    async def answer(exchange: SiteExchange) -> None:
        exchange.abort()

    return answer


def garbage(size: int = 4096, seed: int = 1) -> Answer:
    """Bytes that are not HTTP."""
    noise = random.Random(seed).randbytes(size)  # noqa: S311 - noise, no secret

    async def answer(exchange: SiteExchange) -> None:
        await exchange.write(noise)
        exchange.close()

    return answer


def huge_headers(size: int = 1_000_000) -> Answer:
    """A header line longer than any client accepts."""
    return reply(200, headers={"X-Long": "a" * size, "Content-Type": "text/html"}, body="<p>ok</p>")


def redirect_loop() -> Answer:
    """A redirect to the same URL."""

    async def answer(exchange: SiteExchange) -> None:
        await redirect(exchange.arrival.path)(exchange)

    return answer


def redirect_chain() -> Answer:
    """An endless chain of redirects to new URLs. Serve it under a prefix."""

    async def answer(exchange: SiteExchange) -> None:
        before, _, number = exchange.arrival.path.rpartition("/")
        await redirect(f"{before}/{int(number or 0) + 1}")(exchange)

    return answer


def million_links(links: int = 1_000_000, prefix: str = "/n/") -> Answer:
    """A page with `links` links, sent in chunks."""

    async def answer(exchange: SiteExchange) -> None:
        await exchange.head(200, [_HTML, ("Connection", "close")])
        await exchange.write(b"<!DOCTYPE html><title>links</title>\n")
        for first in range(0, links, 1000):
            lines = (
                f'<a href="{prefix}{number}">{number}</a>\n'
                for number in range(first, min(first + 1000, links))
            )
            await exchange.write("".join(lines).encode())
            await asyncio.sleep(0)
        exchange.close()

    return answer


def wrong_charset(text: str = "价格 十二元", said: str = "utf-8", meant: str = "gbk") -> Answer:
    """A page whose header names a charset other than that of its bytes."""
    body = f'<!DOCTYPE html><html><head><meta charset="{meant}"></head><body><p>{text}</p></body></html>'
    return reply(200, headers={"Content-Type": f"text/html; charset={said}"}, body=body.encode(meant))


def unknown_charset() -> Answer:
    """A page in a charset that does not exist."""
    return reply(
        200, headers={"Content-Type": "text/html; charset=klingon-8"}, body="<p class=x>caf\u00e9</p>"
    )


def broken_html() -> Answer:
    """A page of malformed HTML."""
    return page(
        "<html><body><p class=x>one<div><b><i>two</b></i><p class=x>three<a href=/next>next"
        "<table><tr><td>cell</p></table></div></div></span><p class=x>four</html><p class=x>five"
        "<a href='/unclosed"
    )


def poison_text(meta_charset: str = "utf-8") -> Answer:
    """A page with NUL bytes, references to lone surrogates, and surrogates encoded one by one.

    The texts of class `x`: a NUL byte, `&#0;`, `&#xD800;`, the bytes ED A0 80, a proper emoji, plain text.
    """
    body = (
        b'<!DOCTYPE html><meta charset="' + meta_charset.encode() + b'">'
        b"<p class=x>nul\x00byte</p><p class=x>nul&#0;reference</p><p class=x>lone&#xD800;reference</p>"
        b"<p class=x>lone\xed\xa0\x80bytes</p><p class=x>\xf0\x9f\x95\xb7</p><p class=x>plain</p>"
    )
    return reply(200, headers={"Content-Type": "text/html"}, body=body)


def binary_as_html(size: int = 100_000, seed: int = 2) -> Answer:
    """Random bytes sent as text/html."""
    noise = random.Random(seed).randbytes(size)  # noqa: S311 - noise, no secret
    return reply(200, headers={"Content-Type": "text/html"}, body=b"\x89PNG\r\n\x1a\n" + noise)


def path_trap(segment: str = "a") -> Answer:
    """Pages that each link to one a level deeper. Serve it under a prefix."""

    async def answer(exchange: SiteExchange) -> None:
        path = exchange.arrival.path.rstrip("/")
        deeper = f"{path}/{segment}/"
        await page(f'<title>{path}</title><a class="child" href="{deeper}">deeper</a>')(exchange)

    return answer


def calendar_trap(first: str = "2026-01-01") -> Answer:
    """An endless calendar: every day links to the days before and after. Serve it under a prefix with
    `?day=`.
    """

    async def answer(exchange: SiteExchange) -> None:
        path, _, query = exchange.arrival.path.partition("?")
        day = date.fromisoformat(query.removeprefix("day=") or first)
        links = "".join(
            f'<a class="child" href="{path}?day={day + timedelta(days=step)}">{step:+d}</a>'
            for step in (-1, 1)
        )
        await page(f"<title>{day}</title><h1>{day}</h1>{links}")(exchange)

    return answer


def deep_nesting(levels: int = 100_000) -> Answer:
    """A page with `levels` nested elements."""
    return page("<div>" * levels + '<p class="x">bottom</p>')


HOSTILE: Mapping[str, Callable[..., Answer]] = MappingProxyType(
    {
        make.__name__: make
        for make in (
            gzip_bomb,
            endless_body,
            slow_drip,
            never,
            dropped_mid_body,
            dropped_at_once,
            garbage,
            huge_headers,
            redirect_loop,
            redirect_chain,
            redirect,
            million_links,
            wrong_charset,
            unknown_charset,
            broken_html,
            poison_text,
            binary_as_html,
            path_trap,
            calendar_trap,
            deep_nesting,
            too_many,
            too_many_until,
        )
    }
)
"""All hostile answers by name, for site specifications."""
