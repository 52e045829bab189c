"""Links to follow, pagination, and what a page says about its links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from smartspider.core.pages.extraction import LINKS_OVERFLOW, Extraction, Link
from smartspider.core.pages.rules import FollowRule, ValueRule

Read = Callable[..., Extraction]


def follow(expr: str, to: str = "default", **rest: Any) -> FollowRule:
    return FollowRule(ValueRule("css", expr), to, **rest)


def hrefs(extraction: Extraction) -> list[str]:
    """Return the links that may be followed."""
    return [link.href for link in extraction.links if (link.refusal or extraction.refusal) is None]


def refused(extraction: Extraction) -> list[tuple[str, str]]:
    """Return the links that are not followed, with the codes."""
    found = [(link.href, link.refusal or extraction.refusal) for link in extraction.links]
    return [(href, refusal.code) for href, refusal in found if refusal is not None]


def test_a_link_says_what_its_rule_says(read: Read) -> None:
    rule = follow("a", "detail", allow=("/p/",), deny=("x$",), priority=3, max_depth=2)
    link = Link("/p/1", "detail", 3, is_pagination=False, max_depth=2, allow=("/p/",), deny=("x$",))
    assert read("<a href=/p/1>", follow=(rule,)).links == [link]


@pytest.mark.parametrize(
    ("html", "expr", "expected"),
    [
        ('<a href="/1" src="/2">', "a", ["/1"]),
        ('<img src="/1"><iframe src="/2"></iframe>', "img, iframe", ["/1", "/2"]),
        ('<img href="/no" src="/1">', "img", ["/1"]),
        ('<link rel="next" href="/1">', "link", ["/1"]),
        ('<div src="/1"></div><div href="/2" src="/3"></div>', "div", ["/1", "/2"]),
        ('<div data-url="/1"></div>', "div::attr(data-url)", ["/1"]),
        ('<p><a href="/1">x</a></p>', "p", []),
    ],
)
def test_href_or_src_is_implied(read: Read, html: str, expr: str, expected: list[str]) -> None:
    assert hrefs(read(html, follow=(follow(expr),))) == expected


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("  /a b \n", ["/a b"]),
        ("/a\n\tb", ["/ab"]),
        ("", []),
        ("   ", []),
        ("#top", []),
        ("JavaScript:void(0)", []),
        ("java\nscript:void(0)", []),
        ("mailto:a@b.c", []),
        ("tel:123", []),
        ("data:text/html,x", []),
        ("?page=2", ["?page=2"]),
        ("https://h/javascript:x", ["https://h/javascript:x"]),
        ("/café", ["/café"]),
    ],
)
def test_hrefs_are_read_as_browsers_do(read: Read, href: str, expected: list[str]) -> None:
    assert hrefs(read(f'<a href="{href}">', follow=(follow("a"),))) == expected


def test_nofollow_links_are_found_but_refused(read: Read) -> None:
    html = '<a rel="external NoFollow" href=/1></a><a rel="nofollower ugc" href=/2></a><a rel href=/3></a>'
    for rule in ("a::attr(href)", "a"):
        extraction = read(html, follow=(follow(rule),))
        assert hrefs(extraction) == ["/2", "/3"]
        assert refused(extraction) == [("/1", "nofollow")]
        assert all(type(link.href) is str for link in extraction.links)


def test_a_link_that_also_stands_without_nofollow_is_followed(read: Read) -> None:
    html = "<a rel=nofollow href=/1></a><a href=/1></a><a rel=nofollow href=/1></a>"
    extraction = read(html, follow=(follow("a"),))
    assert (hrefs(extraction), refused(extraction)) == (["/1"], [])


def test_pagination_is_followed_although_its_link_says_nofollow(read: Read) -> None:
    extraction = read("<a rel=nofollow class=n href=/2></a>", follow=(follow("a"),), next_link=".n")
    assert [(link.href, link.is_pagination) for link in extraction.links if link.refusal is None] == [
        ("/2", True)
    ]


def test_a_nofollow_link_without_a_page_is_no_link(read: Read) -> None:
    html = '<a rel=nofollow href="#top"></a><a rel=nofollow href="mailto:a@b.example"></a>'
    assert read(html, follow=(follow("a"),)).links == []


@pytest.mark.parametrize(
    ("meta", "is_followed"),
    [
        ('<meta name="robots" content="noindex, NOFOLLOW">', False),
        ('<meta name="SmartSpider" content="none">', False),
        ('<meta name="googlebot" content="nofollow">', True),
        ('<meta name="robots" content="noindex">', True),
        ("<meta name>", True),
    ],
)
def test_a_page_can_forbid_following(read: Read, meta: str, is_followed: bool) -> None:
    extraction = read(f"{meta}<a href=/1>", follow=(follow("a"),), next_link="a")
    assert (hrefs(extraction), refused(extraction)) == (
        (["/1", "/1"], []) if is_followed else ([], [("/1", "nofollow"), ("/1", "nofollow")])
    )


@pytest.mark.parametrize(
    ("head", "base"),
    [
        ("", "http://shop.example/list"),
        ('<base href="/sub/">', "http://shop.example/sub/"),
        ('<base target="_top"><base href="data:x"><base href="//cdn.example/a#b">', "http://cdn.example/a"),
        ('<base href="/one/"><base href="/two/">', "http://shop.example/one/"),
        ('<base href="http://["><base href="u/">', "http://shop.example/u/"),
    ],
)
def test_the_first_valid_base_counts(read: Read, head: str, base: str) -> None:
    assert read(f"<head>{head}</head><a href=x>", follow=(follow("a"),)).base == base


def test_the_same_href_is_one_link_unless_the_rules_differ(read: Read) -> None:
    html = "<a class=p href=/1></a><a href=/1></a><a href=/2></a>"
    same = (follow("a.p", priority=5), follow("a"))
    assert [(link.href, link.priority) for link in read(html, follow=same).links] == [("/1", 5), ("/2", 0)]
    other = (follow("a.p", deny=("/1",)), follow("a", "detail"), follow("a"))
    assert [(link.href, link.page) for link in read(html, follow=other).links] == [
        ("/1", "default"), ("/1", "detail"), ("/2", "detail"), ("/1", "default"), ("/2", "default"),
    ]  # fmt: skip


def test_pagination_is_the_first_match_and_comes_first(read: Read) -> None:
    html = "<a href=/1></a><a class=next href=/2></a><a class=next href=/3></a>"
    extraction = read(html, follow=(follow("a"),), next_link="a.next")
    assert extraction.links[0] == Link("/2", "default", is_pagination=True)
    assert hrefs(extraction)[1:] == ["/1", "/2", "/3"]


@pytest.mark.parametrize(
    ("html", "expr", "expected"),
    [
        ("<p>none</p>", "a.next", []),
        ('<a class="next" href="#">x</a><a class="next" href="/2">', "a.next", []),
        ('<a>x</a><a data-n="/2">', "a::attr(data-n)", ["/2"]),
        ('<ul><li><a href="/no"></a></li></ul><a href="/2">', "> body > a", ["/2"]),
    ],
)
def test_pagination_ends_without_a_link(read: Read, html: str, expr: str, expected: list[str]) -> None:
    assert hrefs(read(html, next_link=expr)) == expected


def test_links_beyond_the_cap_are_counted_and_refused(read: Read) -> None:
    html = "".join(f"<a href=/{number % 8}></a>" for number in range(16))
    extraction = read(html, follow=(follow("a"),), max_links=5)
    assert (hrefs(extraction), extraction.links_dropped) == (["/0", "/1", "/2", "/3", "/4"], 3)
    assert refused(extraction) == [("/5", "trap"), ("/6", "trap"), ("/7", "trap")]
    full = read(html, follow=(follow("a"),), max_links=8)
    assert (len(full.links), full.links_dropped) == (8, 0)


def test_of_very_many_links_beyond_the_cap_only_the_first_are_kept(read: Read) -> None:
    html = "".join(f"<a href=/{number}></a>" for number in range(LINKS_OVERFLOW + 12))
    extraction = read(html, follow=(follow("a"),), max_links=5)
    assert len(refused(extraction)) == LINKS_OVERFLOW
    assert extraction.links_dropped == LINKS_OVERFLOW + 7


def test_items_do_not_disturb_links(read: Read) -> None:
    html = "<div class=c><a href=/1>one</a></div><div class=c><a href=/2>two</a></div>"
    extraction = read(
        html, items=".c", fields={"t": ValueRule("css", "a")}, follow=(follow("> body > .c > a"),)
    )
    assert hrefs(extraction) == ["/1", "/2"]
    assert extraction.items == [{"t": "one"}, {"t": "two"}]


@pytest.mark.parametrize(
    ("charset", "content_type", "href"),
    [
        ("gb18030", "text/html", "/中?q=%D6%D0"),
        ("utf-8", "text/html", "/中?q=中"),
        ("gb18030", None, "/中?q=%D6%D0"),
    ],
)
def test_links_of_a_legacy_page_are_encoded_as_browsers_do(
    read: Read, charset: str, content_type: str | None, href: str
) -> None:
    html = "<a href='/中?q=中'>1</a><a class=next href='?p=中'>2</a>".encode(charset)
    found = read(html, follow=(follow("a"),), next_link="a.next", charset=charset, content_type=content_type)
    assert href in hrefs(found)
    assert hrefs(found)[0] == href.removeprefix("/中").replace("q=", "p=")
