"""CSS beside XPath is read by lxml, and means the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smartspider.core.errors import TaskInvalid
from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.rules import FieldRule, FollowRule, ValueRule

Read = Callable[..., Extraction]

XPATH = ValueRule("xpath", "//none")
"""Makes a page type one of lxml."""
TAGS = st.sampled_from(["div", "span", "em"])
CLASSES = st.sampled_from(
    ["", ' class="a"', ' class="b"', ' class="a b"', ' data-x="1"', ' class="c" data-x=" y "', ' id="i"']
)
TEXTS = st.sampled_from(["", "", " ", "t", " u  v ", "\n w"])
SIMPLE = [
    "div", "span", ".a", ".b", "*", "[data-x]", "div.a", "em:first-child", "span:last-child", "#i",
    "em:only-child", "div:nth-child(2)", "em:nth-child(2n+1)", "span:nth-of-type(1)", "div:nth-last-child(1)",
    "div:empty", "[data-x='1']", "[class^=a]", "[class$='b']", "[class*=a]", "[class~=b]", "em:first-of-type",
    ":root", ":not(.b)", ":not(.a, em)", ":is(.a, em)", ":where(.b)", ":has(em)", ":has(> em)", ":has(+ em)",
    ":has(~ .a)", ":not(:has(em))", "div:not(div div)", "em:is(div em)", ":is(div > em, span)", ":has(.a em)",
    ":has(em, .b)", "em:is(div + em)", "span:not(em ~ span)", ":is(.a > .b)",
]  # fmt: skip
COMPOUNDS = st.sampled_from(SIMPLE)
PSEUDOS = st.sampled_from(
    ["", "::text", " ::text", " *::text", " ::attr(data-x)", "::attr(data-x)", "::attr(class)"]
)
CHAINS = st.one_of(
    COMPOUNDS,
    st.tuples(COMPOUNDS, st.sampled_from([" ", " > ", " + ", " ~ "]), COMPOUNDS).map("".join),
    st.tuples(
        COMPOUNDS, st.sampled_from([" ", " > "]), COMPOUNDS, st.sampled_from([" + ", " ~ "]), COMPOUNDS
    ).map("".join),
)
MEMBERS = st.one_of(
    st.tuples(CHAINS, PSEUDOS).map("".join),
    st.sampled_from(
        ["::text", "::attr(data-x)", ":scope > *::text", ":scope > .a", "> em", ":scope.a", ":scope"]
    ),
)
EXPRESSIONS = st.lists(MEMBERS, min_size=1, max_size=2).map(", ".join)


def _element(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def build(tag: str, attributes: str, pieces: list[tuple[str, str]], tail: str) -> str:
        inner = "".join(text + child for text, child in pieces)
        return f"<{tag}{attributes}>{inner}{tail}</{tag}>"

    return st.builds(build, TAGS, CLASSES, st.lists(st.tuples(TEXTS, children), max_size=4), TEXTS)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (":is(h1 + p)", ["2"]),
        (":is(h1 ~ p)", ["2", "3"]),
        (":not(h1 ~ *)::text", ["0", "1"]),
        ("p:not(h1 + p)", ["0", "3"]),
        (":has(+ p):not(p)", ["1"]),
        (":is(div > h1, p:last-child)", ["1", "3"]),
    ],
)
def test_combinators_inside_parentheses(read: Read, expr: str, expected: list[str]) -> None:
    html = "<!DOCTYPE html><section><div><p>0</p><h1>1</h1><p>2</p><p>3</p></div></section>"
    fields: dict[str, FieldRule] = {"x": ValueRule("css", expr, many=True)}
    for extra in ({}, {"xpath": XPATH}):
        assert read(html, items="div", fields={**fields, **extra}).items[0]["x"] == expected


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    tree=st.recursive(_element(st.just("")), _element, max_leaves=25),
    items=st.sampled_from([None, "div", ".a", "span", "[data-x]", "body > *", "div > div"]),
    expr=EXPRESSIONS,
)
def test_both_engines_give_the_same(read: Read, tree: str, items: str | None, expr: str) -> None:
    html = f"<!DOCTYPE html><html><head></head><body>{tree}</body></html>"
    fields: dict[str, FieldRule] = {
        "one": ValueRule("css", expr),
        "all": ValueRule("css", expr, many=True),
        "raw": ValueRule("css", expr, is_raw=True),
        "all raw": ValueRule("css", expr, many=True, is_raw=True),
        "objects": ValueRule("css", "span", many=True, fields={"x": ValueRule("css", expr)}),
    }
    lexbor = read(html, items=items, fields=fields).items
    lxml = read(html, items=items, fields={**fields, "xpath": XPATH}).items
    assert [{**item, "xpath": None} for item in lexbor] == lxml


PAGE = """<!DOCTYPE html><base href="/sub/"><title>T</title><div class=c id=1><h2>A <script>x</script>b</h2>
<a href=" /1 ">one</a><img src=/i.png><a rel=nofollow href=/no>no</a></div>
<div class=c id=2><h2>B</h2><a href=#>top</a><P CLASS=X>upper</P></div>"""


