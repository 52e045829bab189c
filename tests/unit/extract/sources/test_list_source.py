from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Read = Callable[..., Any]


def _script(*things: Any) -> str:
    return "".join(f'<script type="application/ld+json">{json.dumps(thing)}</script>' for thing in things)


CRUMBS = {
    "@type": "BreadcrumbList",
    "itemListElement": [
        {"@type": "ListItem", "position": 1, "name": "首页", "item": "/"},
        {"@type": "ListItem", "position": 2, "item": {"@id": "/lamps", "name": "Lamps"}},
    ],
}


def test_entries_of_a_list_say_what_the_things_in_them_say(said: Read) -> None:
    elements = [
        {"@type": "ListItem", "position": 3, "url": "/1"},
        {
            "@type": "ListItem",
            "position": "4",
            "item": {
                "@type": "Product",
                "name": "P",
                "url": "p2",
                "image": "i.jpg",
                "offers": {"price": 3, "priceCurrency": "USD"},
            },
        },
        {"@type": "Recipe", "name": "Soup", "url": "/soup", "description": "<b>hot</b>"},
        "https://x.example/9",
        "Just a name",
        {"@type": "ListItem"},
        7,
    ]
    entries = said("list", _script(CRUMBS, {"@type": "ItemList", "itemListElement": elements}))
    assert [(entry["position"], entry["type"], entry["name"], entry["url"]) for entry in entries] == [
        (3, None, None, "https://shop.example/1"),
        (4, "Product", "P", "https://shop.example/a/p2"),
        (3, "Recipe", "Soup", "https://shop.example/soup"),
        (4, None, None, "https://x.example/9"),
        (5, None, "Just a name", None),
    ]
    assert (entries[1]["image"], entries[1]["price"], entries[1]["currency"]) == (
        "https://shop.example/a/i.jpg",
        3,
        "USD",
    )
    assert entries[2]["description"] == "hot"
    assert all(entry.keys() == entries[0].keys() for entry in entries)


def test_a_list_may_be_what_a_page_is_about(said: Read) -> None:
    page = {
        "@type": "CollectionPage",
        "mainEntity": {"@type": "ItemList", "itemListElement": [{"name": "a"}]},
    }
    assert [entry["name"] for entry in said("list", _script(page))] == ["a"]


def test_the_longest_list_wins(said: Read) -> None:
    short = {"@type": "ItemList", "itemListElement": ["/1"]}
    long = {"@type": "ItemList", "itemListElement": ["/2", "/3"]}
    assert len(said("list", _script(short, long, short))) == 2


def test_several_products_are_a_list(said: Read) -> None:
    page = _script(CRUMBS, {"@type": "Product", "name": "a"}, [{"@type": "Product", "name": "b"}])
    assert [(entry["position"], entry["name"]) for entry in said("list", page)] == [(1, "a"), (2, "b")]


def test_breadcrumbs_come_last(said: Read) -> None:
    entries = said("list", _script(CRUMBS, {"@type": "Product", "name": "a"}))
    assert [(entry["name"], entry["url"]) for entry in entries] == [
        ("首页", "https://shop.example/"),
        ("Lamps", "https://shop.example/lamps"),
    ]


def test_a_list_in_microdata(said: Read) -> None:
    page = """<ol itemscope itemtype="https://schema.org/ItemList">
    <li itemprop="itemListElement" itemscope itemtype="https://schema.org/ListItem">
    <a itemprop="url" href="/1"><b itemprop="name">One</b></a></li></ol>"""
    (entry,) = said("list", page)
    assert (entry["position"], entry["name"], entry["url"]) == (1, "One", "https://shop.example/1")


def test_references_cannot_multiply_a_page(said: Read) -> None:
    thing = {"@id": "#x", "@type": "Product", "name": "n", "description": "d" * 10_000}
    references = {"@type": "ItemList", "itemListElement": [{"@id": "#x"}] * 5_000}
    assert len(said("list", _script(thing, references))) == 1


def test_a_list_that_is_about_itself_ends(said: Read) -> None:
    page = {"@id": "#x", "@type": "ItemList", "mainEntity": {"@id": "#x"}, "itemListElement": ["/1"]}
    assert len(said("list", _script(page))) == 1


def test_a_page_without_lists_has_no_entries(said: Read) -> None:
    assert said("list", "<ul><li>a") == []
