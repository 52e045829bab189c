from __future__ import annotations

import asyncio
from typing import Any

import pytest

from smartspider.core.errors import BadRedirect, TooManyRedirects
from smartspider.core.pages.page import Page, redirect_target
from smartspider.core.runs.plan import FetchPlan
from smartspider.fetch.redirects import RedirectLayer


def redirecting(location: str | None, status: int = 302, url: str = "http://h.example/a/b") -> Page:
    headers = {} if location is None else {"location": location}
    return Page(url=url, status=status, headers=headers, body=b"", charset="utf-8", fetched_at=0.0)


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("c", "http://h.example/a/c"),
        ("/c#part", "http://h.example/c"),
        ("//other.example", "http://other.example/"),
        ("https://x.example/ü", "https://x.example/%C3%BC"),
        (" /spaced ", "http://h.example/spaced"),
        ("?q=1", "http://h.example/a/b?q=1"),
        ("", "http://h.example/a/b"),
    ],
)
def test_the_location_is_resolved_like_a_link(location: str, target: str) -> None:
    assert redirect_target(redirecting(location)) == target


@pytest.mark.parametrize(
    "location", [None, "mailto:a@b", "javascript:1", "ftp://x/", "http://[bad/", "file:///etc"]
)
def test_a_redirect_to_nowhere_is_bad(location: str | None) -> None:
    with pytest.raises(BadRedirect):
        redirect_target(redirecting(location))


@pytest.mark.parametrize("status", [200, 300, 304, 305, 404, 500])
def test_other_answers_are_no_redirects(status: int) -> None:
    assert redirect_target(redirecting("/c", status)) is None


async def test_hops_on_one_host_are_followed_each_with_a_permit(net: Any) -> None:
    pages = {
        "/a": net.http(b"", "301 Moved", Location="/b"),
        "/b": net.http(b"", "308 Moved", Location="/c?x=1"),
        "/c?x=1": net.http(b"here"),
    }
    async with net.site(pages) as site, net.stack() as fetcher:
        page = await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))
    assert (page.body, page.url) == (b"here", f"{site.url}/c?x=1")
    assert page.hops == (f"{site.url}/a", f"{site.url}/b")
    assert net.permit.entered == ["page", "127.0.0.1", "127.0.0.1"]


async def test_a_page_without_redirect_has_no_hops(net: Any) -> None:
    async with net.site({"/": net.http(b"x", Refresh="0; url=/b")}) as site, net.stack() as fetcher:
        assert (await fetcher.fetch(net.exchange(net.asks(site.url)))).hops == ()
    assert len(site.seen) == 1


async def test_a_hop_to_another_host_ends_the_fetch(net: Any) -> None:
    pages = {
        "/a": net.http(b"", "302 Found", Location="/b"),
        "/b": net.http(b"", "302 Found", Location="http://other.example/c"),
    }
    async with net.site(pages) as site, net.stack() as fetcher:
        page = await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))
    assert (page.status, page.url, page.hops) == (302, f"{site.url}/b", (f"{site.url}/a",))
    assert redirect_target(page) == "http://other.example/c"


@pytest.mark.parametrize(
    ("status", "method", "becomes"),
    [
        ("301 M", "POST", "GET"),
        ("302 F", "POST", "GET"),
        ("303 S", "POST", "GET"),
        ("303 S", "PUT", "GET"),
        ("303 S", "HEAD", "HEAD"),
        ("301 M", "PUT", "PUT"),
        ("307 T", "POST", "POST"),
        ("308 P", "POST", "POST"),
    ],
)
async def test_methods_change_as_in_browsers(net: Any, status: str, method: str, becomes: str) -> None:
    body = None if method == "HEAD" else b"abc"
    pages = {"/a": net.http(b"", status, Location="/b"), "/b": net.http(b"")}
    async with net.site(pages) as site, net.stack() as fetcher:
        request = net.asks(f"{site.url}/a", method=method, body=body, headers=(("Content-Type", "text/x"),))
        page = await fetcher.fetch(net.exchange(request))
    last = site.seen[-1]
    assert (last.method, last.body) == (becomes, b"" if becomes in {"GET", "HEAD"} else b"abc")
    assert page.became_get is (becomes != method)
    assert ("content-type" in last.headers) == (becomes != "GET")


async def test_secrets_stay_with_their_origin(net: Any) -> None:
    secrets = (("Authorization", "Bearer x"), ("Cookie", "a=1"), ("X-Any", "k"), ("Accept-Language", "kept"))
    async with net.site({"/b": net.http(b"other port")}) as other:
        pages = {
            "/same": net.http(b"", "302 F", Location="/b"),
            "/other": net.http(b"", "302 F", Location=f"{other.url}/b"),
        }
        async with net.site(pages) as site, net.stack(FetchPlan(headers=secrets)) as fetcher:
            await fetcher.fetch(net.exchange(net.asks(f"{site.url}/same")))
            await fetcher.fetch(net.exchange(net.asks(f"{site.url}/other")))
    kept, dropped = site.seen[1].headers, other.seen[0].headers
    assert (kept["authorization"], kept["cookie"]) == ("Bearer x", "a=1")
    assert "authorization" not in dropped
    assert "cookie" not in dropped
    assert "x-any" not in dropped
    assert dropped["accept-language"] == "kept"


