from __future__ import annotations

import gzip
import re
from collections.abc import AsyncIterator
from html.parser import HTMLParser

import pytest
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application, Request

from smartspider.demo import account, catalogue, manual, pages
from smartspider.demo.shop import HITS, RETRY_AFTER_S, create_shop

Client = TestClient[Request, Application]
_VOID = set("meta link img input br hr".split())


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with TestClient(TestServer(create_shop())) as client:
        yield client


async def _text(client: Client, path: str) -> str:
    async with client.get(path) as answer:
        assert answer.status == 200
        return await answer.text()


class _Balance(HTMLParser):
    """Collects tags that are closed in another order than they were opened, and doubled attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _VOID:
            self.open.append(tag)
        if len({name for name, _ in attrs}) != len(attrs):
            self.faults.append(f"<{tag}> repeats an attribute")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")


async def test_pages_are_the_same_in_every_shop(client: Client) -> None:
    product = catalogue.products()[0]
    async with TestClient(TestServer(create_shop())) as other:
        for path in ("/", "/category/tea?page=2", product.path, "/brands", "/search?category=tea&sort=price"):
            first, second = await _text(client, path), await _text(other, path)
            assert re.sub(r"http://[^/]+", "", first) == re.sub(r"http://[^/]+", "", second)


async def test_html_is_well_formed(client: Client) -> None:
    goods = catalogue.products()
    for path in (
        "/",
        "/category/desk?page=3",
        goods[9].path,
        "/brands",
        "/brand/copperline",
        "/about",
        "/cart",
        manual.PATH,
        manual.SETTINGS_PATH,
        manual.TERMS_PATH,
        manual.CHAPTERS[0].path,
        account.LOGIN_PATH,
    ):
        balance = _Balance()
        balance.feed(await _text(client, path))
        assert (balance.faults, balance.open) == ([], []), path


async def test_orders_are_shown_to_whoever_sent_the_form_with_its_token_and_the_password(
    client: Client,
) -> None:
    sent = {"user": account.USER, "password": account.PASSWORD}
    async with client.post(account.LOGIN_PATH, data=sent) as answer:
        assert answer.status == 403
    for password, status in (("wrong", 403), (account.PASSWORD, 200)):
        form = await _text(client, account.PATH)
        token = re.findall(r'name="csrf" value="([^"]+)"', form)[0]
        async with client.post(
            account.LOGIN_PATH, data={**sent, "password": password, "csrf": token}
        ) as answer:
            assert answer.status == status
    pages_of = [await _text(client, f"{account.PATH}?page={number}") for number in (1, 2, 3)]
    assert [text.count("<tr>") for text in pages_of] == [5, 5, 2]
    assert ['class="next"' in text for text in pages_of] == [True, True, False]


async def test_lists_end(client: Client) -> None:
    assert 'class="next"' in await _text(client, "/category/tea?page=2")
    assert 'class="next"' not in await _text(client, "/category/tea?page=3")
    for page in ("4", "0", "x"):
        async with client.get(f"/category/tea?page={page}") as answer:
            assert answer.status == 404


async def test_what_does_not_exist_is_a_friendly_404(client: Client) -> None:
    for path in (
        pages.MISSING_PATH,
        "/product/none",
        "/brand/none",
        "/category/none",
        "/p/1",
        "/images/x.svg",
    ):
        async with client.get(path) as answer:
            assert (answer.status, "Nothing here" in await answer.text()) == (404, True)


async def test_a_busy_page_and_a_broken_page_fail_once_and_recover(client: Client) -> None:
    goods = catalogue.products()
    (busy,), broken = catalogue.BUSY_PRODUCTS, min(catalogue.BROKEN_PRODUCTS)
    async with client.get(goods[busy].path + "?utm_source=related") as answer:
        assert (answer.status, answer.headers["Retry-After"]) == (503, str(RETRY_AFTER_S))
    async with client.get(goods[broken].path) as answer:
        assert answer.status == 500
    await _text(client, goods[busy].path)
    await _text(client, goods[broken].path)


async def test_a_moved_product_is_redirected_to_its_page(client: Client) -> None:
    product = catalogue.products()[catalogue.MOVED_PRODUCTS[0]]
    async with client.get(product.old_path, allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (301, product.path)


async def test_the_chinese_page_says_its_charset_only_inside(client: Client) -> None:
    product = catalogue.products()[catalogue.CHINESE_PRODUCT]
    async with client.get(product.path) as answer:
        assert answer.headers["Content-Type"] == "text/html"
        body = await answer.read()
    assert b'<meta charset="gbk">' in body
    assert f"<h1>{product.title}</h1>" in body.decode("gbk")


async def test_robots_txt_forbids_what_every_page_links_to(client: Client) -> None:
    robots = await _text(client, "/robots.txt")
    home = await _text(client, "/")
    for path in pages.FORBIDDEN_PATHS:
        assert f'href="{path}"' in home
        assert any(path.startswith(rule) for rule in re.findall(r"Disallow: (.+)", robots))
    assert "Crawl-delay" not in robots
    assert re.search(r"Sitemap: http://127\.0\.0\.1:\d+/sitemap\.xml", robots)


async def test_sitemaps_name_every_page_and_one_is_packed(client: Client) -> None:
    index = await _text(client, "/sitemap.xml")
    assert re.findall(r"<loc>http://[^/]+(.*?)</loc>", index) == [
        "/sitemaps/pages.xml",
        "/sitemaps/products.xml.gz",
    ]
    async with client.get("/sitemaps/products.xml.gz") as answer:
        unpacked = gzip.decompress(await answer.read()).decode()
    paths = re.findall(r"<loc>http://[^/]+(.*?)</loc>", unpacked)
    assert paths == [product.path for product in catalogue.products()]
    assert "/category/tea?page=3</loc>" in await _text(client, "/sitemaps/pages.xml")


async def test_the_api_pages_through_all_products(client: Client) -> None:
    skus: list[str] = []
    path: str | None = "/api/products"
    while path:
        async with client.get(path) as answer:
            listed = await answer.json()
        skus += [row["sku"] for row in listed["items"]]
        path = listed["next"]
    assert skus == [product.sku for product in catalogue.products()]
    async with client.get("/api/products?page=x") as answer:
        assert answer.status == 400


async def test_every_product_has_a_drawing_and_hits_are_counted(client: Client) -> None:
    assert (await _text(client, f"/images/{catalogue.products()[-1].sku}.svg")).startswith("<svg")
    await _text(client, "/about")
    assert client.app is not None
    assert client.app[HITS]["/about"] == 1
