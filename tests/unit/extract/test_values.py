"""What a rule's value is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Value = Callable[..., Any]

CARD = """<!DOCTYPE html><div class="card" data-id="7">
  <h2> Red  <b>big</b>
     kettle </h2>
  <p class="price">\n 12 <i>EUR</i> net </p>
  <a href="/k?a=1&amp;b=2" title=" as it is ">go</a>
  <ul><li>one</li><li> </li><li> two </li></ul>
  <input disabled>
</div>"""


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("h2", "Red big kettle"),
        ("h2::text", "Red"),
        ("h2 b::text", "big"),
        (".price::text", "12"),
        ("a::attr(href)", "/k?a=1&b=2"),
        ("a::attr('href')", "/k?a=1&b=2"),
        ("a::attr(title)", " as it is "),
        ("input::attr(disabled)", ""),
        ("input", ""),
        ("input::text", None),
        ("h3", None),
        ("h3, h2", "Red big kettle"),
        ("a::attr(rel)", None),
    ],
)
@pytest.mark.parametrize("items", [None, ".card"])
def test_a_value_is_text_or_an_attribute(
    value: Value, expr: str, expected: str | None, items: str | None
) -> None:
    assert value(CARD, expr, items=items) == expected


@pytest.mark.parametrize("items", [None, ".card"])
def test_the_attr_key_equals_the_pseudo_element(value: Value, items: str | None) -> None:
    assert value(CARD, "a", attr="href", items=items) == value(CARD, "a::attr(href)", items=items)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("li", ["one", "two"]),
        ("li::text", ["one", "two"]),
        (".price::text", ["12", "net"]),
        (".price ::text", ["12", "EUR", "net"]),
        (".price *::text", ["12", "EUR", "net"]),
        ("li, li:first-child", ["one", "two"]),
        ("h3", []),
    ],
)
@pytest.mark.parametrize("items", [None, ".card"])
def test_many_gives_all_but_the_empty_ones(
    value: Value, expr: str, expected: list[str], items: str | None
) -> None:
    assert value(CARD, expr, many=True, items=items) == expected


@pytest.mark.parametrize("items", [None, ".card"])
def test_join_makes_one_string(value: Value, items: str | None) -> None:
    assert value(CARD, "li", many=True, join=" / ", items=items) == "one / two"
    assert value(CARD, "li", join=" / ", items=items) == "one / two"
    assert value(CARD, "h3", many=True, join=" / ", items=items) is None


@pytest.mark.parametrize("items", [None, ".card"])
def test_raw_is_neither_trimmed_nor_collapsed(value: Value, items: str | None) -> None:
    assert value(CARD, "h2::text", is_raw=True, items=items) == " Red  "
    assert value(CARD, "li", is_raw=True, items=items) == "<li>one</li>"
    assert value(CARD, "li::text", is_raw=True, many=True, items=items) == ["one", " ", " two "]


@pytest.mark.parametrize("items", [None, ".card"])
def test_members_of_a_group_may_take_different_things(value: Value, items: str | None) -> None:
    expr = "a::text, .price i, a::attr(href), h2 ::text"
    assert value(CARD, expr, many=True, items=items) == [
        "Red", "big", "kettle", "EUR", "/k?a=1&b=2", "go"
    ]  # fmt: skip
    assert value(CARD, expr, items=items) == "Red"


def test_text_nodes_of_nested_matches_come_in_document_order(value: Value) -> None:
    html = "<section><div><div>first</div>second<div>third</div></div></section>"
    assert value(html, "div::text", many=True) == ["first", "second", "third"]
    assert value(html, "div::text") == "first"
    assert value(html, "div::text", many=True, items="section") == ["first", "second", "third"]
    assert value(html, "div::text", items="section") == "first"


def test_scripts_and_styles_are_not_text_of_an_element(value: Value) -> None:
    html = "<div>a<script>var x</script><p>b<style>p{}</style></p> c</div><script id=s>var y</script>"
    assert value(html, "div") == "ab c"
    assert value(html, "p") == "b"
    assert value(html, "div ::text", many=True) == ["a", "var x", "b", "p{}", "c"]
    assert value(html, "#s") == "var y"


def test_whitespace_beyond_ascii_collapses_too(value: Value) -> None:
    assert value("<p>1\u00a0\u2003 000 €</p>", "p") == "1 000 €"
    assert value("<p> already fine </p>", "p") == "already fine"
    assert value("<p>two  spaces</p>", "p") == "two spaces"


def test_character_references_are_read(value: Value) -> None:
    assert value("<p>a &lt; b &amp; c &#8364;</p>", "p") == "a < b & c €"


def test_an_attribute_with_a_colon_can_be_named(value: Value) -> None:
    assert value("<div :src=x></div>", "div", attr=":src") == "x"
    assert value("<div :src=x></div>", "div", attr=":src", items="body") == "x"


def test_the_first_element_that_has_the_attribute_counts(value: Value) -> None:
    html = "<div><a>no</a><a href=/1>yes</a></div>"
    assert value(html, "a::attr(href)") == "/1"
    assert value(html, "a::attr(href)", items="div") == "/1"
