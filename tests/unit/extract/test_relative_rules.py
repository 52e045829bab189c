"""Rules inside items: what they may see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.rules import ValueRule

Read = Callable[..., Extraction]


def column(read: Read, html: str, items: str, expr: str, **rule: Any) -> list[Any]:
    extraction = read(html, items=items, fields={"x": ValueRule("css", expr, **rule)})
    return [item["x"] for item in extraction.items]


LIST = """<!DOCTYPE html><div class="wrap"><h2>outside</h2>
<article class="card"><h2>A</h2><p><a href="/a">a</a></p></article>
<article class="card wrap"><h2>B</h2><a href="/b">b</a></article>
<article class="card"><div class="wrap"><h2>C</h2></div></article>
<h2>after</h2><a href="/after">after</a></div>"""


def test_an_ancestor_outside_the_item_does_not_count(read: Read) -> None:
    assert column(read, LIST, ".card", ".wrap h2::text") == [None, "B", "C"]
    assert column(read, LIST, ".card", ".wrap h2") == [None, "B", "C"]
    assert column(read, LIST, ".card", "div h2") == [None, None, "C"]
    assert column(read, LIST, ".card", "body h2") == [None, None, None]


def test_what_stands_between_and_after_items_belongs_to_none(read: Read) -> None:
    assert column(read, LIST, ".card", "a::attr(href)") == ["/a", "/b", None]
    assert column(read, LIST, ".card", "a::attr(href)", many=True) == [["/a"], ["/b"], []]


@pytest.mark.parametrize("expr", ["> a::attr(href)", ":scope > a::attr(href)", ":scope>a::attr(href)"])
def test_a_rule_can_start_at_the_item(read: Read, expr: str) -> None:
    assert column(read, LIST, ".card", expr) == [None, "/b", None]


def test_scope_at_page_level_is_the_root_element(read: Read) -> None:
    extraction = read(LIST, fields={"x": ValueRule("css", "> body > div > h2::text", many=True)})
    assert extraction.items == [{"x": ["outside", "after"]}]


def test_items_can_be_found_from_the_root(read: Read) -> None:
    html = "<div class=c>1</div><b>outside</b><div class=c><b>2</b></div>"
    assert column(read, html, "> body > .c", "b::text") == [None, "2"]


def test_the_item_itself_counts_for_attributes_and_text(read: Read) -> None:
    html = "<ul><a href=/1>one</a><a href=/2><b>two</b></a></ul>"
    assert column(read, html, "a", "::attr(href)") == ["/1", "/2"]
    assert column(read, html, "a", "a::attr(href)") == ["/1", "/2"]
    assert column(read, html, "a", "a::text") == ["one", None]
    assert column(read, html, "a", "::text") == ["one", "two"]
    assert column(read, html, "a", ":scope") == ["one", "two"]
    assert column(read, html, "a", ":scope::attr(href)") == ["/1", "/2"]


def test_the_item_itself_is_not_an_element_found_in_it(read: Read) -> None:
    html = "<div class=i>out<div>in</div></div><div class=i>alone</div>"
    assert column(read, html, ".i", "div") == ["in", None]
    assert column(read, html, ".i", "div", is_raw=True) == [
        '<div class="i">out<div>in</div></div>',
        '<div class="i">alone</div>',
    ]


def test_items_may_lie_in_one_another(read: Read) -> None:
    html = """<div class="c" id="1"><b>x</b><div class="c" id="2"><b>y</b><i>z</i></div></div>
    <div class="c" id="3"><b>w</b></div>"""
    assert column(read, html, ".c", "b::text") == ["x", "y", "w"]
    assert column(read, html, ".c", "b::text", many=True) == [["x", "y"], ["y"], ["w"]]
    assert column(read, html, ".c", ".c i::text") == ["z", "z", None]
    assert column(read, html, ".c", "> i::text") == [None, "z", None]
    assert column(read, html, ".c", ".c .c i::text") == ["z", None, None]
    assert column(read, html, ".c", "::attr(id)") == ["1", "2", "3"]
    assert column(read, html, ".c", ".c", is_raw=True)[1] == '<div class="c" id="2"><b>y</b><i>z</i></div>'


def test_items_with_different_parents_are_told_apart(read: Read) -> None:
    html = "<div><p class=c><b>1</b></p></div><b>no</b><section><div><p class=c><b>2</b></p></div></section>"
    assert column(read, html, ".c", "b::text") == ["1", "2"]


def test_an_element_that_two_members_of_items_match_is_one_item(read: Read) -> None:
    assert column(read, "<p class=c>1</p><p>2</p>", "p, .c", "::text") == ["1", "2"]


def test_position_in_the_page_counts_for_nth_child(read: Read) -> None:
    html = "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>"
    assert column(read, html, "tr", "td:nth-child(2)") == ["b", "d"]
    assert column(read, html, "tr:nth-child(2)", "td:first-child::text") == ["c"]


def test_no_items_is_no_item(read: Read) -> None:
    assert column(read, "<p>x</p>", ".card", "p") == []


def test_every_ancestor_is_asked_whether_it_matches(read: Read) -> None:
    html = """<section class=c><div class=a><p><em>1</em></p></div></section>"""
    assert column(read, html, ".c", ":is(.a, .b) em") == ["1"]
    assert column(read, html, ".c", ":not(p):not(.a):has(p) em") == ["1"]
    assert column(read, html, ".c", "em:is(:is(.a) em)") == ["1"]
    assert column(read, html, ".c", ":is([title=' :is(x)'], .a) em") == ["1"]
    assert column(read, html, ":is(body) em", "::text") == ["1"]