async def test_a_loop_is_noticed_soon(net: Any) -> None:
    pages = {"/a": net.http(b"", "302 F", Location="/b"), "/b": net.http(b"", "302 F", Location="/a")}
    async with net.site(pages) as site, net.stack(FetchPlan(max_redirects=50)) as fetcher:
        with pytest.raises(TooManyRedirects, match="loop"):
            await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))
    assert len(site.seen) == 6


async def test_a_cookie_wall_lets_the_visitor_in(net: Any) -> None:
    async def wall(seen: Any, writer: asyncio.StreamWriter) -> None:
        if "cookie" in seen.headers:
            writer.write(net.http(b"welcome"))
        elif seen.target == "/wall":
            writer.write(net.http(b"", "302 F", Location="/", Set_Cookie="in=1"))
        else:
            writer.write(net.http(b"", "302 F", Location="/wall"))

    async with net.serve(wall) as server, net.stack() as fetcher:
        page = await fetcher.fetch(net.exchange(net.asks(server.url)))
    assert page.body == b"welcome"
    assert page.hops == (f"{server.url}/", f"{server.url}/wall")


async def test_a_chain_ends_at_the_limit(net: Any) -> None:
    async def chain(seen: Any, writer: asyncio.StreamWriter) -> None:
        number = int(seen.target[1:])
        writer.write(net.http(b"end") if number == 4 else net.http(b"", "302 F", Location=f"/{number + 1}"))

    async with net.serve(chain) as server, net.stack(FetchPlan(max_redirects=3)) as fetcher:
        assert (await fetcher.fetch(net.exchange(net.asks(f"{server.url}/1")))).body == b"end"
        with pytest.raises(TooManyRedirects, match="more than 3"):
            await fetcher.fetch(net.exchange(net.asks(f"{server.url}/0")))


async def test_the_layer_needs_nothing_but_a_fetcher(net: Any) -> None:
    class Canned:
        async def fetch(self, exchange: Any) -> Page:
            request = exchange.request
            return redirecting(
                "http://h.example/z" if request.url.endswith("b") else "mailto:x", url=request.url
            )

    with pytest.raises(BadRedirect):
        await RedirectLayer(Canned(), 5).fetch(net.exchange(net.asks("http://h.example/b")))


def forwarding(target: str) -> bytes:
    return f'<!doctype html><meta http-equiv="refresh" content="0; url={target}"><p>moved'.encode()


async def test_a_meta_refresh_is_a_hop_with_a_permit(net: Any) -> None:
    html = {"Content_Type": "text/html"}
    pages = {
        "/a": net.http(forwarding("/b"), **html),
        "/b": net.http(b"", "302 F", Location="/c"),
        "/c": net.http(forwarding("/d"), **html),
        "/d": net.http(b"here", **html),
    }
    async with net.site(pages) as site, net.stack() as fetcher:
        request = net.asks(f"{site.url}/a", method="POST", body=b"x")
        page = await fetcher.fetch(net.exchange(request))
    assert (page.body, page.became_get, page.refresh) == (b"here", True, None)
    assert page.hops == (f"{site.url}/a", f"{site.url}/b", f"{site.url}/c")
    assert net.permit.entered == ["page", *["127.0.0.1"] * 3]
    assert [seen.method for seen in site.seen] == ["POST", "GET", "GET", "GET"]


async def test_a_meta_refresh_to_another_host_ends_the_fetch(net: Any) -> None:
    pages = {"/a": net.http(forwarding("http://other.example/b"), Content_Type="text/html")}
    async with net.site(pages) as site, net.stack() as fetcher:
        page = await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))
    assert (page.hops, redirect_target(page)) == ((), "http://other.example/b")


async def test_a_loop_of_meta_refreshes_is_noticed(net: Any) -> None:
    pages = {
        "/a": net.http(forwarding("/b"), Content_Type="text/html"),
        "/b": net.http(forwarding("/a"), Content_Type="text/html"),
    }
    async with net.site(pages) as site, net.stack(FetchPlan(max_redirects=50)) as fetcher:
        with pytest.raises(TooManyRedirects, match="loop"):
            await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))
    assert len(site.seen) == 6


@pytest.mark.parametrize("status", ["404 Not Found", "503 Busy"])
async def test_a_failure_that_forwards_its_visitors_stays_a_failure(net: Any, status: str) -> None:
    pages = {"/": net.http(forwarding("/b"), status, Content_Type="text/html")}
    async with net.site(pages) as site, net.stack() as fetcher:
        page = await fetcher.fetch(net.exchange(net.asks(site.url)))
    assert (page.refresh, redirect_target(page)) == (None, None)
