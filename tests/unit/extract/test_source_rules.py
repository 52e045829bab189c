"""Rules over what a page says of itself, looked into by JMESPath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from smartspider.core.errors import NotReadable
from smartspider.core.extraction import Extraction
from smartspider.core.rules import FieldRule, FirstOf, Rule

Read = Callable[..., Extraction]

PAGE = """<!DOCTYPE html><html><head><title>T</title><meta property="og:title" content=" Kettle ">
<script type="application/ld+json">[{"@type": "Product", "name": "Kettle", "offers": {"price": 12}},
{"@type": "Product", "name": "Lamp"}]</script></head><body>
<div class="c"><h2>One</h2><table><tr><th>k</th></tr><tr><td>1</td></tr></table><a href="/1">l1</a></div>
<div class="c"><h2>Two</h2><p>text</p></div></body></html>"""


@pytest.mark.parametrize("extra", [{}, {"xpath": Rule("xpath", "//none")}])
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Rule("json_ld", "[0].name"), "Kettle"),
        (Rule("json_ld", "[].name", many=True), ["Kettle", "Lamp"]),
        (Rule("json_ld", "[].name", join="+"), "Kettle+Lamp"),
        (Rule("json_ld", "[].offers.price", many=True), [12]),
        (Rule("opengraph", "title"), "Kettle"),
        (Rule("microdata", None), None),
        (Rule("microdata", None, default="-"), "-"),
        (Rule("microdata", None, many=True), []),
        (Rule("links", "[0].url"), "http://shop.example/1"),
        (Rule("tables", "[0].rows[0].k"), "1"),
        (FirstOf((Rule("microdata", "[0].name"), Rule("json_ld", "[1].name"))), "Lamp"),
        (
            Rule("json_ld", None, many=True, fields={"n": Rule("jmespath", "name")}),
            [{"n": "Kettle"}, {"n": "Lamp"}],
        ),
    ],
)
def test_an_expression_looks_into_a_source(
    read: Read, rule: FieldRule, expected: Any, extra: dict[str, FieldRule]
) -> None:
    assert read(PAGE, fields={"x": rule, **extra}).items[0]["x"] == expected


def test_a_source_can_be_the_items(read: Read) -> None:
    fields: dict[str, FieldRule] = {"n": Rule("jmespath", "name"), "p": Rule("jmespath", "offers.price")}
    items = read(PAGE, items=Rule("json_ld", "[?\"@type\"=='Product']"), fields=fields).items
    assert items == [{"n": "Kettle", "p": 12}, {"n": "Lamp", "p": None}]


@pytest.mark.parametrize("extra", [{}, {"xpath": Rule("xpath", "//none")}])
def test_items_have_their_own_tables_links_and_markdown(read: Read, extra: dict[str, FieldRule]) -> None:
    fields: dict[str, FieldRule] = {
        "t": Rule("tables", "[0].rows", many=True),
        "l": Rule("links", "[].url", many=True),
        "m": Rule("markdown", None),
    }
    first, second = read(PAGE, items=".c", fields={**fields, **extra}).items
    assert (first["t"], first["l"]) == ([{"k": "1"}], ["http://shop.example/1"])
    assert (second["t"], second["l"]) == ([], [])
    assert "One" in first["m"]
    assert "text" in second["m"]


def test_a_feed_is_a_list_of_entries(read: Read) -> None:
    rss = "<rss><channel><item><title>A</title><link>http://h/1</link></item></channel></rss>"
    fields: dict[str, FieldRule] = {"t": Rule("jmespath", "title"), "l": Rule("jmespath", "link")}
    items = read(rss, items=Rule("feed", "entries"), fields=fields, content_type="application/rss+xml").items
    assert items == [{"t": "A", "l": "http://h/1"}]


def test_a_page_that_is_no_html_cannot_say_anything(read: Read) -> None:
    with pytest.raises(NotReadable):
        read(b"\x89PNG", fields={"x": Rule("json_ld", None)}, content_type="image/png")
