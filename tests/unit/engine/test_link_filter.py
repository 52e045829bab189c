"""From the links of a page to the requests worth making: nothing is lost, nothing is asked for twice."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smartspider.core.pages.extraction import Extraction, Link
from smartspider.core.requests.refusal import Refusal
from smartspider.core.requests.request import Request, make_request
from smartspider.core.requests.scope import TrapGuards, UrlScope
from smartspider.core.requests.urls import CanonicalRules, canonical_url, host_of, normal_url
from smartspider.core.runs.plan import Plan, RunLimits
from smartspider.engine.link_filter import ChildRequests, LinkFilter

PAGE = "http://h.example/dir/page?p=1"
SCOPE = UrlScope(hosts=frozenset({"h.example"}))


def filter_of(scope: UrlScope = SCOPE, forbidden: str | None = None, **plan: Any) -> LinkFilter:
    entry = make_request("http://h.example/", is_entry=True)
    return LinkFilter(
        Plan("task", b"{}", "hash", (entry,), {}, scope, **plan),
        lambda url: None if forbidden is None else forbidden not in url,
    )


def found(
    links: LinkFilter, *hrefs: str | Link, base: str = PAGE, on: Request | None = None
) -> ChildRequests:
    listed = [href if isinstance(href, Link) else Link(href, "default") for href in hrefs]
    return links.children(Extraction([], listed, base), on or make_request(base))


def urls(links: LinkFilter, *hrefs: str | Link, base: str = PAGE, on: Request | None = None) -> list[str]:
    return [child.url for child in found(links, *hrefs, base=base, on=on).children]


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("next", "http://h.example/dir/next"),
        ("../up", "http://h.example/up"),
        ("/root", "http://h.example/root"),
        ("//h.example/protocol", "http://h.example/protocol"),
        ("https://h.example/secure", "https://h.example/secure"),
        ("?p=2", "http://h.example/dir/page?p=2"),
        ("", "http://h.example/dir/page?p=1"),
        ("#top", "http://h.example/dir/page?p=1"),
        ("next#part", "http://h.example/dir/next"),
        (" /spaced ", "http://h.example/spaced"),
        ("http:?p=3", "http://h.example/dir/page?p=3"),
        ("\\back", "http://h.example/back"),
    ],
)
def test_links_are_joined_to_the_base(href: str, url: str) -> None:
    assert urls(filter_of(), href) == [url]


def test_a_child_is_one_deeper_and_says_what_its_rule_says() -> None:
    link = Link("/detail/1", "detail", priority=5)
    (child,) = found(filter_of(), link, on=make_request(PAGE, depth=2)).children
    expected = make_request("http://h.example/detail/1", page="detail", priority=5, depth=3)
    assert child == expected


@pytest.mark.parametrize("href", ["mailto:a@b.example", "http://[", "ftp://h.example/", "javascript:void(0)"])
def test_what_leads_to_no_page_is_passed_over(href: str) -> None:
    result = found(filter_of(), href, href)
    assert (result.children, result.duplicates) == ([], 0)


def test_a_link_that_stands_twice_on_a_page_is_one_child() -> None:
    result = found(filter_of(), "/a", "/a", "/a#part", "/a?utm_source=x", "/b")
    assert [child.url for child in result.children] == ["http://h.example/a", "http://h.example/b"]
    assert result.duplicates == 3


def test_a_link_is_known_only_after_its_page_was_committed() -> None:
    links = filter_of()
    first = found(links, "/a", "b")
    assert urls(links, "/a", "b") == [child.url for child in first.children]
    links.remember(first)
    again = found(links, "/a", "b", "http://h.example/dir/b", "/c")
    assert [child.url for child in again.children] == ["http://h.example/c"]
    assert again.duplicates == 3


def test_a_relative_link_is_another_one_in_another_folder() -> None:
    links = filter_of()
    links.remember(found(links, "next", base="http://h.example/one/page"))
    assert urls(links, "next", base="http://h.example/one/other") == []
    assert urls(links, "next", base="http://h.example/two/page") == ["http://h.example/two/next"]


@pytest.mark.parametrize("href", ["?p=2", "#x", "", "http:?p=2", "HTTP:?u=http://o.example/", " ?p=2"])
def test_a_link_that_goes_out_from_the_page_is_another_one_on_another_page(href: str) -> None:
    links = filter_of()
    links.remember(found(links, href, base="http://h.example/dir/one"))
    (url,) = urls(links, href, base="http://h.example/dir/two")
    assert url.startswith("http://h.example/dir/two")


def test_a_rooted_link_is_another_one_on_another_origin() -> None:
    links = filter_of(UrlScope(domains=frozenset({"h.example"})))
    links.remember(found(links, "/a"))
    assert urls(links, "/a", base="http://www.h.example/") == ["http://www.h.example/a"]


def test_a_page_type_of_its_own_does_not_make_a_known_page_new() -> None:
    links = filter_of()
    links.remember(found(links, Link("/a", "list")))
    result = found(links, Link("/a", "detail"))
    assert (result.children, result.duplicates) == ([], 1)


def test_what_is_out_of_scope_is_refused_and_is_no_duplicate_the_second_time() -> None:
    links = filter_of()
    for _ in range(2):
        result = found(links, "http://o.example/a", "//o.example/b")
        assert (result.children, result.duplicates) == ([], 0)


def test_a_refusal_needs_no_second_look_at_the_rules() -> None:
    asked: list[str] = []

    def opinion(url: str) -> bool:
        asked.append(url)
        return False

    links = LinkFilter(Plan("task", b"{}", "hash", (), {}, SCOPE), opinion)
    links.remember(found(links, "/a"))
    assert urls(links, "/a") == []
    assert asked == ["http://h.example/a"]


def test_another_spelling_of_a_stored_link_is_parsed_once() -> None:
    looked_up: list[str] = []
    entry = make_request("http://h.example/", is_entry=True)
    links = LinkFilter(Plan("task", b"{}", "hash", (entry,), {}, SCOPE), looked_up.append)
    links.remember(found(links, "/a"))
    looked_up.clear()
    for _ in range(3):
        again = found(links, "/a#part", "/a?utm_source=x", "http://h.example/a")
        assert (again.children, again.duplicates) == ([], 3)
    assert looked_up == ["http://h.example/a?utm_source=x", "http://h.example/a"]


def test_a_host_that_joins_is_in_scope_from_then_on() -> None:
    links = filter_of()
    assert urls(links, "http://www.h.example/a") == []
    links.admit("www.h.example")
    assert urls(links, "http://www.h.example/a") == ["http://www.h.example/a"]
    assert links.redirect_refusal("http://www.h.example/b", make_request("http://h.example/")) is None


def test_a_host_that_joins_does_not_make_known_links_new() -> None:
    links = filter_of()
    links.remember(found(links, "/a"))
    links.admit("www.h.example")
    assert found(links, "/a").duplicates == 1


def test_domains_of_the_task_are_not_widened_by_where_requests_led() -> None:
    links = filter_of(UrlScope(domains=frozenset({"h.example"})))
    links.admit("o.example")
    assert urls(links, "http://o.example/a", "http://deep.h.example/") == ["http://deep.h.example/"]


def test_the_depth_of_the_run_and_of_the_rule_both_count_and_pagination_adds_none() -> None:
    links = filter_of(limits=RunLimits(max_depth=2))
    deep = make_request(PAGE, depth=2)
    assert urls(links, "/a", on=deep) == []
    assert [
        child.depth for child in found(links, Link("/p2", "x", is_pagination=True), on=deep).children
    ] == [2]
    shallow = Link("/b", "x", max_depth=1)
    assert urls(links, shallow, on=make_request(PAGE, depth=1)) == []
    assert urls(links, shallow, on=make_request(PAGE, depth=0)) == ["http://h.example/b"]


def test_a_link_that_was_too_deep_is_taken_from_a_page_that_is_not() -> None:
    links = filter_of(limits=RunLimits(max_depth=1))
    assert urls(links, "/a", on=make_request(PAGE, depth=1)) == []
    assert urls(links, "/a", on=make_request(PAGE, depth=0)) == ["http://h.example/a"]


def test_what_one_rule_refuses_another_rule_may_take() -> None:
    links = filter_of()
    picky, other = Link("/item/1", "x", allow=("/list/",)), Link("/item/1", "x", allow=("/item/",))
    assert urls(links, picky) == []
    assert urls(links, picky, other) == ["http://h.example/item/1"]
    assert urls(links, Link("/item/2", "x", deny=("item",)), Link("/item/2", "x")) == [
        "http://h.example/item/2"
    ]


def test_patterns_are_searched_in_the_canonical_url() -> None:
    links = filter_of()
    assert urls(links, Link("/i?b=2&a=1&utm_source=x", "x", allow=(r"\?a=1&b=2$",))) == [
        "http://h.example/i?b=2&a=1&utm_source=x"
    ]


def test_robots_that_forbid_refuse_and_unknown_ones_do_not() -> None:
    links = filter_of(forbidden="/private")
    assert urls(links, "/private/a", "/public") == ["http://h.example/public"]
    refusal = links.redirect_refusal("http://h.example/private/b", make_request("http://h.example/"))
    assert refusal is not None
    assert refusal.code == "robots"
    assert urls(filter_of(), "/private/a") == ["http://h.example/private/a"]


def test_traps_are_refused() -> None:
    links = filter_of(traps=TrapGuards(max_url_length=40))
    assert urls(links, "/" + "x" * 40, "/short") == ["http://h.example/short"]


def test_a_refusal_for_one_host_says_nothing_about_the_same_link_on_another() -> None:
    links = filter_of(UrlScope(domains=frozenset({"example"}), same_host=True))
    base = "http://b.example/"
    assert urls(links, "x", base=base, on=make_request("http://a.example/")) == []
    assert urls(links, "x", base=base, on=make_request("http://b.example/")) == ["http://b.example/x"]


HREFS = st.sampled_from(
    [
        *("a", "b", "a/b", "../a", "./", "/a", "/b?x=1", "?x=1", "?x=2", "#f", "", "a#f", "a?utm_source=1"),
        *("//h.example/a", "//o.example/a", "http://h.example/a", "https://h.example/a", "http://o.example/"),
        *(
            "http:?x=1",
            "http:a",
            "https:?x=1",
            "a:b",
            "mailto:x",
            " a",
            "\t?x=3",
            "\\a",
            "a b",
            "http://h.example:81/a",
        ),
        *("/deny/a", "a?x=1&y=2", "a?y=2&x=1", "a?sid=1", "/ä", "http:/a", "HTTP:?u=http://h.example/"),
    ]
)
BASES = st.sampled_from(
    [
        *("http://h.example/", "http://h.example/a", "http://h.example/d/a", "http://h.example/d/b?x=/1/2"),
        *(
            "http://h.example/d/b?x=/1/3",
            "https://h.example/d/a",
            "http://h.example:81/d/a",
            "http://o.example/d/",
        ),
    ]
)
LINKS = st.builds(Link, HREFS, st.sampled_from(["list", "detail"]), allow=st.sampled_from([(), ("/d/",)]))
PAGES = st.tuples(BASES, st.lists(LINKS, max_size=6), st.booleans())


@pytest.mark.parametrize("same_host", [False, True])
@given(pages=st.lists(PAGES, max_size=12))
def test_no_link_in_scope_that_nobody_stored_is_ever_lost(
    pages: list[tuple[str, list[Link], bool]],
    same_host: bool,
) -> None:
    hosts = frozenset({"h.example"})
    rules = CanonicalRules(frozenset({"sid"}))
    links = filter_of(UrlScope(hosts=hosts, deny=("deny",), same_host=same_host), canonical=rules)
    stored: set[str] = set()
    for base, listed, is_committed in pages:
        wanted: dict[str, str] = {}
        for link in listed:
            url = normal_url(link.href, base)
            if url is None:
                continue
            canonical = canonical_url(url, rules)
            is_inside = host_of(url) in hosts and "deny" not in canonical
            is_near = not same_host or host_of(url) == host_of(base)
            if is_inside and is_near and (not link.allow or "/d/" in canonical) and canonical not in stored:
                wanted.setdefault(canonical, url)
        result = links.children(Extraction([], listed, base), make_request(base))
        assert [child.url for child in result.children] == list(wanted.values())
        if is_committed:
            links.remember(result)
            stored.update(wanted)


def left_out(result: ChildRequests) -> list[tuple[str, str, bool]]:
    return [(link.url, link.refusal.code, link.is_next_page) for link in result.left_out.values()]


NOFOLLOW = Refusal("nofollow", "the link says so")


@pytest.mark.parametrize(
    ("link", "url", "code"),
    [
        (Link("http://o.example/a", "default"), "http://o.example/a", "scope_host"),
        (Link("/denied", "default"), "http://h.example/denied", "scope_deny"),
        (Link("/only", "default", allow=("/wanted",)), "http://h.example/only", "scope_allow"),
        (Link("/not", "default", deny=("/not",)), "http://h.example/not", "scope_deny"),
        (Link("/deep", "default", max_depth=0), "http://h.example/deep", "depth"),
        (Link("/a/a/a/a/a/a", "default"), "http://h.example/a/a/a/a/a/a", "trap"),
        (Link("ftp://h.example/f", "default"), "ftp://h.example/f", "not_http"),
        (Link("/private/1", "default"), "http://h.example/private/1", "robots"),
        (Link("/marked", "default", refusal=NOFOLLOW), "http://h.example/marked", "nofollow"),
    ],
)
def test_every_refusal_is_reported_with_its_code_until_committed(link: Link, url: str, code: str) -> None:
    links = filter_of(UrlScope(hosts=frozenset({"h.example"}), deny=("/denied",)), forbidden="/private")
    for _ in range(2):
        result = found(links, link, link)
        assert (result.children, left_out(result)) == ([], [(url, code, False)])
    links.remember(result)
    assert left_out(found(links, link)) == []


def test_a_refused_next_page_is_reported_although_it_was_a_plain_link_before() -> None:
    links = filter_of()
    links.remember(found(links, "http://o.example/2"))
    result = found(links, Link("http://o.example/2", "default", is_pagination=True))
    assert left_out(result) == [("http://o.example/2", "scope_host", True)]


def test_a_page_that_forbids_following_reports_all_its_links() -> None:
    links = filter_of()
    page = Extraction([], [Link("/a", "default"), Link("/b", "default")], PAGE, refusal=NOFOLLOW)
    result = links.children(page, make_request(PAGE))
    assert [code for _, code, _ in left_out(result)] == ["nofollow", "nofollow"]
    links.remember(result)
    assert left_out(links.children(page, make_request(PAGE))) == []
    assert urls(links, "/a") == ["http://h.example/a"], "another page leads to it"


def test_a_link_that_is_refused_and_followed_on_one_page_is_followed() -> None:
    result = found(filter_of(), Link("/a", "default", refusal=NOFOLLOW), "/a")
    assert [child.url for child in result.children] == ["http://h.example/a"]
    assert left_out(result) == []


def test_a_known_request_is_not_left_out_where_it_is_too_deep() -> None:
    links = filter_of(limits=RunLimits(max_depth=1))
    links.remember(found(links, "/a", on=make_request(PAGE)))
    deep = make_request(PAGE, depth=1)
    assert left_out(found(links, Link("/a", "other"), "/b", on=deep)) == [
        ("http://h.example/b", "depth", False)
    ]


def test_a_host_that_joins_makes_its_refused_links_requests() -> None:
    links = filter_of()
    links.remember(found(links, "http://www.h.example/a"))
    links.admit("www.h.example")
    result = found(links, "http://www.h.example/a")
    assert ([child.url for child in result.children], left_out(result)) == (["http://www.h.example/a"], [])


def test_refusals_are_reported_again_when_rows_may_be_lost() -> None:
    links = filter_of()
    links.remember(found(links, "http://o.example/a", Link("/m", "default", refusal=NOFOLLOW)))
    links.forget()
    assert len(left_out(found(links, "http://o.example/a", Link("/m", "default", refusal=NOFOLLOW)))) == 2


def test_a_link_with_a_lone_surrogate_is_left_out_like_any_other() -> None:
    ((url, code, _),) = left_out(found(filter_of(), "ftp://h.example/\ud800"))
    assert (code, url.isascii() or "\ud800" not in url) == ("not_http", True)
