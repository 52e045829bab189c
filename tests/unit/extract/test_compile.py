"""Rules that cannot work are refused before anything starts."""

from __future__ import annotations

import pytest

from smartspider.core.errors import NotReadable, Problem, TaskInvalid
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import (
    FieldRule,
    FirstOf,
    FollowRule,
    NestedRule,
    NextLinkPagination,
    PagePlan,
    ValueRule,
)
from smartspider.core.requests.request import make_request
from smartspider.core.requests.scope import TrapGuards
from smartspider.extract.compile import compile_pages


def problems_of(*plans: PagePlan) -> tuple[Problem, ...]:
    with pytest.raises(TaskInvalid) as refused:
        compile_pages({plan.name: plan for plan in plans}, TrapGuards())
    return refused.value.problems


def problem_of(rule: FieldRule) -> Problem:
    (problem,) = problems_of(PagePlan("default", fields={"price": rule}))
    return problem


BAD = ValueRule("css", "p[")


def test_every_wrong_expression_is_named_by_its_path() -> None:
    fields: dict[str, FieldRule] = {
        "price": BAD,
        "alt": FirstOf((ValueRule("css", "p"), BAD)),
        "n": NestedRule({"in": BAD}),
    }
    rest = {
        "items": (BAD,),
        "fields": fields,
        "follow": (FollowRule(BAD, "default"),),
        "pagination": NextLinkPagination(BAD),
    }
    paths = [
        "selectors.items.expr",
        "selectors.fields.price.expr",
        "selectors.fields.alt[1].expr",
        "selectors.fields.n.in.expr",
        "follow[0].selector",
        "pagination.selector",
    ]
    found = problems_of(PagePlan("default", **rest), PagePlan("detail", **rest))  # type: ignore[arg-type]  # one dict for both
    assert [problem.path for problem in found] == paths + [f"pages.detail.{path}" for path in paths]


@pytest.mark.parametrize(
    "rule", [BAD, ValueRule("xpath", "//li["), ValueRule("jmespath", "a["), ValueRule("regex", "(")]
)
def test_items_are_checked_also_without_fields(rule: ValueRule) -> None:
    (problem,) = problems_of(PagePlan("default", items=(rule,)))
    assert problem.path == "selectors.items.expr"


@pytest.mark.parametrize(
    ("expr", "at", "what"),
    [
        ("", 0, "a selector is missing"),
        ("  ", 2, "a selector is missing"),
        ("a,", 2, "a selector is missing"),
        ("a,,b", 2, "a selector is missing"),
        ("div > > a", 6, "'>' is not allowed here"),
        ("div >", 5, "nothing follows '>'"),
        ("a[href", 1, "'[' is never closed"),
        ("a:not(.b", 5, "'(' is never closed"),
        ("a[x='y]", 4, "unclosed quote"),
        ("a)", 1, "')' is not allowed here"),
        ("..x", 0, "'.' is not a supported selector"),
        ("div p:foo", 5, "':foo' is not a supported selector"),
        ("div, p:contains(x)", 6, "':contains(x)' is not a supported selector"),
        ("p:is(.a, :foo)", 9, "':foo' is not a supported selector"),
        ("p[x=1]", 1, "'[x=1]' is not a supported selector"),
        ("p :scope", 2, "':scope' is not a supported selector"),
        (":scope:foo a", 6, "':foo' is not a supported selector"),
        ("p::before", 1, "unknown pseudo-element '::before'"),
        ("p::text b", 7, "'::text' must be at the end"),
        ("p::attr", 1, "'::attr' is not complete"),
        ("p::attr()", 1, "'::attr()' does not name an attribute"),
        ("p::text(x)", 1, "'::text(x)' is not complete"),
        ("+ p", 2, "'+' matches elements outside the item"),
        (":scope ~ p", 0, "'~' matches elements outside the item"),
    ],
)
def test_the_message_says_where_and_what(expr: str, at: int, what: str) -> None:
    problem = problem_of(ValueRule("css", expr))
    assert f"the CSS expression {expr!r} is invalid at position {at}: {what}" in problem.message


@pytest.mark.parametrize(
    ("expr", "hint"),
    [
        ("p:contains(x)", "lexbor-contains"),
        ("p[x=1]", "quotes"),
        ("p[x!='1']", ":not("),
        ("p :scope", "must come first"),
        ("p::first-line", "::text or ::attr(name)"),
    ],
)
def test_common_mistakes_get_a_hint(expr: str, hint: str) -> None:
    assert hint in problem_of(ValueRule("css", expr)).hint


def test_rules_that_give_the_wrong_thing_are_refused() -> None:
    assert "a pseudo-element and `attr`" in problem_of(ValueRule("css", "a::text", attr="href")).message
    assert "is text, not 7" in problem_of(ValueRule("css", 7)).message
    text = ValueRule("css", "a::text")
    items, follow, pagination = problems_of(
        PagePlan(
            "default",
            items=(text,),
            follow=(FollowRule(text, "default"),),
            pagination=NextLinkPagination(text),
        )
    )
    assert "not elements" in items.message
    assert "not links" in follow.message
    assert "not links" in pagination.message


@pytest.mark.parametrize(
    "expr",
    [
        "a[href^='/p,q'] > b",
        "div:has(> a.x):not(.y, .z)",
        "p:nth-child(2n+1)",
        "a\\:b",
        ".sm\\:w-1\\/2::text",
        '[data-x="a]b"]::attr(data-x)',
        ":is(h1, h2) a::text",
        "h2>a",
        "p , li::text",
        "*",
        "::attr( href )",
    ],
)  # fmt: skip
def test_ordinary_css_is_accepted(expr: str) -> None:
    compile_pages({"default": PagePlan("default", fields={"x": ValueRule("css", expr)})}, TrapGuards())


def test_a_page_type_that_is_not_there_cannot_be_read() -> None:
    page = Page("http://h/", 200, {}, b"", "utf-8", 0.0)
    with pytest.raises(NotReadable, match="no page type 'detail'"):
        compile_pages({}, TrapGuards()).extract(page, make_request("http://h/", page="detail"))
