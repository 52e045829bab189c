"""Requests that ask whether a page changed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from smartspider.core.requests.recrawl import PageVersion
from smartspider.core.requests.request import Extras, Request

MOMENT = "Sat, 14 Nov 2026 08:00:00 GMT"


def asks(net: Any, url: str, version: PageVersion, **more: Any) -> Request:
    request: Request = net.asks(url, **more)
    return msgspec.structs.replace(request, extras=msgspec.structs.replace(request.extras, version=version))


@pytest.mark.parametrize(
    ("version", "sent"),
    [
        (PageVersion('"1"'), ['"1"', None]),
        (PageVersion(last_modified=MOMENT), [None, MOMENT]),
        (PageVersion('W/"1"', MOMENT), ['W/"1"', MOMENT]),
    ],
)
async def test_the_version_goes_out_with_the_request(
    net: Any, version: PageVersion, sent: list[str | None]
) -> None:
    async with net.site({"/": net.http(b"", "304 Not Modified")}) as site, net.stack() as fetcher:
        page = await fetcher.fetch(
            net.exchange(asks(net, site.url, version, headers=(("If-None-Match", "mine"),)))
        )
    headers = site.seen[0].headers
    expected = [sent[0] or "mine", sent[1]]
    assert [headers.get("if-none-match"), headers.get("if-modified-since")] == expected
    assert headers["user-agent"].startswith("SmartSpider/")
    assert page.status == 304


async def test_another_page_is_not_asked_with_the_version_of_this_one(net: Any) -> None:
    pages = {"/a": net.http(b"", "302 Found", Location="/b"), "/b": net.http(b"here")}
    async with net.site(pages) as site, net.stack() as fetcher:
        request = asks(net, f"{site.url}/a", PageVersion('"1"', MOMENT), headers=(("X-Own", "o"),))
        page = await fetcher.fetch(net.exchange(request))
    assert page.body == b"here"
    assert [seen.headers.get("if-none-match") for seen in site.seen] == ['"1"', None]
    assert [seen.headers.get("if-modified-since") for seen in site.seen] == [MOMENT, None]
    assert [seen.headers["x-own"] for seen in site.seen] == ["o", "o"]


def test_a_version_survives_being_stored() -> None:
    extras = Extras(version=PageVersion('"1"', MOMENT))
    assert msgspec.json.decode(msgspec.json.encode(extras), type=Extras) == extras
    assert msgspec.json.encode(Extras()) == b"{}"
