"""A crawl through the installation's proxy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.acceptance.workshop import Workshop

from smartspider_testing.servers.ports import free_port
from smartspider_testing.servers.web_proxies import PASSWORD, USER, microsocks, tinyproxy
from smartspider_testing.sites.threaded import serve_in_thread

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

    with serve_in_thread(Handler) as origin:
        yield origin.replace("//", "//me:secret@"), asked


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


@pytest.fixture
def real_proxies(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """tinyproxy and microsocks, with passwords."""
    folder = tmp_path / "proxies"
    folder.mkdir()
    with tinyproxy(folder) as first, microsocks(folder) as second:
        yield first, second


def add(workshop: Workshop, *urls: str) -> str:
    """Add proxies to a pool; return what was printed."""
    told = ""
    for url in urls:
        done = workshop.run("proxy", "add", "-", "--pool", "dc", stdin=f"{url}\n").expect(0)
        told += done.out + done.err
    return told


def listed(workshop: Workshop) -> list[dict[str, Any]]:
    """Return the proxies as the command lists them."""
    found: list[dict[str, Any]] = json.loads(workshop.run("proxy", "list", "--json").expect(0).out)
    return found


def test_a_crawl_uses_the_proxies_that_work_and_shows_no_password(
    workshop: Workshop, real_proxies: tuple[str, str]
) -> None:
    paths = [f"/{number}" for number in range(12)]
    with proxy_for(dict.fromkeys(paths, "<h1>here</h1>")) as (address, asked):
        site = f"http://127.0.0.1:{urlsplit(address).port}"
        workshop.write({**pooled(""), "entry_urls": [f"{site}{path}" for path in paths]})
        failing = real_proxies[0].replace(PASSWORD, f"{PASSWORD}-wrong")
        told = add(workshop, *real_proxies, failing, f"socks5://{USER}:{PASSWORD}@127.0.0.1:{free_port()}")
        done = workshop.crawl("-o", "rows.jsonl").expect(0)
    assert len(workshop.rows()) == len(paths)
    assert sorted(asked) == sorted(["/robots.txt", *paths])
    proxies = listed(workshop)
    assert [one["failures"] for one in proxies[:2]] == [0, 0]
    assert sum(one["requests"] for one in proxies[:2]) == len(asked)
    assert all(one["banned"] and one["error"] for one in proxies[2:] if one["requests"])
    assert PASSWORD not in told + done.out + done.err + json.dumps(proxies)
    assert not any(
        PASSWORD.encode() in one.read_bytes() for one in workshop.folder.rglob("*") if one.is_file()
    )


def test_a_host_that_is_down_behind_good_proxies_bans_none(
    workshop: Workshop, real_proxies: tuple[str, str]
) -> None:
    entry = f"http://127.0.0.1:{free_port()}/"
    workshop.write({**pooled(entry), "retry": {"max_attempts": 1}})
    add(workshop, *real_proxies)
    workshop.crawl().expect(6)
    assert [one["banned"] for one in listed(workshop)] == [False, False]
    assert "connect: " in workshop.run("why", entry).out


def pooled(entry: str) -> dict[str, Any]:
    """A task that crawls through a pool."""
    return {
        "name": "far",
        "entry_urls": [entry],
        "fetch": {"proxy_pool": "dc"},
        "selectors": {"fields": {"title": "h1"}},
        "politeness": {"delay_s": 0},
    }


def test_a_pool_that_has_no_proxy_is_refused_before_anything_is_fetched(workshop: Workshop) -> None:
    workshop.write(pooled("http://shop.example/list"))
    done = workshop.crawl().expect(2)
    assert "the proxy pool dc, which has no proxy" in done.err
    assert "smartspider proxy add URL --pool dc" in done.err


def test_a_crawl_goes_round_the_dead_proxies_of_its_pool(workshop: Workshop) -> None:
    entry = "http://shop.example/list"
    workshop.write(pooled(entry))
    with proxy_for({entry: "<h1>far away</h1>"}) as (proxy, asked):
        for url in (f"http://me:secret@127.0.0.1:{free_port()}", proxy):
            workshop.run("proxy", "add", url, "--pool", "dc").expect(0)
        done = workshop.crawl("-o", "rows.jsonl").expect(0)
        sent = list(asked)
        why = workshop.run("why", entry).expect(0)
        workshop.run("proxy", "check", "2", "--url", entry).expect(0)
        workshop.run("proxy", "check", "1", "--url", entry).expect(6)
    listed = workshop.run("proxy", "list", "--json").expect(0)
    assert workshop.rows() == [{"title": "far away"}]
    assert sent == ["http://shop.example/robots.txt", entry]
    assert f"proxy        2 {proxy.replace('me:secret@', '')}\n" in why.out
    assert "secret" not in done.out + done.err + listed.out + listed.err + why.out


def test_a_pool_whose_proxies_all_fail_buries_the_url_and_names_them(workshop: Workshop) -> None:
    entry = "http://shop.example/list"
    workshop.write(pooled(entry))
    for _ in range(2):
        url = f"http://me:secret@127.0.0.1:{free_port()}"
        workshop.run("proxy", "add", url, "--pool", "dc").expect(0)
    done = workshop.crawl().expect(6)
    why = workshop.run("why", entry)
    assert "proxy 1: " in why.out
    assert "proxy 2: " in why.out
    assert " through proxy " in why.out
    assert "secret" not in done.out + done.err + why.out + why.err
