"""Ordinary answers of a scripted site."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import msgspec

from smartspider_testing.sites.http_server import SiteExchange

Answer = Callable[[SiteExchange], Awaitable[None]]
"""Answers one request; may write any bytes, or none."""


def reply(
    status: int = 200,
    *,
    headers: Mapping[str, str] | None = None,
    body: str | bytes = b"",
    delay_s: float = 0.0,
) -> Answer:
    """Return an answer that sends a complete response after `delay_s` seconds."""
    payload = body.encode() if isinstance(body, str) else body
    lines = list((headers or {}).items())

    async def answer(exchange: SiteExchange) -> None:
        if delay_s > 0:
            await asyncio.sleep(delay_s)
        await exchange.reply(status, lines, payload)

    return answer


def page(
    html: str, *, status: int = 200, headers: Mapping[str, str] | None = None, delay_s: float = 0.0
) -> Answer:
    """An HTML page in UTF-8."""
    typed = {"Content-Type": "text/html; charset=utf-8"} | dict(headers or {})
    return reply(status, headers=typed, body=html, delay_s=delay_s)


def versioned(html: str, *, etag: str = "", last_modified: str = "", delay_s: float = 0.0) -> Answer:
    """An HTML page with validators; a conditional request for the same version gets 304."""
    named = {"ETag": etag, "Last-Modified": last_modified}
    headers = {name: value for name, value in named.items() if value}
    whole, same = page(html, headers=headers, delay_s=delay_s), reply(304, headers=headers, delay_s=delay_s)

    async def answer(exchange: SiteExchange) -> None:
        asked = exchange.arrival.headers
        known, since = asked.get("if-none-match"), asked.get("if-modified-since")
        is_same = known == etag if known is not None else since is not None and since == last_modified
        await (same if is_same else whole)(exchange)

    return answer


def json_page(data: Any, *, status: int = 200, delay_s: float = 0.0) -> Answer:
    """A JSON document."""
    typed = {"Content-Type": "application/json"}
    return reply(status, headers=typed, body=msgspec.json.encode(data), delay_s=delay_s)


def gzipped(html: str) -> Answer:
    """An HTML page compressed with gzip."""
    typed = {"Content-Type": "text/html; charset=utf-8", "Content-Encoding": "gzip"}
    return reply(200, headers=typed, body=gzip.compress(html.encode(), mtime=0))


def redirect(to: str, status: int = 302) -> Answer:
    """A redirect; `to` is a path or a URL."""
    return reply(status, headers={"Location": to})


def too_many(retry_after: float | datetime | None = 1, status: int = 429) -> Answer:
    """A 429 with Retry-After in seconds, as an HTTP date for a datetime, or without the header."""
    if retry_after is None:
        return reply(status)
    if isinstance(retry_after, datetime):
        return reply(status, headers={"Retry-After": format_datetime(retry_after, usegmt=True)})
    return reply(status, headers={"Retry-After": f"{retry_after:g}"})


def too_many_until(seconds: float, status: int = 429) -> Answer:
    """A 429 with Retry-After as the HTTP date `seconds` after the request, rounded up."""

    async def answer(exchange: SiteExchange) -> None:
        until = (datetime.now(UTC) + timedelta(seconds=seconds + 0.999999)).replace(microsecond=0)
        await too_many(until, status)(exchange)

    return answer
