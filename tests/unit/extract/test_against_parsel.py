"""Raw answers equal parsel's; and searching all items at once equals searching each by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parsel import Selector

from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import ValueRule
from smartspider.core.requests.request import make_request
from smartspider.extract.lexbor.columns import CssColumn
from smartspider.extract.lexbor.engine import check_css
from smartspider.extract.lexbor.items import LexborItems
from smartspider.extract.lexbor.query import make_queries
from smartspider.extract.parsing.document import Document

TAGS = st.sampled_from(["div", "span", "em"])
CLASSES = st.sampled_from(
    ["", ' class="a"', ' class="b"', ' class="a b"', ' data-x="1"', ' class="c" data-x=""']
)
TEXTS = st.sampled_from(["", "", " ", "t", " u  v ", "\n w"])


def _element(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def build(tag: str, attributes: str, pieces: list[tuple[str, str]], tail: str) -> str:
        inner = "".join(text + child for text, child in pieces)
        return f"<{tag}{attributes}>{inner}{tail}</{tag}>"

    return st.builds(build, TAGS, CLASSES, st.lists(st.tuples(TEXTS, children), max_size=4), TEXTS)


TREES = st.recursive(_element(st.just("")), _element, max_leaves=25)
COMPOUNDS = st.sampled_from(
    [
        "div",
        "span",
        ".a",
        ".b",
        "*",
        "[data-x]",
        "div.a",
        "em:first-child",
        ":not(.b)",
        ":is(.a, em)",
        ":has(em)",
    ]
)
PSEUDOS = st.sampled_from(
    ["", "::text", " ::text", " *::text", " ::attr(data-x)", "::attr(data-x)", "::attr(class)"]
)
CHAINS = st.one_of(
    COMPOUNDS,
    st.tuples(COMPOUNDS, st.sampled_from([" ", " > "]), COMPOUNDS).map("".join),
    st.tuples(
        COMPOUNDS, st.sampled_from([" ", " > "]), COMPOUNDS, st.sampled_from([" + ", " ~ "]), COMPOUNDS
    ).map("".join),
)
MEMBERS = st.one_of(
    st.tuples(CHAINS, PSEUDOS).map("".join),
    st.sampled_from(["::text", "::attr(data-x)", ":scope > *::text", ":scope > .a"]),
)
EXPRESSIONS = st.lists(MEMBERS, min_size=1, max_size=2).map(", ".join)
ITEMS = st.sampled_from(["div", ".a", "span", "[data-x]", "body > *", "div > div"])

Read = Callable[..., Extraction]
quick = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _page(tree: str) -> str:
    return f"<!DOCTYPE html><html><head></head><body>{tree}</body></html>"


@quick
@given(tree=TREES, items=ITEMS, expr=EXPRESSIONS)
def test_raw_values_in_items_equal_parsel(read: Read, tree: str, items: str, expr: str) -> None:
    html = _page(tree)
    fields = {
        "all": ValueRule("css", expr, many=True, is_raw=True),
        "one": ValueRule("css", expr, is_raw=True),
    }
    expected = [
        {"all": item.css(expr).getall(), "one": item.css(expr).get()} for item in Selector(html).css(items)
    ]
    assert read(html, items=items, fields=fields).items == expected


@quick
@given(tree=TREES, expr=EXPRESSIONS)
def test_raw_values_of_a_page_equal_parsel(read: Read, tree: str, expr: str) -> None:
    html = _page(tree)
    fields = {
        "all": ValueRule("css", expr, many=True, is_raw=True),
        "one": ValueRule("css", expr, is_raw=True),
    }
    answer = Selector(html).css(expr)
    assert read(html, fields=fields).items == [{"all": answer.getall(), "one": answer.get()}]


@quick
@given(
    tree=TREES,
    items=ITEMS,
    expr=EXPRESSIONS,
    rule=st.fixed_dictionaries({"many": st.booleans(), "is_raw": st.booleans()}),
)
def test_all_items_at_once_equal_each_by_itself(
    tree: str, items: str, expr: str, rule: dict[str, Any]
) -> None:
    html = _page(tree)
    css = ValueRule("css", expr, **rule)
    column = CssColumn(css, make_queries(check_css(expr), is_raw=css.is_raw))
    document = Document(Page("http://h/", 200, {}, html.encode(), "utf-8", 0.0), make_request("http://h/"))
    nodes = document.root.css(items)
    scope = LexborItems(document, nodes)
    together = column.values(scope)
    if scope.is_flat:
        assert [column.value_in(item, scope) for item in nodes] == together
        for item in nodes:
            del item.attrs["smartspider-item"]
        scope.is_flat = False
    assert column.values(scope) == together


@pytest.mark.parametrize(
    "expr", ["h2::text", ".price::text, .price ::text", "a::attr(href)", "li", "> p", "ul li"]
)
def test_an_ordinary_shop_page_equals_parsel(read: Read, expr: str) -> None:
    html = _page(
        "".join(
            f'<article class="card"><h2>Kettle {i}</h2><p class="price">{i} <i>EUR</i> net</p>'
            f'<a href="/k?i={i}&amp;b=2">go</a><ul><li>x</li><li>y</li></ul></article><hr>'
            for i in range(5)
        )
    )
    rule = ValueRule("css", expr, many=True, is_raw=True)
    ours = [item["x"] for item in read(html, items=".card", fields={"x": rule}).items]
    parsel_expr = f":scope {expr}" if expr.startswith(">") else expr
    assert ours == [card.css(parsel_expr).getall() for card in Selector(html).css(".card")]
