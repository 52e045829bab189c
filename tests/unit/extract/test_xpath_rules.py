"""XPath rules: their values, raw ones as parsel's, and what is refused before a page is read."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parsel import Selector

from smartspider.core.errors import NotReadable, TaskInvalid
from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import FieldRule, PagePlan, ValueRule
from smartspider.core.requests.request import make_request
from smartspider.core.requests.scope import TrapGuards
from smartspider.extract.compile import compile_pages

Read = Callable[..., Extraction]
Value = Callable[..., Any]

SHOP = """<!DOCTYPE html><html><head><title> Shop </title></head><body><ul class="nav"><li>a</li></ul>
<div class="card  hot" data-id="1"><h2> Red  <b>big</b>
 kettle </h2><p class="price">12 <i>EUR</i></p><a href=" /k/1 " rel="x">go</a><!-- note --></div>
<div class="card" data-id="2"><h2>Lamp</h2><p class="price">3.50</p><script>var x = "h2";</script></div>
</body></html>"""
CARDS = ValueRule("xpath", "//div[has-class('card')]")


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (".//h2", ["Red big kettle", "Lamp"]),
        (".//h2/text()", ["Red", "Lamp"]),
        ("./@data-id", ["1", "2"]),
        (".//a/@href", [" /k/1 ", None]),
        ("./a/@href | ./h2/text()", ["Red", "Lamp"]),
        (".//a/@href | .//a/text()", [" /k/1 ", None]),
        ("string(.//h2/b)", ["big", None]),
        ("normalize-space(.//h2)", ["Red big kettle", "Lamp"]),
        ("concat(' ', ./@data-id, ' ')", ["1", "2"]),
        ("count(.//p)", [1, 1]),
        ("number(.//p)", [None, 3.5]),
        ("count(.//a) > 0", [True, False]),
        ("//title", ["Shop", "Shop"]),
        ("ancestor::body//li", ["a", "a"]),
        ("following-sibling::div/@data-id", ["2", None]),
        (".//comment()", ["note", None]),
        (".//p[re:test(., '^\\d+\\s')]", ["12 EUR", None]),
        ("re:replace(./@data-id, '\\d', 'g', 'n')", ["n", "n"]),
        ("set:difference(.//*, .//p | .//p/*)/@rel", ["x", None]),
        (".", ["Red big kettle 12 EURgo", "Lamp3.50"]),
    ],
)
def test_a_value_is_text_a_number_or_a_truth(read: Read, expr: str, expected: list[Any]) -> None:
    items = read(SHOP, items=CARDS, fields={"x": ValueRule("xpath", expr)}).items
    assert [item["x"] for item in items] == expected
    assert [type(item["x"]) for item in items] == [type(value) for value in expected]


def test_many_join_attr_default_and_required_work(read: Read) -> None:
    fields: dict[str, FieldRule] = {
        "many": ValueRule("xpath", ".//p//text()", many=True),
        "join": ValueRule("xpath", ".//p//text()", join="|"),
        "attr": ValueRule("xpath", ".//a", attr="rel"),
        "default": ValueRule("xpath", ".//u", default="-"),
        "none": ValueRule("xpath", ".//u", many=True),
    }
    assert read(SHOP, items=CARDS, fields=fields).items[0] == {
        "many": ["12", "EUR"], "join": "12|EUR", "attr": "x", "default": "-", "none": []
    }  # fmt: skip
    rejected = read(SHOP, items=CARDS, fields={"a": ValueRule("xpath", ".//a", required=True)}).rejected
    assert [each.reason for each in rejected] == ["required field 'a' is missing"]


def test_strings_hold_no_tree(value: Value) -> None:
    assert type(value(SHOP, "//a/@rel | //a/text()", type="xpath")) is str


EXPRESSIONS = st.sampled_from(
    [
        ".", "..", ".//*", "./*", ".//text()", "text()", ".//@*", "@class", ".//em/@data-x", "//span",
        "//@class", "descendant::em[1]", "(.//em)[1]", ".//em[last()]", ".//span[@class]/text()",
        ".//*[has-class('a', 'b')]", ".//*[re:test(@class, 'a$')]", "string(.)", "string(.//em)",
        "normalize-space(.)", "count(.//*)", "count(.//*) > 2", "boolean(.//em)", "sum(.//@data-x)",
        "number('x')", "1 div 3", "name(.)", "'literal'", ".//em | .//span/@class", ".//text() | .//@class",
        "ancestor::*", "following-sibling::*[1]/text()", "preceding::text()", "set:intersection(.//*, .//em)",
        "set:difference(.//*, .//em)/@class", "re:match(string(.), 't')", "self::div/@class",
        "re:replace(string(.), 't', 'g', 'T')", ".//*[position() mod 2]", "/html/body/*", "id('none')",
        "substring-before(concat(name(.), '-x'), '-')", ".//comment()",
    ]
)  # fmt: skip
TAGS = st.sampled_from(["div", "span", "em", "p"])
ATTRIBUTES = st.sampled_from(
    ["", ' class="a"', ' class="b a"', ' data-x="1"', ' class="c" data-x=""', " hidden"]
)
TEXTS = st.sampled_from(["", "", " ", "t", " u  v ", "\n w &amp; &lt;x", "<!-- c -->", "<br>"])


def _element(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def build(tag: str, attributes: str, pieces: list[tuple[str, str]], tail: str) -> str:
        inner = "".join(text + child for text, child in pieces)
        return f"<{tag}{attributes}>{inner}{tail}</{tag}>"

    return st.builds(build, TAGS, ATTRIBUTES, st.lists(st.tuples(TEXTS, children), max_size=4), TEXTS)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    tree=st.recursive(_element(st.just("")), _element, max_leaves=20),
    items=st.sampled_from([None, "//div", "//*[@class]", "//em | //span", "//body/*"]),
    expr=EXPRESSIONS,
)
def test_raw_values_equal_parsel(read: Read, tree: str, items: str | None, expr: str) -> None:
    html = f"<!DOCTYPE html><html><body>{tree}</body></html>"
    places = [Selector(html)] if items is None else Selector(html).xpath(items)
    expected = [{"all": place.xpath(expr).getall(), "one": place.xpath(expr).get()} for place in places]
    fields: dict[str, FieldRule] = {
        "all": ValueRule("xpath", expr, many=True, is_raw=True), "one": ValueRule("xpath", expr, is_raw=True)
    }  # fmt: skip
    rules = None if items is None else ValueRule("xpath", items)
    assert read(html, items=rules, fields=fields).items == expected


def problem_of(rule: ValueRule) -> Any:
    with pytest.raises(TaskInvalid) as refused:
        compile_pages({"default": PagePlan("default", fields={"x": rule})}, TrapGuards())
    (problem,) = refused.value.problems
    return problem


@pytest.mark.parametrize(
    ("expr", "message"),
    [
        ("//a[", "is invalid at position 4: invalid expression"),
        ("//a[@x='", "is invalid at position 8: unfinished literal"),
        ("//a]", "is invalid at position 3: invalid expression"),
        ("//a[foo()]", "is invalid at position 4: there is no function foo()"),
        ("//a[$x]", "is invalid at position 4: variables cannot be used"),
        ("//a[contain(., 'x')]", "there is no function contain()"),
        ("count('x')", "is invalid: invalid type"),
        ("//p[has-class()]", "is invalid: "),
        ("re:test('x', '[')", "is invalid: unterminated character set"),
        ("\x00", "is invalid"),
    ],
)
def test_a_wrong_expression_is_refused_with_its_place(expr: str, message: str) -> None:
    problem = problem_of(ValueRule("xpath", expr))
    assert problem.path == "selectors.fields.x.expr"
    assert f"the XPath expression {expr!r} is invalid" in problem.message
    assert message in problem.message


def test_a_misspelt_function_gets_a_hint() -> None:
    assert problem_of(ValueRule("xpath", "//a[contain(., 'x')]")).hint == "did you mean contains()?"


def test_items_by_xpath_are_elements(read: Read) -> None:
    numbered: dict[str, FieldRule] = {"i": ValueRule("xpath", "@data-id")}
    found = read(SHOP, items=ValueRule("xpath", "//div | //comment()"), fields=numbered).items
    assert found == [{"i": "1"}, {"i": "2"}]
    for expr in ("//a/text()", "//a/@href", "count(//div)", "'a'"):
        with pytest.raises(TaskInvalid, match=r"not elements|instead of finding elements"):
            read(SHOP, items=ValueRule("xpath", expr), fields={"i": ValueRule("xpath", ".")})


def test_an_expression_that_fails_on_a_page_makes_it_unreadable(read: Read) -> None:
    rule = ValueRule("xpath", "//i[re:test(., concat('[', .))]")
    with pytest.raises(NotReadable, match="cannot be evaluated on the page"):
        read(SHOP, fields={"x": rule})


def test_a_prefix_that_nobody_defined_matches_nothing(value: Value) -> None:
    assert value("<fb:like>x</fb:like>", "//fb:like", type="xpath") is None
    assert value("<p>x</p>", "//nobody:p", type="xpath") is None


@pytest.mark.parametrize("expr", ["set:distinct(//li)", "str:concat(//li)", "math:max(//li)"])
def test_exslt_functions_do_not_pile_up_memory(expr: str) -> None:
    rule = ValueRule("xpath", expr)
    extractor = compile_pages({"default": PagePlan("default", fields={"x": rule})}, TrapGuards())
    page, request = Page("http://h/", 200, {}, b"<li>1</li>", "utf-8", 0.0), make_request("http://h/")
    for _ in range(300):
        extractor.extract(page, request)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(1000):
        extractor.extract(page, request)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 200_000


def test_text_beyond_plain_characters_is_clean(read: Read) -> None:
    html = b"<p title='a\x00b'>c\x00d \xed\xa0\x80e&#0;&#xD800;</p>"
    fields: dict[str, FieldRule] = {"p": ValueRule("xpath", "//p"), "t": ValueRule("xpath", "//p/@title")}
    extraction = read(html, fields=fields)
    assert extraction.items == [{"p": "cd e\ufffd\ufffd", "t": "ab"}]
    assert extraction.cleaned == 2


@pytest.mark.parametrize("html", ["", "   ", "no markup", "<p>"])
def test_pages_with_nothing_in_them_are_read(read: Read, html: str) -> None:
    assert read(html, fields={"x": ValueRule("xpath", "//a")}).items == [{"x": None}]


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        ("<p>é</p>".encode("latin-1"), "latin-1"),
        ("<p>é</p>".encode("utf-16"), "utf-16"),
        ("<p>é</p>".encode(), "utf-8"),
    ],
)
def test_the_charset_says_how_to_read(read: Read, body: bytes, charset: str) -> None:
    assert read(body, fields={"p": ValueRule("xpath", "//p")}, charset=charset).items == [{"p": "é"}]


def test_broken_bytes_become_replacement_characters(read: Read) -> None:
    assert read(b"<p>caf\xe9</p>", fields={"p": ValueRule("xpath", "//p")}).items == [{"p": "caf\ufffd"}]


def test_a_page_that_nests_too_deeply_is_refused_not_cut(read: Read) -> None:
    html = "<div>" * 3000 + "<p>x</p>" + "</div>" * 3000
    with pytest.raises(NotReadable, match="nests its elements too deeply"):
        read(html, fields={"p": ValueRule("xpath", "//p")})


def test_the_engine_of_a_page_type_is_named() -> None:
    css, xpath = ValueRule("css", "p"), ValueRule("xpath", "//p")
    plans = {
        "css": PagePlan("css", fields={"x": css}),
        "mixed": PagePlan("mixed", fields={"x": css, "y": ValueRule("css", "p", fields={"z": xpath})}),
        "items": PagePlan("items", items=(xpath,), fields={"x": css}),
        "json": PagePlan("json", fields={"x": ValueRule("jmespath", "a"), "y": ValueRule("const", 1)}),
        "script": PagePlan("script", fields={"x": ValueRule("jmespath", "a", within="script")}),
        "text": PagePlan("text", fields={"x": ValueRule("regex", "a")}),
        "none": PagePlan("none", fields={"x": ValueRule("meta", "url")}),
    }
    extractor = compile_pages(plans, TrapGuards())
    assert {name: extractor.engine_of(name) for name in plans} == {
        "css": "lexbor", "mixed": "lxml", "items": "lxml", "json": "json", "script": "lexbor", "text": "text",
        "none": "none",
    }  # fmt: skip
