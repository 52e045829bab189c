"""Rules with `fields`: each match is an object, at any depth and in every kind of page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.rules import FieldRule, FirstOf, NestedRule, ValueRule

Read = Callable[..., Extraction]

SHOP = """<!DOCTYPE html><body><h1>top</h1>
<div class="shop"><h2>A</h2><ul class="wrap"><li><b>1</b><i>x</i></li><li><b>2</b></li><li>e</li></ul></div>
<div class="shop"><h2>B</h2><li><b>3</b><ol><li><b>4</b></li></ol></li></div>
<div class="shop"><h2>C</h2></div></body>"""
XPATH: dict[str, FieldRule] = {"xpath": ValueRule("xpath", "//none")}


def css(expr: str, **rule: Any) -> ValueRule:
    return ValueRule("css", expr, **rule)


def column(read: Read, rule: FieldRule, items: Any = ".shop", **rest: Any) -> list[Any]:
    on_lexbor = read(SHOP, items=items, fields={"x": rule, "h": css("h2")}, **rest)
    on_lxml = read(SHOP, items=items, fields={"x": rule, "h": css("h2"), **XPATH}, **rest)
    assert [item["x"] for item in on_lexbor.items] == [item["x"] for item in on_lxml.items]
    assert [each.reason for each in on_lexbor.rejected] == [each.reason for each in on_lxml.rejected]
    return [(item["h"], item["x"]) for item in on_lexbor.items]


def test_many_gives_a_list_of_objects(read: Read) -> None:
    rule = css("li", many=True, fields={"b": css("b"), "i": css("i")})
    assert column(read, rule) == [
        ("A", [{"b": "1", "i": "x"}, {"b": "2", "i": None}]),
        ("B", [{"b": "3", "i": None}, {"b": "4", "i": None}]),
        ("C", []),
    ]


def test_without_many_it_is_the_first_object(read: Read) -> None:
    rule = css("li", fields={"b": css("b")})
    assert column(read, rule) == [("A", {"b": "1"}), ("B", {"b": "3"}), ("C", None)]


def test_rules_of_an_object_see_nothing_around_it(read: Read) -> None:
    rule = css("li", many=True, fields={"out": css(".wrap b"), "own": css("> b"), "b": css("b")})
    assert column(read, rule)[0] == (
        "A", [{"out": None, "own": "1", "b": "1"}, {"out": None, "own": "2", "b": "2"}]
    )  # fmt: skip


def test_objects_nest_to_any_depth(read: Read) -> None:
    inner = css("li", many=True, fields={"b": css("b"), "deep": NestedRule({"c": css("b", many=True)})})
    rule = css("li", many=True, fields={"b": css("b"), "inner": inner})
    assert column(read, rule)[1] == (
        "B",
        [
            {"b": "3", "inner": [{"b": "4", "deep": {"c": ["4"]}}]},
            {"b": "4", "inner": []},
        ],
    )


def test_objects_of_a_whole_page(read: Read) -> None:
    rule = css(".shop", many=True, fields={"h": css("h2"), "n": css("li", many=True, fields={"b": css("b")})})
    for extra in ({}, XPATH):
        assert read(SHOP, fields={"x": rule, **extra}).items[0]["x"] == [
            {"h": "A", "n": [{"b": "1"}, {"b": "2"}]},
            {"h": "B", "n": [{"b": "3"}, {"b": "4"}]},
            {"h": "C", "n": []},
        ]


def test_a_default_stands_for_no_object(read: Read) -> None:
    assert column(read, css("li", default="-", fields={"b": css("b")}))[2] == ("C", "-")


def test_required_holds_for_objects_and_in_them(read: Read) -> None:
    whole = read(SHOP, items=".shop", fields={"x": css("li", required=True, fields={"b": css("b")})})
    assert [each.reason for each in whole.rejected] == ["required field 'x' is missing"]
    inner = css("li", many=True, fields={"b": css("b"), "i": css("i", required=True)})
    rejected = read(SHOP, items=".shop", fields={"x": inner}).rejected
    assert [each.reason for each in rejected] == ["required field 'x.i' is missing"] * 2


def test_objects_are_alternatives_too(read: Read) -> None:
    rule = FirstOf(
        (css("ol li", fields={"b": css("b")}), css("li", fields={"i": css("i", required=True)}), css("h2"))
    )
    assert column(read, rule) == [("A", {"i": "x"}), ("B", {"b": "4"}), ("C", "C")]


def test_objects_of_one_language_may_hold_another(read: Read) -> None:
    html = """<div class=c data-j='{"l": [{"n": "a-1"}, {"n": "b-2"}]}'><p>k=1;</p><p>k=2;</p></div>"""
    fields: dict[str, FieldRule] = {
        "json": ValueRule(
            "jmespath", "l", within="::attr(data-j)", many=True,
            fields={"n": ValueRule("jmespath", "n"), "d": ValueRule("regex", r"\d")},
        ),
        "text": ValueRule("regex", r"<p>(.*?)</p>", many=True, fields={"k": ValueRule("regex", r"k=(\d)")}),
    }  # fmt: skip
    for extra in ({}, XPATH):
        item = read(html, items=".c", fields={**fields, **extra}).items[0]
        assert item["json"] == [{"n": "a-1", "d": "1"}, {"n": "b-2", "d": "2"}]
        assert item["text"] == [{"k": "1"}, {"k": "2"}]


def test_objects_of_json(read: Read) -> None:
    body = '{"o": [{"v": [{"s": 1, "q": null}, {"s": 2, "q": 3}]}, {"v": []}]}'
    rule = ValueRule(
        "jmespath", "v", many=True, fields={"s": ValueRule("jmespath", "s"), "q": ValueRule("jmespath", "q")}
    )
    items = read(
        body, items=ValueRule("jmespath", "o"), fields={"x": rule}, content_type="application/json"
    ).items
    assert [item["x"] for item in items] == [[{"s": 1, "q": None}, {"s": 2, "q": 3}], []]


def test_xpath_objects(read: Read) -> None:
    rule = ValueRule(
        "xpath",
        ".//li",
        many=True,
        fields={"b": ValueRule("xpath", "./b"), "up": ValueRule("xpath", "../../h2")},
    )
    items = read(SHOP, items=ValueRule("xpath", "//div"), fields={"x": rule}).items
    assert items[0]["x"] == [
        {"b": "1", "up": "A"}, {"b": "2", "up": "A"}, {"b": None, "up": "A"}
    ]  # fmt: skip


@pytest.mark.parametrize("items", [".c", "div"])
def test_items_in_one_another_have_their_own_objects(read: Read, items: str) -> None:
    html = "<div class=c><p><b>1</b></p><div class=c><p><b>2</b></p></div></div>"
    rule = css("p", many=True, fields={"b": css("b")})
    for extra in ({}, XPATH):
        found = read(html, items=items, fields={"x": rule, **extra}).items
        assert [item["x"] for item in found] == [[{"b": "1"}, {"b": "2"}], [{"b": "2"}]]


def test_the_document_is_left_as_it_was(read: Read) -> None:
    fields: dict[str, FieldRule] = {
        "x": css("li", many=True, fields={"b": css("b", is_raw=True)}),
        "raw": css(":scope", is_raw=True),
        "h": css("h2"),
    }
    items = read(SHOP, items=".shop", fields=fields).items
    assert [item["h"] for item in items] == ["A", "B", "C"]
    assert all("smartspider" not in str(item) for item in items)
