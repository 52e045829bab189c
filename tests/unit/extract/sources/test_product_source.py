from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Read = Callable[..., Any]
EMPTY = dict.fromkeys(
    (
        "name", "brand", "sku", "gtin", "price", "currency", "availability", "condition", "rating", "reviews",
        "image", "description", "url", "category",
    )
)  # fmt: skip
PAGE = "https://shop.example/a/page.html"


def _script(value: Any) -> str:
    return f'<script type="application/ld+json">{json.dumps(value)}</script>'


def test_a_product_in_json_ld_is_brought_into_one_form(said: Read) -> None:
    page = _script(
        {
            "@context": "https://schema.org",
            "@graph": [
                {"@type": "WebPage", "name": "page"},
                {
                    "@type": ["Product", "Thing"],
                    "name": " Lamp &amp; Co ",
                    "brand": {"@id": "#b"},
                    "sku": 12,
                    "gtin13": "0123456789012",
                    "category": ["Home > Lamps"],
                    "image": [{"@type": "ImageObject", "url": "/i.jpg"}],
                    "description": "<p>Nice</p><p>one</p>",
                    "offers": {
                        "@type": "Offer",
                        "price": "1,299.00",
                        "priceCurrency": "EUR",
                        "availability": "https://schema.org/InStock",
                        "itemCondition": "http://schema.org/NewCondition",
                        "url": "/lamp",
                    },
                    "aggregateRating": {"ratingValue": "4.5", "reviewCount": "1,024"},
                },
                {"@id": "#b", "@type": "Brand", "name": "Acme"},
            ],
        }
    )
    assert said("product", page) == {
        "name": "Lamp & Co",
        "brand": "Acme",
        "sku": "12",
        "gtin": "0123456789012",
        "price": 1299.0,
        "currency": "EUR",
        "availability": "InStock",
        "condition": "NewCondition",
        "rating": 4.5,
        "reviews": 1024,
        "image": "https://shop.example/i.jpg",
        "description": "Nice one",
        "url": "https://shop.example/lamp",
        "category": "Home > Lamps",
    }


def test_a_product_in_microdata(said: Read) -> None:
    page = """<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">台灯</h1>
    <div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><span itemprop="price">￥1,299</span>
    <meta itemprop="priceCurrency" content="CNY"><link itemprop="availability" href="http://schema.org/OutOfStock">
    </div></div>"""
    expected = EMPTY | {
        "name": "台灯", "price": 1299, "currency": "CNY", "availability": "OutOfStock", "url": PAGE,
    }  # fmt: skip
    assert said("product", page) == expected


def test_a_product_in_opengraph(said: Read) -> None:
    page = """<meta property="og:type" content="product"><meta property="og:title" content="Lamp">
    <meta property="og:image" content="/i.jpg"><meta property="product:price:amount" content="12.50">
    <meta property="product:price:currency" content="EUR"><meta property="product:brand" content="Acme">
    <meta property="product:availability" content="instock">
    <meta property="product:retailer_item_id" content="7">"""
    expected = EMPTY | {
        "name": "Lamp", "image": "https://shop.example/i.jpg", "price": 12.5, "currency": "EUR",
        "brand": "Acme", "availability": "instock", "sku": "7", "url": PAGE,
    }  # fmt: skip
    assert said("product", page) == expected


def test_what_one_form_leaves_open_another_fills_for_the_same_product_only(said: Read) -> None:
    page = (
        _script({"@type": "Product", "name": "Lamp", "offers": {"price": 3}})
        + '<meta property="og:title" content="Lamp | Shop"><meta property="og:image" content="/og.jpg">'
        + '<div itemscope itemtype="https://schema.org/Product"><i itemprop="sku">9</i>'
        + '<b itemprop="name">NAME</b></div>'
    )
    own = said("product", page.replace("NAME", "Lamp"))
    assert (own["name"], own["sku"], own["image"]) == ("Lamp", "9", "https://shop.example/og.jpg")
    assert said("product", page.replace("NAME", "Another"))["sku"] is None


def test_the_price_is_looked_for_where_shops_put_it(said: Read) -> None:
    def price(offers: Any, **more: Any) -> Any:
        found = said("product", _script({"@type": "Product", "name": "x", "offers": offers} | more))
        return found["price"], found["currency"]

    assert price({"@type": "AggregateOffer", "lowPrice": "5", "highPrice": "9", "priceCurrency": "USD"}) == (
        5,
        "USD",
    )
    assert price([{"price": None}, {"price": "7", "priceCurrency": "USD"}]) == (7, "USD")
    specification = [
        {"price": 99, "priceCurrency": "SEK", "priceType": "https://schema.org/ListPrice"},
        {"price": 79, "priceCurrency": "SEK"},
    ]
    assert price({"priceSpecification": specification}) == (79, "SEK")
    assert price({"@type": "AggregateOffer", "offers": [{"price": 2, "priceCurrency": "EUR"}]}) == (2, "EUR")
    assert price({"price": 0, "priceCurrency": "EUR"}) == (0, "EUR")
    assert price({"price": "on request"}) == (None, None)
    variants = {
        "hasVariant": [{"@type": "Product", "sku": "v", "offers": {"price": 4, "priceCurrency": "EUR"}}]
    }
    assert price(None, **variants) == (4, "EUR")


def test_a_page_without_a_product_has_none(said: Read) -> None:
    assert said("product", _script({"@type": "Article", "name": "x"}) + "<h1>Lamp</h1>") is None
    assert said("product", '<meta property="og:title" content="x">') is None


def test_values_of_the_wrong_kind_are_unknown(said: Read) -> None:
    odd = {"@type": "Product", "name": ["a", "b"], "brand": 3, "sku": {}, "offers": "x", "image": {"url": 7}}
    found = said(
        "product", _script(odd | {"aggregateRating": [], "description": True, "url": "javascript:x"})
    )
    assert found == EMPTY | {"name": "a", "brand": "3", "url": PAGE}
