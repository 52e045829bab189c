"""Suggestions over REST."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.unit.api.asking import Caller

from smartspider.taskfile.load import parse_task
from smartspider_testing.sites.answers import page
from smartspider_testing.sites.scripted import ScriptableSite


def cards(first: int, more: str = "") -> str:
    items = "".join(
        f"<li class=card><a href=/p/{number}>Tea {number}</a><b>{number}.50 EUR</b></li>"
        for number in range(first, first + 8)
    )
    return f"<html><body><ul class=list>{items}</ul>{more}</body></html>"


@pytest.fixture
async def site() -> AsyncIterator[ScriptableSite]:
    async with ScriptableSite() as site:
        site.on("/", page(cards(1, "<a rel=next class=next href=/2>Next</a>"))).on("/2", page(cards(9)))
        site.on("/bare", page("<h1>Log in</h1>"))
        yield site


async def test_a_page_is_answered_with_tasks_that_are_valid(api: Caller, site: ScriptableSite) -> None:
    asked = {"url": site.url(), "headers": {"Accept-Language": "de"}}
    answer = (await api.post("/api/suggest", asked)).expect(200).json
    first = answer["candidates"][0]
    assert answer["url"] == site.url()
    assert (first["kind"], first["count"]) == ("list", 8)
    assert first["next_page"]["state"] == "checked"
    assert first["fields"][0]["samples"][0] == "Tea 1"
    task = parse_task(first["task"])
    assert task.entry_urls == [site.url()]
    assert task.fetch.headers == {"Accept-Language": "de"}
    assert answer["explanation"]
    fetched = [one for one in site.log if one.path != "/robots.txt"]
    assert [one.path for one in fetched] == ["/", "/2"]
    assert all(one.headers["accept-language"] == "de" for one in fetched)
    assert fetched[1].arrived_at - fetched[0].arrived_at > 0.45


@pytest.mark.parametrize("path", ["/bare", "/none"])
async def test_a_page_without_a_list_is_said(api: Caller, site: ScriptableSite, path: str) -> None:
    answer = await api.post("/api/suggest", {"url": site.url(path)})
    assert answer.status in (422, 502)
    assert answer.json["detail"]


@pytest.mark.parametrize(
    "asked",
    [{"url": "ftp://h/"}, {"url": "http://h.example/", "headers": {"a b": "c"}}, {}, {"url": "x", "more": 1}],
)
async def test_a_wrong_request_is_refused(api: Caller, asked: dict[str, Any]) -> None:
    (await api.post("/api/suggest", asked)).expect(422)


async def test_private_addresses_are_refused(api: Caller) -> None:
    answer = (await api.post("/api/suggest", {"url": "http://169.254.169.254/latest"})).expect(422)
    assert "SMARTSPIDER_ALLOW_PRIVATE" in answer.body.decode()
