"""CPU time of XPath rules: 20 fields on each of 20 cards of a page of about 22 KB, here and with parsel.

    MALLOC_TOP_PAD_=67108864 MALLOC_TRIM_THRESHOLD_=1073741824 MALLOC_MMAP_THRESHOLD_=1073741824 \
        python benchmarks/xpath.py
"""

from __future__ import annotations

from collections.abc import Callable

from extract import URL, measure, shop_page

from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import FieldRule, PagePlan, ValueRule
from smartspider.core.requests.request import make_request
from smartspider.core.requests.scope import TrapGuards
from smartspider.extract.compile import compile_pages
from smartspider.interfaces.extractor import Extractor

ITEMS = '//article[@class="card product"]'
FIELDS = {
    "id": "./@data-id",
    "image": ".//img/@src",
    "alt": ".//img/@alt",
    "loading": ".//img/@loading",
    "title": './/h2[@class="title"]/a/text()',
    "url": './/h2[@class="title"]/a/@href',
    "link_class": './/h2[@class="title"]/a/@class',
    "currency": './/span[@class="currency"]/text()',
    "amount": './/span[@class="amount"]/text()',
    "price": 'normalize-space(.//p[@class="price"])',
    "score": './/div[@class="rating"]/@data-score',
    "stars": 'count(.//i[@class="star"])',
    "description": './/p[@class="description"]/text()',
    "first_tag": './/ul[@class="tags"]/li[1]/text()',
    "last_tag": './/ul[@class="tags"]/li[last()]/text()',
    "stock": './/span[starts-with(@class, "stock")]/text()',
    "in_stock": './/span[contains(@class, "stock")]/@class',
    "button": ".//button/text()",
    "kind": ".//button/@type",
    "sku": ".//button/@data-sku",
}


def extractor(*, is_raw: bool) -> Extractor:
    fields: dict[str, FieldRule] = {
        name: ValueRule("xpath", expr, is_raw=is_raw) for name, expr in FIELDS.items()
    }
    plan = PagePlan("default", items=(ValueRule("xpath", ITEMS),), fields=fields)
    return compile_pages({"default": plan}, TrapGuards())


def read_with_parsel(html: bytes) -> list[dict[str, str | None]]:
    from parsel import Selector

    selector = Selector(body=html, encoding="utf-8", type="html")
    return [{name: card.xpath(expr).get() for name, expr in FIELDS.items()} for card in selector.xpath(ITEMS)]


def main() -> None:
    html = shop_page()
    page = Page(URL, 200, {"content-type": "text/html"}, html, "utf-8", 0.0)
    request = make_request(URL)
    clean, raw = extractor(is_raw=False), extractor(is_raw=True)
    items = raw.extract(page, request).items
    if items != read_with_parsel(html):
        raise SystemExit("the answers differ from parsel's")
    print(f"{len(html)} bytes, {len(items)} items of {len(FIELDS)} fields")
    cases: dict[str, Callable[[], object]] = {
        "smartspider": lambda: clean.extract(page, request),
        "smartspider, raw": lambda: raw.extract(page, request),
        "parsel": lambda: read_with_parsel(html),
    }
    costs = measure(cases)
    for name, cost in costs.items():
        print(f"{name:18} {cost:8.0f} us/page  {cost / costs['parsel']:.2f} of parsel")


if __name__ == "__main__":
    main()
