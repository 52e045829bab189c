"""Rules over what a page says of itself, looked into by JMESPath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from smartspider.core.errors import NotReadable
from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.rules import FieldRule, FirstOf, ValueRule

Read = Callable[..., Extraction]

PAGE = """<!DOCTYPE html><html><head><title>T</title><meta property="og:title" content=" Kettle ">
<script type="application/ld+json">[{"@type": "Product", "name": "Kettle", "offers": {"price": 12}},
{"@type": "Product", "name": "Lamp"}]</script></head><body>
<div class="c"><h2>One</h2><table><tr><th>k</th></tr><tr><td>1</td></tr></table><a href="/1">l1</a></div>
<div class="c"><h2>Two</h2><p>text</p></div></body></html>"""


@pytest.mark.parametrize("extra", [{}, {"xpath": ValueRule("xpath", "//none")}])
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (ValueRule("json_ld", "[0].name"), "Kettle"),
        (ValueRule("json_ld", "[].name", many=True), ["Kettle", "Lamp"]),
        (ValueRule("json_ld", "[].name", join="+"), "Kettle+Lamp"),
        (ValueRule("json_ld", "[].offers.price", many=True), [12]),
        (ValueRule("opengraph", "title"), "Kettle"),
        (ValueRule("microdata", None), None),
        (ValueRule("microdata", None, default="-"), "-"),
        (ValueRule("microdata", None, many=True), []),
        (ValueRule("links", "[0].url"), "http://shop.example/1"),
        (ValueRule("tables", "[0].rows[0].k"), "1"),
        (FirstOf((ValueRule("microdata", "[0].name"), ValueRule("json_ld", "[1].name"))), "Lamp"),
        (
            ValueRule("json_ld", None, many=True, fields={"n": ValueRule("jmespath", "name")}),
            [{"n": "Kettle"}, {"n": "Lamp"}],
        ),
    ],
)
def test_an_expression_searches_a_source(
    read: Read, rule: FieldRule, expected: Any, extra: dict[str, FieldRule]
) -> None:
    assert read(PAGE, fields={"x": rule, **extra}).items[0]["x"] == expected


def test_a_source_can_be_the_items(read: Read) -> None:
    fields: dict[str, FieldRule] = {
        "n": ValueRule("jmespath", "name"),
        "p": ValueRule("jmespath", "offers.price"),
    }
    items = read(PAGE, items=ValueRule("json_ld", "[?\"@type\"=='Product']"), fields=fields).items
    assert items == [{"n": "Kettle", "p": 12}, {"n": "Lamp", "p": None}]


@pytest.mark.parametrize("extra", [{}, {"xpath": ValueRule("xpath", "//none")}])
def test_items_have_their_own_tables_links_and_markdown(read: Read, extra: dict[str, FieldRule]) -> None:
    fields: dict[str, FieldRule] = {
        "t": ValueRule("tables", "[0].rows", many=True),
        "l": ValueRule("links", "[].url", many=True),
        "m": ValueRule("markdown", None),
    }
    first, second = read(PAGE, items=".c", fields={**fields, **extra}).items
    assert (first["t"], first["l"]) == ([{"k": "1"}], ["http://shop.example/1"])
    assert (second["t"], second["l"]) == ([], [])
    assert "One" in first["m"]
    assert "text" in second["m"]


def test_a_feed_is_a_list_of_entries(read: Read) -> None:
    rss = "<rss><channel><item><title>A</title><link>http://h/1</link></item></channel></rss>"
    fields: dict[str, FieldRule] = {"t": ValueRule("jmespath", "title"), "l": ValueRule("jmespath", "link")}
    items = read(
        rss, items=ValueRule("feed", "entries"), fields=fields, content_type="application/rss+xml"
    ).items
    assert items == [{"t": "A", "l": "http://h/1"}]


def test_a_page_that_is_no_html_cannot_say_anything(read: Read) -> None:
    with pytest.raises(NotReadable):
        read(b"\x89PNG", fields={"x": ValueRule("json_ld", None)}, content_type="image/png")
