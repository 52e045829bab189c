"""The shop for programs: every way of paging leads through the same goods, and feeds name all articles."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from smartspider.demo import catalogue, journal, manual
from smartspider.demo.shop import create_shop
from smartspider_testing.sites import demo_shop

Client = TestClient[web.Request, web.Application]


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with TestClient(TestServer(create_shop())) as opened:
        yield opened


async def get(client: Client, path: str) -> Any:
    async with client.get(path) as answer:
        assert answer.status == 200, path
        return json.loads(await answer.text())


async def post(client: Client, path: str, body: object, status: int = 200) -> Any:
    async with client.post(path, json=body) as answer:
        assert answer.status == status
        return json.loads(await answer.text())


def skus(listed: list[dict[str, Any]]) -> list[str]:
    return [row["sku"] for row in listed]


async def test_offsets_lead_through_all_goods_and_past_them_to_nothing(client: Client) -> None:
    found: list[str] = []
    for offset in range(0, demo_shop.EXPECTED_ITEMS, 20):
        found += skus((await get(client, f"/api/by-offset?offset={offset}&limit=20"))["items"])
    assert found == demo_shop.expected_skus()
    assert (await get(client, f"/api/by-offset?offset={demo_shop.EXPECTED_ITEMS}"))["items"] == []


async def test_cursors_lead_through_all_goods(client: Client) -> None:
    found: list[str] = []
    path = "/api/by-cursor"
    for _ in range(demo_shop.API_PAGES):
        listed = await get(client, path)
        found += skus(listed["items"])
        path = f"/api/by-cursor?cursor={listed['meta']['next']}"
    assert listed["meta"]["next"] is None
    assert found == demo_shop.expected_skus()


async def test_link_headers_lead_through_all_goods(client: Client) -> None:
    found: list[str] = []
    page: str | None = "1"
    while page:
        async with client.get(f"/api/by-link?page={page}") as answer:
            found += skus(json.loads(await answer.text()))
            more = re.search(r'<\?page=(\d+)>;[^<]*rel="next"', answer.headers["Link"])
        page = more[1] if more else None
    assert found == demo_shop.expected_skus()


async def test_a_search_is_posted_and_goes_on_by_cursor(client: Client) -> None:
    first = await post(client, "/api/search", {"category": "tea"})
    second = await post(client, "/api/search", {"category": "tea", "cursor": first["meta"]["next"]})
    assert skus(first["items"] + second["items"]) == demo_shop.expected_skus("tea")
    assert second["meta"]["next"] is None


async def test_graphql_pages_through_a_category(client: Client) -> None:
    asked = {
        "query": "query Q { products(first: $first) { nodes } }",
        "variables": {"category": "tea", "first": 25},
    }
    first = (await post(client, "/graphql", asked))["data"]["products"]
    assert first["pageInfo"]["hasNextPage"] is True
    asked["variables"] = {"category": "tea", "first": 25, "after": first["pageInfo"]["endCursor"]}
    second = (await post(client, "/graphql", asked))["data"]["products"]
    assert second["pageInfo"] == {"endCursor": None, "hasNextPage": False}
    assert skus(first["nodes"] + second["nodes"]) == demo_shop.expected_skus("tea")
    assert "errors" in await post(client, "/graphql", {"query": "{ users }"})


async def test_a_product_leads_to_its_reviews(client: Client) -> None:
    sku = demo_shop.expected_skus()[3]
    known = await get(client, f"/api/products/{sku}")
    listed = await get(client, known["reviews"]["href"])
    assert [review["id"] for review in listed["items"]] == demo_shop.expected_reviews(sku)


@pytest.mark.parametrize(
    "path",
    [
        "/api/by-offset?offset=x",
        "/api/by-offset?limit=0",
        "/api/by-link?page=0",
        "/api/by-cursor?cursor=x",
        "/journal?page=0",
    ],
)
async def test_nonsense_is_refused(client: Client, path: str) -> None:
    async with client.get(path) as answer:
        assert answer.status == 400


async def test_nonsense_in_a_body_is_refused(client: Client) -> None:
    await post(client, "/api/search", [1], status=400)
    await post(client, "/api/search", {"cursor": "bm9uZQ=="}, status=400)
    async with client.post("/graphql", data=b"{") as answer:
        assert "errors" in json.loads(await answer.text())
    for path in ("/api/products/none", "/journal/none"):
        async with client.get(path) as answer:
            assert answer.status == 404


async def test_the_journal_lists_every_article_newest_first(client: Client) -> None:
    found: list[str] = []
    for page in range(1, journal.list_pages() + 2):
        async with client.get(f"/journal?page={page}") as answer:
            found += re.findall(r'<h2><a href="(.*?)"', await answer.text())
    assert found == [article.path for article in journal.articles()]
    assert len(found) == demo_shop.EXPECTED_ARTICLES
    dates = [row["published"] for row in demo_shop.expected_articles("http://h/")]
    assert dates == sorted(dates, reverse=True)


async def test_every_feed_names_every_article(client: Client) -> None:
    for path in demo_shop.FEED_PATHS:
        async with client.get(path) as answer:
            text = await answer.text()
        found = list(dict.fromkeys(re.findall(r"/journal/a-week-with-[\w-]+", text)))
        assert found == [article.path for article in journal.articles()], path


async def test_a_product_page_tells_machines_what_it_shows(client: Client) -> None:
    for number in (0, catalogue.CHINESE_PRODUCT):
        product = catalogue.products()[number]
        async with client.get(product.path) as answer:
            html = (await answer.read()).decode(product.charset)
        told = json.loads(re.findall(r'<script type="application/ld\+json">(.*?)</script>', html)[0])
        assert (told["sku"], told["name"], told["offers"]["price"]) == (
            product.sku,
            product.title,
            product.price,
        )
        assert f'<meta property="og:title" content="{product.title}">' in html
        assert f'<meta itemprop="sku" content="{product.sku}">' in html


async def test_the_table_has_a_row_for_every_category(client: Client) -> None:
    async with client.get(demo_shop.TABLE_PATH) as answer:
        html = await answer.text()
    assert len(re.findall(r"<tr><td>SP-\d+</td>", html)) == 8


async def test_the_manual_leads_to_every_chapter_and_each_names_its_options(client: Client) -> None:
    async with client.get(manual.PATH) as answer:
        paths = re.findall(r'<tr><td><a href="(.*?)">', await answer.text())
    assert paths == [chapter.path for chapter in manual.CHAPTERS]
    for chapter in manual.CHAPTERS:
        async with client.get(chapter.path) as answer:
            html = await answer.text()
        assert re.findall(r"<dt><code>(.*?)</code></dt>", html) == list(chapter.options)
        assert ('rel="next"' in html) is (chapter is not manual.CHAPTERS[-1])


async def test_a_command_without_a_chapter_is_not_found(client: Client) -> None:
    async with client.get(f"{manual.PATH}/knit") as answer:
        assert answer.status == 404
