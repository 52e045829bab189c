"""CPU time of extraction: a page of about 22 KB with 20 cards of 5 fields and 35 links.

    MALLOC_TOP_PAD_=67108864 MALLOC_TRIM_THRESHOLD_=1073741824 MALLOC_MMAP_THRESHOLD_=1073741824 \
        python benchmarks/extract.py
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser

from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import FieldRule, FollowRule, NextLinkPagination, PagePlan, ValueRule
from smartspider.core.requests.request import make_request
from smartspider.core.requests.scope import TrapGuards
from smartspider.extract.compile import compile_pages
from smartspider.interfaces.extractor import Extractor

URL = "http://shop.example/list"
WORDS = "kettle lamp chair table clock mirror basket blanket candle plate bowl spoon shelf frame".split()
FIELDS = {
    "title": ".title a::text",
    "url": ".title a::attr(href)",
    "price": ".amount::text",
    "rating": ".rating::attr(data-score)",
    "description": "p.description",
}
ROUNDS = 15
PAGES_PER_ROUND = 150


def shop_page(cards: int = 20, links: int = 35) -> bytes:
    dice = random.Random(1)
    nav = "".join(
        f'<li class="entry"><a class="nav-link" href="/c/{number}?sort=asc">{dice.choice(WORDS)}</a></li>'
        for number in range(links - cards - 1)
    )
    listing = "".join(_card(number, dice) for number in range(cards))
    return (
        "<!DOCTYPE html><html lang=en><head><meta charset=utf-8><meta name=viewport content=x>"
        "<title>Shop</title><style>.a{color:red}</style></head><body><header><ul>"
        f'{nav}</ul></header><main class="wrap"><h1>Products</h1><div class="grid">{listing}</div>'
        '<a class="next" href="/list?page=2">Next</a></main></body></html>'
    ).encode()


def _card(number: int, dice: random.Random) -> str:
    title = " ".join(dice.choices(WORDS, k=4))
    return f"""
<article class="card product" data-id="{number}">
  <div class="thumb"><img src="/img/{number}.jpg" alt="{dice.choice(WORDS)}" loading="lazy"></div>
  <div class="body">
    <h2 class="title"><a class="link" href="/p/{number}?ref=list">{title}</a></h2>
    <p class="price"><span class="currency">$</span><span class="amount">{dice.randint(1, 999)}.99</span></p>
    <div class="rating" data-score="{dice.randint(1, 5)}"><i class="star"></i><i class="star"></i></div>
    <p class="description">{" ".join(dice.choices(WORDS, k=55))}</p>
    <ul class="tags"><li class="tag">{dice.choice(WORDS)}</li><li class="tag">{dice.choice(WORDS)}</li></ul>
    <span class="stock in">In stock</span>
    <button class="btn btn-primary" type="button" data-sku="SKU-{number:05d}">Add to cart</button>
  </div>
</article>"""


def extractor(*, with_fields: bool, with_links: bool) -> Extractor:
    fields: dict[str, FieldRule] = {name: ValueRule("css", expr) for name, expr in FIELDS.items()}
    plan = PagePlan(
        "default",
        items=(ValueRule("css", ".card"),),
        fields=fields if with_fields else {},
        follow=(FollowRule(ValueRule("css", "a"), "default"),) if with_links else (),
        pagination=NextLinkPagination(ValueRule("css", "a.next")) if with_links else None,
    )
    return compile_pages({"default": plan}, TrapGuards())


def read_with_parsel(html: bytes) -> tuple[list[dict[str, str | None]], list[str]]:
    from parsel import Selector

    selector = Selector(body=html, encoding="utf-8")
    items = [
        {
            "title": card.css(".title a::text").get(),
            "url": card.css(".title a::attr(href)").get(),
            "price": card.css(".amount::text").get(),
            "rating": card.css(".rating::attr(data-score)").get(),
            "description": card.css("p.description::text").get(),
        }
        for card in selector.css(".card")
    ]
    return items, [urljoin(URL, href) for href in selector.css("a::attr(href)").getall()]


def measure(cases: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The best round of each case in microseconds of CPU a page; rounds are interleaved."""
    best = dict.fromkeys(cases, float("inf"))
    for _ in range(ROUNDS):
        for name, run in cases.items():
            started = time.process_time()
            for _ in range(PAGES_PER_ROUND):
                run()
            best[name] = min(best[name], (time.process_time() - started) / PAGES_PER_ROUND * 1e6)
    return best


def main() -> None:
    html = shop_page()
    page = Page(URL, 200, {"content-type": "text/html"}, html, "utf-8", 0.0)
    request = make_request(URL)
    only_fields = extractor(with_fields=True, with_links=False)
    only_links = extractor(with_fields=False, with_links=True)
    whole = extractor(with_fields=True, with_links=True)
    answer = whole.extract(page, request)
    print(f"{len(html)} bytes, {len(answer.items)} items, {len(answer.links)} links")
    cases: dict[str, Callable[[], object]] = {
        "parse alone (Lexbor)": lambda: LexborHTMLParser(html),
        "parse + fields": lambda: only_fields.extract(page, request),
        "parse + links": lambda: only_links.extract(page, request),
        "parse + fields + links": lambda: whole.extract(page, request),
        "the same with parsel": lambda: read_with_parsel(html),
    }
    for name, cost in measure(cases).items():
        print(f"{name:26} {cost:8.0f} us/page")


if __name__ == "__main__":
    main()
