from __future__ import annotations

from hashlib import sha256

import msgspec

from smartspider.demo import catalogue
from smartspider.demo.words import CATEGORIES
from smartspider_testing.sites.demo_shop import EXPECTED_ITEMS, expected_pages


def test_the_catalogue_is_the_same_everywhere_and_every_time() -> None:
    digest = sha256(msgspec.json.encode(catalogue.products())).hexdigest()
    assert digest == "7769283d73f8cacb8cdadb4074b18245ffcd7ca39fadc4dcb834d145fc8eefad"


def test_every_product_has_a_page_of_its_own() -> None:
    goods = catalogue.products()
    assert len({product.slug for product in goods}) == len(goods) == EXPECTED_ITEMS == 240
    assert len({product.sku for product in goods}) == len(goods)
    assert [product.number for product in goods] == list(range(len(goods)))


def test_every_shelf_and_every_brand_has_goods() -> None:
    for shelf in CATEGORIES:
        assert len(catalogue.in_category(shelf.slug)) == catalogue.PER_CATEGORY
    for slug in catalogue.brands():
        assert catalogue.search({"brand": slug})


def test_related_goods_are_others() -> None:
    for product in catalogue.products():
        related = catalogue.related_to(product)
        assert len({other.sku for other in related} - {product.sku}) == 4


def test_a_search_narrows_and_orders() -> None:
    cheap = catalogue.search({"category": "tea", "price": "under-20", "sort": "price"})
    assert cheap
    assert [product.cents for product in cheap] == sorted(product.cents for product in cheap)
    assert all(product.cents < 2_000 and product.category == "tea" for product in cheap)
    assert {product.title for product in catalogue.search({"q": "kettle"})} >= {"Enamel Kettle"}
    best = catalogue.search({"category": "desk", "sort": "rating"})
    assert best[0].rating >= best[-1].rating


def test_the_shop_has_several_hundred_pages() -> None:
    assert len(expected_pages()) == 1 + 2 + 24 + 40 + 12 + 240
