"""JMESPath rules: on JSON pages, in JSON items, in JSON inside HTML."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from smartspider.core.errors import NotReadable, TaskInvalid
from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.rules import FieldRule, FirstOf, NestedRule, PagePlan, ValueRule
from smartspider.core.requests.scope import TrapGuards
from smartspider.extract.compile import compile_pages

Read = Callable[..., Extraction]
Value = Callable[..., Any]

API = """{"items": [
 {"id": 1, "name": " Kettle ", "price": 12.5, "tags": ["a", "", null, " b "], "on": true, "o": {"k": [1]}},
 {"id": 2, "name": "", "price": null, "tags": [], "on": false}
], "next": "/p/2", "total": 2}"""
ITEMS = ValueRule("jmespath", "items")


def jmes(expr: str, **rule: Any) -> ValueRule:
    return ValueRule("jmespath", expr, **rule)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (jmes("id"), [1, 2]),
        (jmes("name"), ["Kettle", ""]),
        (jmes("name", is_raw=True), [" Kettle ", ""]),
        (jmes("price"), [12.5, None]),
        (jmes("price", default=0), [12.5, 0]),
        (jmes("tags"), [["a", "", None, " b "], []]),
        (jmes("tags", many=True), [["a", "b"], []]),
        (jmes("tags", many=True, is_raw=True), [["a", "", " b "], []]),
        (jmes("tags", join="+"), ["a+b", None]),
        (jmes("[id, price, on]", join=" "), ["1 12.5 true", "2 false"]),
        (jmes("id", many=True), [[1], [2]]),
        (jmes("on"), [True, False]),
        (jmes("o"), [{"k": [1]}, None]),
        (jmes("o.k[0]"), [1, None]),
        (jmes("length(o)"), [1, None]),
        (jmes("@"), None),
        (ValueRule("regex", r'"id":(\d)'), ["1", "2"]),
        (ValueRule("const", "c"), ["c", "c"]),
        (ValueRule("meta", "status"), [200, 200]),
        (FirstOf((jmes("price"), jmes("id"))), [12.5, 2]),
        (NestedRule({"n": jmes("id")}), [{"n": 1}, {"n": 2}]),
    ],
)
def test_values_are_as_json_has_them(read: Read, rule: FieldRule, expected: list[Any] | None) -> None:
    items = read(API, items=ITEMS, fields={"x": rule}, content_type="application/json").items
    if expected is None:
        assert items[1]["x"] == {"id": 2, "name": "", "price": None, "tags": [], "on": False}
    else:
        assert [item["x"] for item in items] == expected
        assert [type(item["x"]) for item in items] == [type(value) for value in expected]


def test_a_page_without_items_is_one_item(read: Read) -> None:
    fields: dict[str, FieldRule] = {
        "t": jmes("total"),
        "n": jmes("items[].id", many=True),
        "r": jmes("missing"),
    }
    assert read(API, fields=fields, content_type="application/json").items == [
        {"t": 2, "n": [1, 2], "r": None}
    ]


@pytest.mark.parametrize(
    ("expr", "count"),
    [("items", 2), ("items[?on]", 1), ("total", 1), ("missing", 0), ("items[].o", 1), ("@", 1)],
)
def test_each_value_of_a_list_is_an_item(read: Read, expr: str, count: int) -> None:
    items = read(
        API, items=jmes(expr), fields={"c": ValueRule("const", 1)}, content_type="application/json"
    ).items
    assert len(items) == count


def test_items_may_be_plain_values(read: Read) -> None:
    rules: dict[str, FieldRule] = {"v": jmes("@"), "r": ValueRule("regex", "b.")}
    items = read('["ab", "b1", 3]', items=jmes("@"), fields=rules, content_type="application/json").items
    assert items == [{"v": "ab", "r": None}, {"v": "b1", "r": "b1"}, {"v": 3, "r": None}]


SCRIPTS = """<script id=state>window.__STATE__ = {"a": {"b": "x</b>"}, "l": [1, 2]};</script>
<script id=parse>var y = JSON.parse("{\\"a\\": \\"\\u00e9\\\\u0041\\"}");</script>
<script type="application/ld+json">{"@type": "Product", "name": "K"}</script>
<script type="application/ld+json">{"@type": "Review", "name": "R"}</script>
<div class=c data-json='{"id": 7, "q": "&lt;&amp;"}'><pre>{"p": 1}</pre></div>
<div class=c data-json="broken"></div>"""


@pytest.mark.parametrize("extra", [{}, {"xpath": ValueRule("xpath", "//none")}])
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (jmes("a.b", within="#state"), "x</b>"),
        (jmes("l", within="script#state::text", many=True), [1, 2]),
        (jmes("a", within="#parse"), "éA"),
        (jmes("name", within="script[type='application/ld+json']"), "K"),
        (jmes("name", within="script[type='application/ld+json']", many=True), ["K", "R"]),
        (jmes("id", within=".c::attr(data-json)"), 7),
        (jmes("p", within="pre"), 1),
        (jmes("id", within=".none"), None),
    ],
)
def test_json_inside_html_is_found(
    read: Read, rule: ValueRule, expected: Any, extra: dict[str, FieldRule]
) -> None:
    assert read(SCRIPTS, fields={"x": rule, **extra}).items[0]["x"] == expected


@pytest.mark.parametrize("extra", [{}, {"xpath": ValueRule("xpath", "//none")}])
def test_json_inside_an_item_is_its_own(read: Read, extra: dict[str, FieldRule]) -> None:
    fields: dict[str, FieldRule] = {"i": jmes("id", within="::attr(data-json)"), "p": jmes("p", within="pre")}
    items = read(SCRIPTS, items=".c", fields={**fields, **extra}).items
    assert [(item["i"], item["p"]) for item in items] == [(7, 1), (None, None)]


def test_json_inside_html_can_be_the_items(read: Read) -> None:
    items = read(SCRIPTS, items=jmes("l", within="#state"), fields={"v": jmes("@")}).items
    assert items == [{"v": 1}, {"v": 2}]


@pytest.mark.parametrize(
    "body", ["<p>x</p>", "", "{", "NaN", '{"a": NaN}', '{"a": 1e999}', "[1] 2", "[" * 300 + "]" * 300]
)
def test_what_is_not_json_is_refused(read: Read, body: str) -> None:
    with pytest.raises(NotReadable, match="the page is not JSON: "):
        read(body, fields={"x": jmes("a")}, content_type="application/json")


def test_what_cannot_be_read_is_no_match_among_alternatives(read: Read) -> None:
    fields: dict[str, FieldRule] = {"x": FirstOf((jmes("a"), ValueRule("css", "p")))}
    assert read("<p>x</p>", fields=fields).items == [{"x": "x"}]
    assert read('{"a": 1}', fields=fields, content_type="application/json").items == [{"x": 1}]
    turned: dict[str, FieldRule] = {"x": FirstOf((ValueRule("css", "p"), jmes("a")))}
    assert read('{"a": 1}', fields=turned, content_type="application/json").items == [{"x": 1}]
    with pytest.raises(NotReadable, match="the page is not JSON"):
        read("<p>x</p>", fields={"x": FirstOf((jmes("a"), jmes("b")))})


def test_alternatives_of_items_may_be_of_different_kinds(read: Read) -> None:
    items = (ValueRule("css", ".c"), ITEMS, ValueRule("regex", r"line (\w+)"))
    fields: dict[str, FieldRule] = {
        "x": FirstOf((ValueRule("css", "b"), jmes("name"), ValueRule("regex", r"\w+")))
    }
    assert read("<div class=c><b>1</b></div>", items=items, fields=fields).items == [{"x": "1"}]
    assert read(API, items=items, fields=fields, content_type="application/json").items == [
        {"x": "Kettle"}, {"x": ""}
    ]  # fmt: skip
    assert read("line one\nline two", items=items, fields=fields, content_type="text/plain").items == [
        {"x": "one"}, {"x": "two"}
    ]  # fmt: skip
    assert read("<p>nothing</p>", items=items, fields=fields).items == []
    with pytest.raises(NotReadable, match="the page is not JSON"):
        read("<p>x</p>", items=(jmes("a"), jmes("b")), fields={"x": jmes("c")})


def test_foreign_characters_of_json_are_taken_out(read: Read) -> None:
    body = r'{"a": "x\u0000y", "b": ["\ud800z"], "c": {"k\u0000": "\ud83d\ude00"}, "d": "fine"}'
    fields: dict[str, FieldRule] = {name: jmes(name) for name in "abcd"}
    extraction = read(body, fields=fields, content_type="application/json")
    assert extraction.items == [{"a": "xy", "b": ["z"], "c": {"k": "😀"}, "d": "fine"}]
    assert extraction.cleaned == 2
    inside = read(rf"<script>x = {body}</script>", fields={"a": jmes("a", within="script")})
    assert (inside.items, inside.cleaned) == ([{"a": "xy"}], 1)


def test_foreign_characters_of_whole_values_are_taken_out(read: Read) -> None:
    body = r'[{"a": "x\ud800"}]'
    fields: dict[str, FieldRule] = {"r": ValueRule("regex", '"a":"(.*?)"'), "j": jmes("[@, a]", join=" ")}
    items = read(body, items=jmes("@"), fields=fields, content_type="application/json").items
    assert items == [{"r": "x", "j": '{"a":"x"} x'}]


@pytest.mark.parametrize(
    ("rule", "path", "message"),
    [
        (jmes("a["), "expr", "the JMESPath expression 'a[' is invalid at position "),
        (jmes("a b"), "expr", "is invalid at position 2"),
        (jmes("nofunc(a)"), "expr", "is invalid at position 0: there is no function nofunc()"),
        (jmes("length(a, b)"), "expr", "length() takes 1 argument, not 2"),
        (jmes("a", within="p["), "in", "the CSS expression 'p[' is invalid at position 1"),
        (jmes("a", attr="x"), "attr", "finds no elements"),
        (jmes(7), "expr", "is text, not 7"),  # type: ignore[arg-type]  # wrong on purpose
        (ValueRule("css", "a", within="script"), "in", "`in` belongs to rules of type jmespath"),
        (ValueRule("regex", "("), "expr", "is invalid at position 0"),
        (ValueRule("regex", "a", attr="x"), "attr", "finds no elements"),
        (ValueRule("const", 1, join=","), "join", "has no effect"),
        (ValueRule("meta", "url", fields={"a": ValueRule("css", "a")}), "fields", "has no effect"),
        (
            ValueRule("css", "a", join=",", fields={"a": ValueRule("css", "a")}),
            "join",
            "has no effect together with `fields`",
        ),
        (ValueRule("css", "a::text", fields={"a": ValueRule("css", "a")}), "expr", "not elements"),
        (ValueRule("css", "a", steps=({"use": "trim"},)), "steps", "cannot be run here"),
        (ValueRule("json_ld", "a["), "expr", "the JMESPath expression"),
        (jmes(f"a[{'9' * 20_000}]"), "expr", "the JMESPath expression"),
    ],
)
def test_rules_that_mean_nothing_are_refused(rule: ValueRule, path: str, message: str) -> None:
    with pytest.raises(TaskInvalid) as refused:
        compile_pages({"default": PagePlan("default", fields={"x": rule})}, TrapGuards())
    (problem,) = refused.value.problems
    assert problem.path == f"selectors.fields.x.{path}"
    assert message in problem.message


@pytest.mark.parametrize(
    ("items", "rule", "message"),
    [
        (ITEMS, ValueRule("css", "a"), "a rule of type 'css' cannot search items that are JSON values"),
        (
            ITEMS,
            ValueRule("xpath", "//a"),
            "a rule of type 'xpath' cannot search items that are JSON values",
        ),
        (ITEMS, jmes("a", within="script"), "`in` looks for elements"),
        (
            ITEMS,
            ValueRule("links", None),
            "a rule of type 'links' cannot search items that are JSON values",
        ),
        (ValueRule("regex", "a"), ValueRule("css", "a"), "cannot search items that are texts"),
        (ValueRule("css", "a"), jmes("a"), "JMESPath searches JSON, and the items are elements"),
        (ValueRule("css", "a"), ValueRule("json_ld", None), "applies to the whole page, not to an item"),
        (
            ITEMS,
            FirstOf((ValueRule("css", "a"), ValueRule("css", "b"))),
            "cannot search items that are JSON values",
        ),
        (ITEMS, FirstOf((ValueRule("css", "a"), jmes("b"))), "cannot search items that are JSON values"),
        (
            ITEMS,
            jmes("a", fields={"y": ValueRule("css", "b")}),
            "cannot search items that are JSON values",
        ),
        (
            ValueRule("css", "a"),
            ValueRule("regex", "b", fields={"y": ValueRule("css", "b")}),
            "items that are texts",
        ),
    ],
)
def test_rules_are_refused_in_scopes_they_cannot_search(
    items: ValueRule, rule: FieldRule, message: str
) -> None:
    with pytest.raises(TaskInvalid) as refused:
        compile_pages({"default": PagePlan("default", items=(items,), fields={"x": rule})}, TrapGuards())
    assert message in refused.value.problems[0].message
    assert refused.value.problems[0].path.startswith("selectors.fields.x")


@pytest.mark.parametrize("key", ["attr", "join", "required", "default", "steps", "fields"])
def test_keys_that_do_nothing_in_items_are_refused(key: str) -> None:
    values: dict[str, Any] = {
        "steps": ({"use": "trim"},),
        "fields": {"a": ValueRule("css", "a")},
        "required": True,
    }
    rule = ValueRule("css", "a", **{key: values.get(key, "x")})
    with pytest.raises(TaskInvalid) as refused:
        compile_pages({"default": PagePlan("default", items=(rule,))}, TrapGuards())
    assert [problem.path for problem in refused.value.problems] == [f"selectors.items.{key}"]


def test_wrong_alternatives_of_items_are_named_by_their_number() -> None:
    rules = (ValueRule("css", "p"), ValueRule("css", "p["), ValueRule("const", 1))
    with pytest.raises(TaskInvalid) as refused:
        compile_pages({"default": PagePlan("default", items=rules)}, TrapGuards())
    assert [problem.path for problem in refused.value.problems] == [
        "selectors.items[1].expr", "selectors.items[2].expr"
    ]  # fmt: skip
