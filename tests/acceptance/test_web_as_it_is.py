"""A site that breaks rules: crooked HTTP, a legacy charset, cookies of bytes, a form that redirects."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.acceptance.workshop import Workshop

from smartspider_testing.waiting import join

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(120)]

COOKIE = b's="a\xd6\xd0"'
FORBIDDEN = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"


class CrookedShop:
    """A login form, a list of ten pages in GBK behind it, and a search that the pages link to."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, bytes]] = []
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        join(self._thread)
        self._server.close()
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
                lines = {
                    line.partition(b": ")[0].lower(): line.partition(b": ")[2] for line in head.split(b"\r\n")
                }
                body = await reader.readexactly(int(lines.get(b"content-length", b"0")))
                self.seen.append((method, target, body))
                writer.write(self._answer(method, target, lines.get(b"cookie")))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, method: str, target: str, cookie: bytes | None) -> bytes:
        address = urlsplit(target)
        if (method, target) == ("POST", "/login"):
            head = b"HTTP/1.1 303 See Other\r\nLocation: /list\r\nContent-Length: 0\r\nSet-Cookie: "
            return head + COOKIE + b"; Path=/\r\n\r\n"
        if method != "GET" or cookie != COOKIE:
            return FORBIDDEN
        number = parse_qs(address.query).get("page", ["1"])[0]
        rows = "".join(f"<li>{number}-{row}</li>" for row in range(10))
        page = f"{' ' * 2000}<meta charset=gbk><title>价格</title>{rows}<a class=search href='/s?q=中'>搜</a>"
        body = page.encode("gbk")
        length = b"Content-Length: %d\r\n" % len(body)
        return b"HTTP/9.9 200 OK\r\nno header\r\nContent-Type: text/html\r\n" + length * 2 + b"\r\n" + body


@pytest.fixture
def shop() -> Iterator[CrookedShop]:
    site = CrookedShop()
    yield site
    site.close()


def test_every_row_behind_the_form_is_stored_and_the_form_is_sent_once(
    workshop: Workshop, shop: CrookedShop
) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    entry = {"url": f"{shop.url}/login", "method": "POST", "headers": form, "body": "user=me&password=secret"}
    fields = {"row": "::text", "title": {"type": "xpath", "expr": "//title/text()"}}
    task = {
        "name": "shop",
        "entry_urls": [entry],
        "selectors": {"items": {"type": "xpath", "expr": "//li"}, "fields": fields},
        "pagination": {"type": "page_param", "param": "page", "start": 2, "stop": 10},
        "follow": [{"selector": "a.search", "to": "search"}],
        "pages": {"search": {}},
        "politeness": {"delay_s": 0, "robots": "ignore"},
    }
    workshop.write(task)
    workshop.start("crawl", "task.json", "-o", "rows.jsonl").wait().expect(0)
    rows = workshop.rows()
    assert {row["row"] for row in rows} == {f"{page}-{row}" for page in range(1, 11) for row in range(10)}
    assert {row["title"] for row in rows} == {"价格"}
    assert [seen for seen in shop.seen if seen[0] == "POST"] == [
        ("POST", "/login", b"user=me&password=secret")
    ]
    assert ("GET", "/s?q=%D6%D0", b"") in shop.seen
