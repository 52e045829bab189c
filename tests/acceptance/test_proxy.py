"""A crawl through the installation's proxy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.acceptance.workshop import Workshop

from smartspider_testing.waiting import join

pytestmark = pytest.mark.acceptance


@contextmanager
def proxy_for(pages: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    """An HTTP proxy that knows a few URLs, and what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            body = pages.get(self.path, "").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://me:secret@127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            join(thread)


def test_every_request_goes_through_the_proxy_of_the_installation(workshop: Workshop) -> None:
    entry = "http://shop.example/list"
    workshop.write(
        {
            "name": "far",
            "entry_urls": [entry],
            "selectors": {"fields": {"title": "h1"}},
            "politeness": {"delay_s": 0},
        }
    )
    with proxy_for({entry: "<h1>far away</h1>"}) as (proxy, asked):
        done = workshop.crawl("-o", "rows.jsonl", env={"SMARTSPIDER_PROXY": proxy}).expect(0)
    assert workshop.rows() == [{"title": "far away"}]
    assert asked == ["http://shop.example/robots.txt", entry]
    assert "secret" not in done.out + done.err


def test_a_proxy_that_is_none_is_refused_without_showing_it(workshop: Workshop) -> None:
    done = workshop.run("fetch", "http://shop.example/", env={"SMARTSPIDER_PROXY": "me:secret@host:1"})
    done.expect(2)
    assert "SMARTSPIDER_PROXY" in done.err
    assert "secret" not in done.out + done.err
