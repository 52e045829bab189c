"""The part of the shop where things go wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application, Request

from smartspider.demo import trouble
from smartspider.demo.shop import create_shop, demo_task
from smartspider.demo.trouble import TROUBLE, Trouble, goods_of

Client = TestClient[Request, Application]


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with TestClient(TestServer(create_shop())) as client:
        yield client


async def text_of(client: Client, path: str) -> str:
    async with client.get(path) as answer:
        assert answer.status == 200, path
        return await answer.text()


def first_of(shelf: str) -> str:
    return f"/trouble/{shelf}/{goods_of(shelf)[0].slug}"


async def test_every_shelf_is_linked_and_its_goods_are_on_its_pages(client: Client) -> None:
    index = await text_of(client, "/trouble")
    await text_of(client, "/trouble/list?page=2")
    for name in trouble.SHELVES:
        assert f'href="/trouble/{name}"' in index
        last = 3 if name == "list" else 1
        shown = "".join(
            [await text_of(client, f"/trouble/{name}?page={page}") for page in range(1, last + 1)]
        )
        assert shown.count('class="title"') == len(goods_of(name))
    for path in ("/trouble/none", "/trouble/list?page=4", "/trouble/list?page=x", "/trouble/busy/none"):
        async with client.get(path) as answer:
            assert answer.status == 404


async def test_nothing_else_in_the_shop_leads_there(client: Client) -> None:
    for path in ("/", "/sitemap.xml", "/sitemaps/pages.xml", "/category/tea", "/about"):
        assert "trouble" not in await text_of(client, path)


async def test_pages_refuse_always_and_fail_once(client: Client) -> None:
    for shelf, statuses in {"forbidden": (403, 403), "broken": (500, 200)}.items():
        for status in statuses:
            async with client.get(first_of(shelf)) as answer:
                assert answer.status == status
    assert "title" not in (await text_of(client, "/trouble/list?page=2")).partition("<main")[2]
    assert 'class="title"' in await text_of(client, "/trouble/list?page=2")


async def test_busy_pages_are_served_to_whoever_waits(client: Client) -> None:
    now = 100.0
    assert client.app is not None
    state: Trouble = client.app[TROUBLE]
    state.now = lambda: now
    await text_of(client, first_of("busy"))
    now += trouble.BUSY_GAP_S / 2
    async with client.get(first_of("busy")) as answer:
        assert (answer.status, answer.headers["Retry-After"]) == (429, str(trouble.RETRY_AFTER_S))
    now += trouble.BUSY_GAP_S / 2
    await text_of(client, first_of("busy"))


async def test_the_layout_changes_when_it_is_told_to(client: Client) -> None:
    for name, marks in {"new": (0, 1), "old": (1, 0)}.items():
        async with client.post(f"/trouble/layout/{name}") as answer:
            assert answer.status == 204
        page = await text_of(client, first_of("layout"))
        assert (page.count('class="product"'), page.count('class="sheet"')) == marks
        assert 'class="product"' in await text_of(client, first_of("list"))
    async with client.post("/trouble/layout/other") as answer:
        assert answer.status in (404, 405)


def test_slow_pages_take_longer_than_their_task_waits() -> None:
    task = demo_task("http://127.0.0.1:9", "trouble")
    assert task["entry_urls"] == ["http://127.0.0.1:9/trouble"]
    assert task["fetch"] == {"timeout_s": 2}
    assert trouble.SLOW_S > 2 * 2
