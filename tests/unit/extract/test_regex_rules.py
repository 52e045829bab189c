"""Regular expressions: on pages of any kind, in items, as items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parsel import Selector
from parsel.utils import extract_regex

from smartspider.core.errors import NotReadable
from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.rules import FieldRule, ValueRule
from smartspider.extract.fields.regex_column import RegexPattern

Read = Callable[..., Extraction]
Value = Callable[..., Any]

HTML = """<!DOCTYPE html><html><body><p class="c">Price: <b>12</b> &euro; &amp; more</p>
<p class="c">Price: 7 </p></body></html>"""


@pytest.mark.parametrize(
    ("expr", "rule", "expected"),
    [
        (r"Price: (?:<b>)?(\d+)", {}, "12"),
        (r"Price: (?:<b>)?(\d+)", {"many": True}, ["12", "7"]),
        (r"Price: (?:<b>)?(\d+)", {"join": "+"}, "12+7"),
        (r"(Price): (?:<b>)?(?P<value>\d+)", {}, "12"),
        (r"(Price): (?:<b>)?(?P<value>\d+)", {"many": True}, ["12", "7"]),
        (r"Price: \d", {}, "Price: 7"),
        (r"</b>([^<]*)", {}, "€ &amp; more"),
        (r"</b>([^<]*)", {"is_raw": True}, " € &amp; more"),
        (r"nothing (x)", {}, None),
        (r"nothing (x)", {"many": True}, []),
        (r"nothing (x)", {"default": "-"}, "-"),
        (r"7( )(x)?", {}, ""),
        (r"(x)?7", {}, None),
        (r"(x)?7", {"is_raw": True}, ""),
    ],
)
def test_the_value_is_a_group_or_the_whole_match(value: Value, expr: str, rule: Any, expected: Any) -> None:
    assert value(HTML, expr, type="regex", **rule) == expected


@pytest.mark.parametrize("extra", [{}, {"xpath": ValueRule("xpath", "//none")}])
def test_an_item_is_searched_as_html(read: Read, extra: dict[str, FieldRule]) -> None:
    fields: dict[str, FieldRule] = {
        "x": ValueRule("regex", r'^<p class="c">Price: (.*?)\s*</p>$'),
        "y": ValueRule("regex", "7"),
    }
    items = read(HTML, items=".c", fields={**fields, **extra}).items
    assert [(item["x"], item["y"]) for item in items] == [("<b>12</b> € &amp; more", None), ("7", "7")]


@pytest.mark.parametrize("expr", [r"Price: (?:<b>)?(\d+)", r"\w+", r"&\w+;", r"(?:<b>)(.*?)</p>", r"(z)"])
def test_raw_values_in_items_equal_parsel(read: Read, expr: str) -> None:
    fields: dict[str, FieldRule] = {
        "all": ValueRule("regex", expr, many=True, is_raw=True), "one": ValueRule("regex", expr, is_raw=True)
    }  # fmt: skip
    expected = [{"all": card.re(expr), "one": card.re_first(expr)} for card in Selector(HTML).css(".c")]
    assert read(HTML, items=".c", fields=fields).items == expected


REFERENCES = st.lists(
    st.sampled_from(
        [
            "&amp;", "&AMP;", "&lt;", "&gt;", "&quot;", "&euro;", "&Euro;", "&nosuch;", "&nosuch", "&#65;",
            "&#x41;", "&#X41;", "&#128;", "&#x81;", "&#0;", "&#xD800;", "&#x110000;", "&#00065;", "&", "&#",
            "&#99999999999999999999;", "&#x110000", "x", ";", " ", "&apos;", "&nbsp", "&eacute", "&Eacute;",
        ]
    ),
    max_size=6,
).map("".join)  # fmt: skip


@given(REFERENCES)
def test_character_references_are_read_as_parsel_does(text: str) -> None:
    ours = list(RegexPattern("(?s)(.+)").values(text, is_markup=True))
    assert ours == extract_regex("(?s)(.+)", text)


def test_matches_can_be_the_items(read: Read) -> None:
    text = 'log {"id": 1, "t": "a"}\nlog {"id": 2}\nend'
    fields: dict[str, FieldRule] = {
        "id": ValueRule("regex", r'"id": (\d)'), "t": ValueRule("jmespath", "t"),
        "m": ValueRule("meta", "status"),
    }  # fmt: skip
    items = read(text, items=ValueRule("regex", r"log (.*)"), fields=fields, content_type="text/plain").items
    assert items == [{"id": "1", "t": "a", "m": 200}, {"id": "2", "t": None, "m": 200}]


@pytest.mark.parametrize(
    "content_type", ["application/javascript", "text/css", "application/json", "text/csv", None]
)
def test_text_of_any_kind_is_searched(read: Read, content_type: str | None) -> None:
    fields: dict[str, FieldRule] = {"x": ValueRule("regex", r"a=(\w+)")}
    assert read("a=b", fields=fields, content_type=content_type).items == [{"x": "b"}]


def test_json_is_not_taken_for_markup(value: Value) -> None:
    assert value('"&euro;"', "&.*?;", type="regex", content_type="application/json") == "&euro;"


def test_binary_data_is_refused(read: Read) -> None:
    for body in (b"\x89PNG\r\n\x1a\n", bytes(range(256)) * 8):
        with pytest.raises(NotReadable, match="looks like binary data, not text"):
            read(body, fields={"x": ValueRule("regex", "a")}, content_type="image/png")


def test_foreign_characters_are_taken_out_and_counted(read: Read) -> None:
    extraction = read(
        b"<p>a\x00b</p>", fields={"x": ValueRule("regex", "<p>(.*)</p>"), "y": ValueRule("regex", "p")}
    )
    assert (extraction.items, extraction.cleaned) == ([{"x": "ab", "y": "p"}], 1)
    assert read("<p>&#0;</p>", fields={"x": ValueRule("regex", "<p>(.*)</p>")}).items == [{"x": "\ufffd"}]


def test_the_charset_says_how_to_read(read: Read) -> None:
    fields: dict[str, FieldRule] = {"x": ValueRule("regex", "x(.)")}
    assert read("x日".encode("shift_jis"), fields=fields, charset="shift_jis").items == [{"x": "日"}]
    assert read("x日".encode("utf-16"), fields=fields, charset="utf-16").items == [{"x": "日"}]
