"""Pages of the scriptable site that have a version."""

from __future__ import annotations

import aiohttp
import pytest

from smartspider_testing.sites.answers import versioned
from smartspider_testing.sites.scripted import ScriptableSite, site_from_spec

MOMENT = "Sat, 14 Nov 2026 08:00:00 GMT"


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({}, 200),
        ({"If-None-Match": '"1"'}, 304),
        ({"If-None-Match": '"2"'}, 200),
        ({"If-Modified-Since": MOMENT}, 304),
        ({"If-Modified-Since": "Sat, 14 Nov 2026 07:00:00 GMT"}, 200),
        ({"If-None-Match": '"2"', "If-Modified-Since": MOMENT}, 200),
    ],
)
async def test_who_has_the_version_is_told_only_that(asked: dict[str, str], status: int) -> None:
    async with ScriptableSite() as site, aiohttp.ClientSession() as client:
        site.on("/", versioned("<p>here</p>", etag='"1"', last_modified=MOMENT))
        async with client.get(site.url(), headers=asked) as answer:
            assert (answer.status, answer.headers["ETag"]) == (status, '"1"')
            assert await answer.text() == ("<p>here</p>" if status == 200 else "")


async def test_a_written_page_can_have_a_version() -> None:
    site = site_from_spec(b'{"routes": {"/": [{"body": "x", "etag": "\\"1\\""}]}}')
    async with site, aiohttp.ClientSession() as client:
        async with client.get(site.url(), headers={"If-Modified-Since": MOMENT}) as answer:
            assert (answer.status, "Last-Modified" in answer.headers) == (200, False)
        async with client.get(site.url(), headers={"If-None-Match": '"1"'}) as answer:
            assert answer.status == 304