@pytest.mark.parametrize(
    "expr",
    ["h2", "H2", "a::attr(HREF)", "p", ".X", "[CLASS=X]", "::attr(ID)", "p:lexbor-contains('upp')"],
)
def test_names_of_html_have_no_case(read: Read, expr: str) -> None:
    fields: dict[str, FieldRule] = {"x": ValueRule("css", expr)}
    lexbor = read(PAGE, items=".c", fields=fields).items
    assert [{**item, "y": None} for item in lexbor] == read(
        PAGE, items=".c", fields={**fields, "y": XPATH}
    ).items
    assert any(item["x"] for item in lexbor)


@pytest.mark.parametrize("expr", ["a", "a, img", "a::attr(href)", ".c > a", ".none"])
def test_links_are_the_same(read: Read, expr: str) -> None:
    follow = (FollowRule(ValueRule("css", expr), "default"),)
    lexbor = read(PAGE, follow=follow, next_link="a")
    lxml = read(PAGE, follow=follow, next_link="a", fields={"x": XPATH})
    assert (lexbor.links, lexbor.base) == (lxml.links, lxml.base)
    assert lexbor.base == "http://shop.example/sub/"


def test_a_page_can_forbid_following_to_lxml_too(read: Read) -> None:
    html = "<meta name=robots content=nofollow><a href=/1>x</a>"
    extraction = read(html, follow=(FollowRule(ValueRule("xpath", "//a"), "default"),))
    assert extraction.refusal is not None
    assert extraction.refusal.code == "nofollow"


@pytest.mark.parametrize(
    ("expr", "at"), [("div p:foo", 4), ("p:is(.a, :foo)", 9), ("p:nth-child(x)", 0), ("p:not(a::text)", 6)]
)
def test_what_cannot_be_translated_is_refused_with_its_place(read: Read, expr: str, at: int) -> None:
    with pytest.raises(TaskInvalid, match=f"is invalid at position {at}: "):
        read(PAGE, fields={"x": ValueRule("css", expr), "y": XPATH})


def test_contains_works_beside_xpath(read: Read) -> None:
    fields: dict[str, FieldRule] = {"x": ValueRule("css", "h2:contains('B')"), "y": XPATH}
    assert read(PAGE, fields=fields).items == [{"x": "B", "y": None}]


def test_scripts_are_not_text(read: Read) -> None:
    def items(*rules: Any) -> Any:
        return read(PAGE, items=".c", fields={str(number): rule for number, rule in enumerate(rules)}).items[
            0
        ]

    assert items(ValueRule("css", "h2"), XPATH)["0"] == "A b"
    assert items(ValueRule("xpath", ".//h2"))["0"] == "A b"
    assert items(ValueRule("xpath", ".//script"))["0"] == "x"
