"""Hostile and huge pages end in time, with an answer or with an error that says why."""

from __future__ import annotations

from typing import Any

import pytest

from smartspider.core.errors import NotReadable
from smartspider.suggest.html.tree import Tree
from smartspider.suggest.suggest import find_suggestions


def test_thousands_of_items_are_one_list(page_of: Any) -> None:
    card = "<div class='card'><h3><a href='/i/{0}'>Thing {0}</a></h3><p class='price'>$ {0}.50</p></div>"
    found = find_suggestions(
        page_of("<main>" + "".join(card.format(i) for i in range(3_000)) + "</main>")
    ).suggestions[0]
    assert found.count == 3_000


def test_elements_beyond_the_bound_are_not_looked_at() -> None:
    from selectolax.lexbor import LexborHTMLParser

    root = LexborHTMLParser("<p>x</p>" * 2000).root
    assert root is not None
    assert len(Tree(root, most=1000).elements) == 1000


@pytest.mark.parametrize(
    "body",
    [
        "<div>" * 2500 + "x",
        "<ul><li>x<a href=/a>b</a>" * 1500,
        "<table><tr>"
        + "<th>h" * 300
        + "<tr>"
        + "<td>1" * 300
        + "<tr>"
        + "<td>2" * 300
        + "<tr>"
        + "<td>3" * 300,
        "".join(f"<div class='{' '.join(f'c{j}' for j in range(150))}'><p>{i}</p></div>" for i in range(300)),
        "<a href='&quot;\\'><b title='\\\"]'>x</b></a>" * 50,
        "<div class='a\\b \"q\" :x'><p>1</p><i>2</i></div><div class='a\\b \"q\" :x'><p>3</p><i>4</i></div>",
        "words " * 300 + "<ul>" + "<li>\x07\x00\ufffd a b</li>" * 40 + "</ul>",
        "",
    ],
    ids=["deep", "nested lists", "wide table", "many classes", "quotes", "odd classes", "controls", "empty"],
)
def test_odd_pages_give_a_list_of_suggestions(body: str, page_of: Any) -> None:
    assert isinstance(find_suggestions(page_of(body)).suggestions, list)


def test_a_label_with_quotes_is_selected_as_it_is(page_of: Any) -> None:
    row = '<dl class="r"><dt>Size "L\\"</dt><dd>{i}0 cm</dd><dt>Note</dt><dd>note {i}</dd></dl>'
    found = find_suggestions(page_of("".join(row.replace("{i}", str(i)) for i in range(1, 6)))).suggestions[0]
    assert [field.samples[0] for field in found.fields] == ["10 cm", "note 1"]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"\x89PNG\r\n\x1a\n\x00", "image/png"),
        (b"{broken", "application/json"),
        (b"[" * 5000, "application/json"),
        (b"<?xml version='1.0'?><data><x/></data>", "application/xml"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_says_so(body: bytes, content_type: str, page_of: Any) -> None:
    with pytest.raises(NotReadable):
        find_suggestions(page_of(body, content_type=content_type))


def test_a_large_json_answer_is_bounded(page_of: Any) -> None:
    body = '{"a":[' + ",".join(f'{{"id":{i},"n":{{"b":[1,{{"c":3}}]}}}}' for i in range(5_000)) + "]}"
    assert find_suggestions(page_of(body, content_type="application/json")).suggestions[0].count == 5_000
