from __future__ import annotations

from collections.abc import Callable
from typing import Any

Read = Callable[..., Any]


def test_values_are_read_as_the_standard_says(said: Read) -> None:
    page = """
    <div itemscope itemtype="https://schema.org/Product" itemid="/p/1">
      <h1 itemprop="name">Lampe <b>Aurora</b>
        <script>x</script></h1>
      <img itemprop="image" src="i.jpg"> <a itemprop="url" href="../lamp">more</a>
      <meta itemprop="sku" content="L-1"> <span itemprop="price" content="12.50">12,50 €</span>
      <time itemprop="released" datetime="2026-01-03">3 January</time> <time itemprop="since">2025</time>
      <data itemprop="code" value="77">x</data>
      <object itemprop="manual" data="m.pdf"></object>
      <link itemprop="availability" href="https://schema.org/InStock">
      <i itemprop="tag">a</i><i itemprop="tag color">b</i>
    </div>"""
    assert said("microdata", page) == [
        {
            "@type": "Product",
            "@id": "https://shop.example/p/1",
            "name": "Lampe Aurora",
            "image": "https://shop.example/a/i.jpg",
            "url": "https://shop.example/lamp",
            "sku": "L-1",
            "price": "12.50",
            "released": "2026-01-03",
            "since": "2025",
            "code": "77",
            "manual": "https://shop.example/a/m.pdf",
            "availability": "https://schema.org/InStock",
            "tag": ["a", "b"],
            "color": "b",
        }
    ]


def test_items_nest_and_keep_their_own_properties(said: Read) -> None:
    page = """
    <div itemscope itemtype="http://schema.org/Product"><p itemprop="name">书</p>
      <div itemprop="offers" itemscope itemtype="http://schema.org/Offer http://x.example/O">
        <p><span itemprop="price">1</span></p></div>
      <div itemscope itemtype="http://schema.org/Person"><b itemprop="name">Ann</b></div></div>"""
    assert said("microdata", page) == [
        {
            "@type": "Product",
            "name": "书",
            "offers": {"@type": ["Offer", "http://x.example/O"], "price": "1"},
        },
        {"@type": "Person", "name": "Ann"},
    ]


def test_references_bring_properties_from_elsewhere(said: Read) -> None:
    page = """<div itemscope itemref="more none"><b itemprop="a">1</b></div>
    <div id="more"><b itemprop="b">2</b><div itemprop="c" itemscope><b itemprop="d">3</b></div></div>"""
    assert said("microdata", page) == [{"a": "1", "b": "2", "c": {"d": "3"}}]


def test_items_that_refer_to_each_other_end(said: Read) -> None:
    page = """<div id="x" itemprop="q" itemscope itemref="y"></div>
    <div id="y" itemprop="q" itemscope itemref="x"></div><div itemscope itemref="x"></div>"""
    assert said("microdata", page) == [{"q": {"q": {}}}]


def test_an_item_that_is_a_property_of_no_other_stands_on_its_own(said: Read) -> None:
    page = """<div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><b itemprop="price">5</b>
    <div itemprop="seller" itemscope><b itemprop="name">Ann</b></div></div>
    <div itemscope itemref="more"></div><div id="more" itemprop="review" itemscope></div>"""
    assert said("microdata", page) == [
        {"@type": "Offer", "price": "5", "seller": {"name": "Ann"}},
        {"review": {}},
    ]


def test_a_property_outside_of_every_item_is_nobodys(said: Read) -> None:
    assert said("microdata", "<b itemprop=a>1</b>") == []


def test_references_cannot_multiply_a_page(said: Read) -> None:
    page = "<div itemscope itemref=a></div>" * 2_000 + "<div id=a>" + "<p itemprop=x>v</p>" * 2_000 + "</div>"
    values = [item.get("x", []) for item in said("microdata", page)]
    assert sum(len(value) for value in values) <= 22_000


def test_nested_properties_cannot_multiply_the_text_of_a_page(said: Read) -> None:
    page = "<div itemscope>" + "<span itemprop=a>" * 500 + "x" * 100_000
    (item,) = said("microdata", page)
    assert sum(len(value) for value in item["a"]) < 2_000_000


def test_items_nested_without_end_are_cut(said: Read) -> None:
    (item,) = said("microdata", "<div itemscope>" + "<div itemprop=a itemscope>" * 2_000)
    depth = 0
    while "a" in item:
        item = item["a"]
        depth += 1
    assert 0 < depth < 100
