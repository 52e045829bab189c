"""Missing values, defaults, required fields, alternatives, nested items, const and meta."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from smartspider.core.pages.extraction import Extraction, RejectedItem
from smartspider.core.pages.rules import FieldRule, FirstOf, NestedRule, ValueRule

Read = Callable[..., Extraction]

HTML = """<div class="c"><b>1</b><i>x</i></div><div class="c"><b>2</b></div><div class="c"><i>z</i></div>"""


def css(expr: str, **rule: Any) -> ValueRule:
    return ValueRule("css", expr, **rule)


def test_every_key_is_there_in_task_order(read: Read) -> None:
    fields: dict[str, FieldRule] = {"z": css("i"), "a": css("b"), "m": css("u"), "n": css("u", many=True)}
    items = read(HTML, items=".c", fields=fields).items
    assert [list(item) for item in items] == [["z", "a", "m", "n"]] * 3
    assert items[1] == {"z": None, "a": "2", "m": None, "n": []}


def test_a_missing_value_is_the_default(read: Read) -> None:
    fields: dict[str, FieldRule] = {"x": css("i", default="none"), "n": css("u", many=True, default=["?"])}
    items = read(HTML, items=".c", fields=fields).items
    assert [item["x"] for item in items] == ["x", "none", "z"]
    assert items[0]["n"] == ["?"]


def test_an_item_without_a_required_field_is_rejected(read: Read) -> None:
    extraction = read(HTML, items=".c", fields={"i": css("i", required=True), "b": css("b", required=True)})
    assert extraction.items == [{"i": "x", "b": "1"}]
    assert extraction.rejected == [
        RejectedItem("required field 'i' is missing", {"i": None, "b": "2"}, field="i"),
        RejectedItem("required field 'b' is missing", {"i": "z", "b": None}, field="b"),
    ]


def test_required_holds_for_lists_and_is_met_by_a_default(read: Read) -> None:
    listed = read(HTML, items=".c", fields={"i": css("i", many=True, required=True)})
    assert (len(listed.items), len(listed.rejected)) == (2, 1)
    defaulted = read(HTML, items=".c", fields={"i": css("i", required=True, default="?")})
    assert [item["i"] for item in defaulted.items] == ["x", "?", "z"]


def test_the_first_alternative_with_a_value_gives_it(read: Read) -> None:
    fields: dict[str, FieldRule] = {"x": FirstOf((css("i"), css("b"), ValueRule("const", "never")))}
    assert [item["x"] for item in read(HTML, items=".c", fields=fields).items] == ["x", "2", "z"]
    only_bold: dict[str, FieldRule] = {"x": FirstOf((css("u"), css("b", default="none")))}
    assert [item["x"] for item in read(HTML, items=".c", fields=only_bold).items] == ["1", "2", "none"]


def test_alternatives_can_be_required(read: Read) -> None:
    extraction = read(HTML, items=".c", fields={"x": FirstOf((css("u", required=True), css("b")))})
    assert [item["x"] for item in extraction.items] == ["1", "2"]
    assert [rejected.reason for rejected in extraction.rejected] == ["required field 'x' is missing"]


def test_an_object_of_rules_is_a_nested_item(read: Read) -> None:
    fields: dict[str, FieldRule] = {
        "n": NestedRule({"b": css("b"), "deep": NestedRule({"i": css("i", default="-")})})
    }
    assert [item["n"] for item in read(HTML, items=".c", fields=fields).items] == [
        {"b": "1", "deep": {"i": "x"}},
        {"b": "2", "deep": {"i": "-"}},
        {"b": None, "deep": {"i": "z"}},
    ]


def test_a_required_field_of_a_nested_item_is_named_by_its_path(read: Read) -> None:
    extraction = read(HTML, items=".c", fields={"n": NestedRule({"b": css("b", required=True)})})
    assert len(extraction.items) == 2
    assert extraction.rejected == [
        RejectedItem("required field 'n.b' is missing", {"n": {"b": None}}, field="n.b")
    ]


def test_a_nested_alternative_counts_when_it_has_what_it_requires(read: Read) -> None:
    nested = NestedRule({"b": css("b", required=True), "i": css("i")})
    extraction = read(HTML, items=".c", fields={"x": FirstOf((nested, css("i")))})
    assert [item["x"] for item in extraction.items] == [{"b": "1", "i": "x"}, {"b": "2", "i": None}, "z"]


def test_const_and_meta_fill_every_item(read: Read) -> None:
    keys = ["url", "final_url", "status", "fetched_at", "depth", "parent", "page", "colour", "size"]
    fields: dict[str, FieldRule] = {key: ValueRule("meta", key) for key in keys}
    fields["c"] = ValueRule("const", {"a": [1]})
    extraction = read(
        HTML,
        items=".c",
        fields=fields,
        url="http://shop.example/landed",
        meta={"colour": "red"},
        parent="http://shop.example/",
    )
    assert (
        extraction.items
        == [
            {
                "url": "http://shop.example/list",
                "final_url": "http://shop.example/landed",
                "status": 200,
                "fetched_at": "2023-11-14T22:13:20+00:00",
                "depth": 2,
                "parent": "http://shop.example/",
                "page": "default",
                "colour": "red",
                "size": None,
                "c": {"a": [1]},
            }
        ]
        * 3
    )


def test_without_items_the_page_is_one_item_even_if_nothing_is_found(read: Read) -> None:
    assert read(HTML, fields={"b": css("b"), "u": css("u")}).items == [{"b": "1", "u": None}]
    assert read("", fields={"u": css("u")}).items == [{"u": None}]
    assert read(HTML, fields={"u": css("u", required=True)}).items == []


@pytest.mark.parametrize("items", [None, ".c"])
def test_without_fields_there_is_no_item(read: Read, items: str | None) -> None:
    assert read(HTML, items=items).items == []


def test_a_page_type_without_css_never_parses(read: Read) -> None:
    picture = b"\x89PNG\x00\x00"
    extraction = read(picture, content_type="image/png", fields={"u": ValueRule("meta", "url")})
    assert extraction.items == [{"u": "http://shop.example/list"}]
    assert read(picture, content_type="image/png").items == []
