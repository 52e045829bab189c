"""Links by XPath, JMESPath and regular expressions, inside items, and as values for requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from smartspider.core.errors import TaskInvalid
from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.rules import (
    FieldRule,
    FollowRequest,
    FollowRule,
    PageParamPagination,
    StopConditions,
    ValueRule,
)
from smartspider.extract.links.follows import FoundLink

Read = Callable[..., Extraction]

HTML = """<!DOCTYPE html><a class=n href="/1?a=1&amp;b=2">one</a><a rel=nofollow href=/no>no</a>
<img src=/i.png><a href="javascript:x">js</a><script>go("/from/script")</script>"""
API = """{"items": [{"id": 1, "url": "/d/1", "l": ["/a", "#", 7]}, {"id": 2, "url": null}],
"next": "/p2", "n": 3}"""


def hrefs(extraction: Extraction) -> list[str]:
    """Return the links that may be followed."""
    return [link.href for link in extraction.links if (link.refusal or extraction.refusal) is None]


def follow(kind: Any, expr: str, **rest: Any) -> FollowRule:
    return FollowRule(ValueRule(kind, expr, many=True), "default", **rest)


@pytest.mark.parametrize(
    ("kind", "expr", "expected"),
    [
        ("xpath", "//a", ["/1?a=1&b=2"]),
        ("xpath", "//a/@href", ["/1?a=1&b=2"]),
        ("xpath", "//img | //a", ["/1?a=1&b=2", "/i.png"]),
        ("xpath", "string(//a/@href)", ["/1?a=1&b=2"]),
        ("xpath", "count(//a)", []),
        ("regex", r'href="([^"]*)"', ["/1?a=1&b=2"]),
        ("regex", r'go\("(?P<value>.*?)"', ["/from/script"]),
    ],
)
def test_links_of_html(read: Read, kind: Any, expr: str, expected: list[str]) -> None:
    assert hrefs(read(HTML, follow=(follow(kind, expr),))) == expected
    first = expected[:1]
    if "|" not in expr:
        assert hrefs(read(HTML, next_link=ValueRule(kind, expr))) == first


@pytest.mark.parametrize(
    ("expr", "expected"),
    [("items[].url", ["/d/1"]), ("next", ["/p2"]), ("n", ["3"]), ("items[0].l", ["/a", "7"]), ("none", [])],
)
def test_links_of_json(read: Read, expr: str, expected: list[str]) -> None:
    extraction = read(API, follow=(follow("jmespath", expr),), content_type="application/json")
    assert (hrefs(extraction), extraction.base) == (expected, "http://shop.example/list")
    one = read(API, next_link=ValueRule("jmespath", expr), content_type="application/json")
    assert hrefs(one) == expected[:1]
    assert all(link.is_pagination for link in one.links)


def test_links_of_the_same_url_are_one(read: Read) -> None:
    rules = (follow("jmespath", "items[].url"), follow("regex", r'"(/d/\d)"'))
    assert hrefs(read(API, follow=rules, content_type="application/json")) == ["/d/1"]


CARDS = """<div class=c><b>A</b><a href=/1>x</a><i>11</i></div><div class=c><b>B</b><a href=/2>x</a></div>
<a href=/out>x</a>"""
NAME: dict[str, FieldRule] = {"name": ValueRule("css", "b")}


@pytest.mark.parametrize("extra", [{}, {"xpath": ValueRule("xpath", "//none")}])
def test_a_link_carries_fields_of_its_item(read: Read, extra: dict[str, FieldRule]) -> None:
    rules = (follow("css", "a", carry=("name",)),)
    links = read(CARDS, items=".c", fields={**NAME, **extra}, follow=rules).links
    assert [(link.href, link.extras.meta) for link in links] == [("/1", {"name": "A"}), ("/2", {"name": "B"})]


def test_the_item_itself_can_be_the_link(read: Read) -> None:
    html = "<a class=c href=/1><b>A</b></a><a class=c href=/2><b>B</b></a>"
    for expr in ("a", ":scope", "::attr(href)"):
        links = read(html, items=".c", fields=NAME, follow=(follow("css", expr, carry=("name",)),)).links
        assert [(link.href, link.extras.meta["name"]) for link in links] == [("/1", "A"), ("/2", "B")]


def test_links_of_rejected_items_are_followed(read: Read) -> None:
    fields: dict[str, FieldRule] = {"name": ValueRule("css", "b"), "i": ValueRule("css", "i", required=True)}
    extraction = read(CARDS, items=".c", fields=fields, follow=(follow("css", "a", carry=("name",)),))
    assert (len(extraction.items), len(extraction.rejected)) == (1, 1)
    assert [link.extras.meta["name"] for link in extraction.links] == ["A", "B"]


def test_json_items_have_links_too(read: Read) -> None:
    rules = (follow("jmespath", "url", carry=("id",)), follow("regex", r"/d/\d", carry=("id",)))
    fields: dict[str, FieldRule] = {"id": ValueRule("jmespath", "id")}
    links = read(
        API,
        items=ValueRule("jmespath", "items"),
        fields=fields,
        follow=rules,
        content_type="application/json",
    ).links
    assert [(link.href, link.extras.meta) for link in links] == [("/d/1", {"id": 1})] * 2


@pytest.mark.parametrize("extra", [{}, {"xpath": ValueRule("xpath", "//none")}])
@pytest.mark.parametrize(
    ("kind", "expr", "expected"),
    [
        ("css", "i::text", ["11"]),
        ("css", "i", ["11"]),
        ("css", "b", ["A", "B"]),
        ("css", "a", ["/1", "/2"]),
        ("regex", r"<i>(\d+)", ["11"]),
    ],
)
def test_values_for_templates_need_not_be_links(
    read: Read, kind: Any, expr: str, expected: list[str], extra: dict[str, FieldRule]
) -> None:
    request = FollowRequest(url="http://h/{value}")
    links = read(
        CARDS, items=".c", fields={**NAME, **extra}, follow=(follow(kind, expr, request=request),)
    ).links
    assert [link.href.removeprefix("http://h/").replace("%2F", "/") for link in links] == expected


def test_a_template_without_items_searches_the_page(read: Read) -> None:
    request = FollowRequest(url="http://h/{value}")
    extraction = read(
        API, follow=(follow("jmespath", "items[].id", request=request),), content_type="application/json"
    )
    assert hrefs(extraction) == ["http://h/1", "http://h/2"]


def test_text_gives_no_links_without_a_template(read: Read) -> None:
    with pytest.raises(TaskInvalid, match="text, not links") as refused:
        read(CARDS, follow=(follow("css", "i::text", request=FollowRequest()),))
    assert refused.value.problems[0].path == "follow[0].selector"


def test_a_link_rule_that_cannot_search_the_items_is_refused(read: Read) -> None:
    with pytest.raises(TaskInvalid, match="cannot search items that are JSON values") as refused:
        read(API, items=ValueRule("jmespath", "items"), follow=(follow("css", "a", carry=("x",)),))
    assert refused.value.problems[0].path == "follow[0].selector"
    with pytest.raises(TaskInvalid, match="finds no links"):
        read(API, follow=(follow("const", "a"),))


def test_items_that_are_not_emitted_are_still_carried(read: Read) -> None:
    rules = (follow("css", "a", carry=("name",)),)
    extraction = read(CARDS, items=".c", fields=NAME, follow=rules, emits=False)
    assert (extraction.items, extraction.rejected) == ([], [])
    assert extraction.unemitted == [{"name": "A"}, {"name": "B"}]
    assert len(extraction.links) == 2


def test_nofollow_is_a_wish_that_a_task_may_ignore(read: Read) -> None:
    html = "<meta name=robots content=nofollow>" + HTML
    rules: tuple[tuple[Any, str], ...] = (("css", "a"), ("xpath", "//a"))
    for kind, expr in rules:
        extraction = read(
            html, follow=(follow(kind, expr),), next_link=ValueRule(kind, expr), obeys_nofollow=False
        )
        assert hrefs(extraction) == ["/1?a=1&b=2", "/1?a=1&b=2", "/no"]


@pytest.mark.parametrize(
    ("html", "expected"), [("<p class=c></p><a class=n href=/2>", ["/2"]), ("<a class=n href=/2>", [])]
)
def test_pagination_may_end_at_an_empty_page(read: Read, html: str, expected: list[str]) -> None:
    stop = StopConditions(empty=True)
    assert hrefs(read(html, items=".c", fields=NAME, next_link="a.n", stop_when=stop)) == expected


def test_other_pagination_comes_first_and_counts_rejected_items(read: Read) -> None:
    fields: dict[str, FieldRule] = {"i": ValueRule("css", "u", required=True)}
    extraction = read(
        CARDS, items=".c", fields=fields, follow=(follow("css", "a"),), pagination=PageParamPagination("page")
    )
    assert hrefs(extraction) == ["http://shop.example/list?page=2", "/1", "/2", "/out"]
    assert hrefs(read("<p>", items=".c", fields=fields, pagination=PageParamPagination("page"))) == []
    assert hrefs(read(CARDS, follow=(follow("css", "a"),), pagination=PageParamPagination("page")))[
        0
    ].endswith("page=2")


def test_more_links_than_are_kept_are_counted(read: Read) -> None:
    rules = (follow("css", "a", carry=("name",)), follow("css", "a"))
    extraction = read(CARDS, items=".c", fields=NAME, follow=rules, max_links=3, next_link="a")
    assert (len(hrefs(extraction)), extraction.links_dropped) == (3, 3)


def test_a_sitemap_page_is_read_by_its_own_reader(read: Read) -> None:
    xml = "<urlset><url><loc>http://shop.example/1</loc></url></urlset>"
    assert hrefs(read(xml, kind="sitemap", content_type="text/xml")) == ["http://shop.example/1"]


def test_foreign_characters_in_links_are_taken_out(read: Read) -> None:
    extraction = read(
        r'{"u": "/a\u0000b"}', follow=(follow("jmespath", "u"),), content_type="application/json"
    )
    assert hrefs(extraction) == ["/ab"]


def test_a_found_link_knows_its_item() -> None:
    assert FoundLink("/a") == ("/a", None)


def test_links_of_page_data_are_looked_for_in_its_items(read: Read) -> None:
    data = '<script type="application/ld+json">[{"n": 1, "url": "/1"}, {"n": 2, "url": "/2"}]</script>'
    extraction = read(
        data,
        items=ValueRule("json_ld", None),
        fields={"n": ValueRule("jmespath", "n")},
        follow=(follow("jmespath", "url"),),
    )
    assert hrefs(extraction) == ["/1", "/2"]
