"""Links that lead to more than a URL: templates, bodies, and fields that travel along."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from smartspider.core.pages.extraction import Extraction, Item, Link
from smartspider.core.pages.rules import FollowRequest, FollowRule, PagePlan, StopConditions, ValueRule
from smartspider.core.requests.request import NO_EXTRAS, Extras, Request, make_request
from smartspider.core.requests.scope import UrlScope
from smartspider.core.runs.plan import Plan, RunLimits
from smartspider.engine.link_filter import LinkFilter
from smartspider.extract.links.follows import (
    CARRIED_BYTES,
    CARRIED_BYTES_OF_A_PAGE,
    ExtractedLinks,
    FoundLink,
    make_links,
)

ITEMS: list[Item | None] = [
    {"title": "Öl & Co", "price": 3.5, "tags": ["a"], "id": 1},
    {"title": None, "price": None, "tags": [], "id": 2},
]


def made(found: list[FoundLink], items: list[Item | None] | None = None, **follow: Any) -> ExtractedLinks:
    rule = FollowRule(ValueRule("css", "a", many=True), "detail", **follow)
    return make_links(rule, found, ITEMS if items is None else items)


def only(found: FoundLink, **request: Any) -> Link:
    (link,) = made([found], request=FollowRequest(**request)).links
    return link


def test_a_plain_rule_gives_plain_links() -> None:
    result = made([FoundLink("/a"), FoundLink("/b", 1)], priority=2, max_depth=3, allow=("x",), deny=("y",))
    assert result == ExtractedLinks(
        [Link(href, "detail", 2, max_depth=3, allow=("x",), deny=("y",)) for href in ("/a", "/b")]
    )
    assert all(link.extras is NO_EXTRAS for link in result.links)


def test_fields_of_the_item_travel_with_its_links() -> None:
    links = made([FoundLink("/a", 0), FoundLink("/b", 1)], carry=("title", "tags")).links
    assert [link.extras for link in links] == [
        Extras(meta={"title": "Öl & Co", "tags": ["a"]}),
        Extras(meta={"title": None, "tags": []}),
    ]


def test_where_the_page_is_one_item_its_links_carry_from_that_one() -> None:
    assert made([FoundLink("/a")], [{"id": 9}], carry=("id",)).links[0].extras.meta == {"id": 9}
    assert made([FoundLink("/a")], carry=("id",)).links[0].extras.meta == {}
    assert made([FoundLink("/a", 5)], carry=("id",)).links[0].extras.meta == {}
    assert made([FoundLink("/a", 0)], [None], carry=("id",)).links[0].extras.meta == {}


def test_what_is_too_large_to_travel_stays_and_is_counted() -> None:
    heavy: list[Item | None] = [{"t": "x" * CARRIED_BYTES}, {"t": "y"}]
    result = made([FoundLink("/a", 0), FoundLink("/b", 1)], heavy, carry=("t",))
    assert [link.extras.meta for link in result.links] == [{}, {"t": "y"}]
    assert result.carries_dropped == 1


def test_a_page_of_heavy_links_carries_only_so_much_in_all() -> None:
    size = CARRIED_BYTES - 100
    result = made([FoundLink(f"/{number}", 0) for number in range(1000)], [{"t": "x" * size}], carry=("t",))
    carrying = sum(1 for link in result.links if link.extras.meta)
    assert carrying == CARRIED_BYTES_OF_A_PAGE // (size + len('{"t":""}'))
    assert result.carries_dropped == 1000 - carrying


def test_a_url_is_made_from_the_value_the_item_and_the_variables() -> None:
    link = only(
        FoundLink("7/8", 0), url="/api/{value}?t={title}&l={lang}&b={braces}", variables={"lang": "zh"}
    )
    assert link.href == "/api/7%2F8?t=%C3%96l%20%26%20Co&l=zh&b={braces}"
    assert link.extras == NO_EXTRAS


def test_the_value_goes_before_a_field_and_a_field_before_a_variable() -> None:
    items: list[Item | None] = [{"value": "field", "x": "field"}]
    template = FollowRequest("/{value}/{x}/{y}", variables={"x": "v", "value": "v", "y": "v"})
    assert made([FoundLink("found", 0)], items, request=template).links[0].href == "/found/field/v"


def test_without_a_template_for_the_url_the_value_is_the_url() -> None:
    assert only(FoundLink("/x?a=1&b={id}", 0), headers=(("X-Id", "{id}"),)).href == "/x?a=1&b={id}"


def test_a_body_of_json_keeps_types_and_says_what_it_is() -> None:
    body = {"id": "{value}", "price": "{price}", "note": "no. {id}", "q": "query { a {b c} }"}
    extras = only(FoundLink(12, 0), url="/api", method="POST", body=body).extras
    assert extras.method == "POST"
    assert extras.headers == (("Content-Type", "application/json"),)
    assert msgspec.json.decode(extras.body or b"") == {
        "id": 12,
        "price": 3.5,
        "note": "no. 1",
        "q": "query { a {b c} }",
    }


def test_a_body_of_text_is_sent_as_it_is_and_a_form_is_encoded() -> None:
    plain = only(FoundLink("a b", 0), url="/", method="POST", body="<id>{value}</id>").extras
    assert (plain.body, plain.headers) == (b"<id>a b</id>", ())
    headers = (("Content-Type", "application/x-www-form-urlencoded"),)
    form = only(FoundLink("a b", 0), url="/", method="POST", body="q={value}", headers=headers).extras
    assert form.body == b"q=a+b"


def test_headers_are_templates_that_no_value_can_break() -> None:
    extras = only(FoundLink("a\nX: 1", 0), url="/", headers=(("Referer", "{value}"),)).extras
    assert extras.headers == (("Referer", "a X: 1"),)


# --- from links to requests ---

SCOPE = UrlScope(hosts=frozenset({"h.example"}))


def filter_of(scope: UrlScope = SCOPE, **plan: Any) -> LinkFilter:
    return LinkFilter(Plan("task", b"{}", "hash", (), plan.pop("pages", {}), scope, **plan), lambda _: None)


def children(links: LinkFilter, *found: Link, on: Request | None = None) -> list[Request]:
    request = on or make_request("http://h.example/list")
    result = links.children(Extraction([], list(found), request.url), request)
    links.remember(result)
    return result.children


def post(body: bytes, **meta: Any) -> Extras:
    return Extras("POST", (("X", "1"),), body, meta)


def test_requests_to_one_url_differ_by_method_and_body_and_not_by_what_they_carry() -> None:
    links = filter_of()
    first = children(
        links,
        Link("/api", "default"),
        Link("/api", "default", extras=post(b"1", a=1)),
        Link("/api", "default", extras=post(b"2")),
        Link("/api", "default", extras=post(b"1", a=2)),
        Link("/api", "default", extras=Extras(meta={"b": 1})),
    )
    assert [(child.extras.method, child.extras.body) for child in first] == [
        ("GET", None),
        ("POST", b"1"),
        ("POST", b"2"),
    ]
    assert first[1] == make_request("http://h.example/api", depth=1, extras=post(b"1", a=1))
    assert children(links, Link("/api", "default", extras=post(b"1"))) == []
    assert [child.extras.body for child in children(links, Link("/api", "default", extras=post(b"3")))] == [
        b"3"
    ]


def test_a_plain_link_that_is_known_does_not_hide_a_post_to_the_same_url() -> None:
    links = filter_of()
    children(links, Link("/api", "default"))
    assert len(children(links, Link("/api", "default", extras=post(b"x")))) == 1


def test_a_further_page_is_asked_for_as_its_list_was() -> None:
    extras = Extras("POST", (("Cookie", "s"),), b"{}", {"shop": 1, "redirects": 3})
    request = make_request("http://h.example/list", page="list", depth=4, extras=extras)
    link = Link("?page=2", "list", 5, is_pagination=True)
    (child,) = children(filter_of(), link, on=request)
    kept = msgspec.structs.replace(extras, meta={"shop": 1})
    expected = make_request("http://h.example/list?page=2", page="list", priority=5, depth=4, extras=kept)
    assert child == msgspec.structs.replace(expected, is_next_page=True)


def test_headers_stay_at_their_origin() -> None:
    request = make_request("http://h.example/list", extras=Extras(headers=(("Authorization", "s"),)))
    for target, headers in (("/l2", request.extras.headers), ("http://h.example:81/l2", ())):
        (child,) = children(filter_of(), Link(target, "default", is_pagination=True), on=request)
        assert child.extras.headers == headers


def test_an_ordinary_link_does_not_inherit_the_request_of_its_page() -> None:
    request = make_request("http://h.example/list", extras=post(b"x", a=1))
    (child,) = children(filter_of(), Link("/a", "default"), on=request)
    assert child.extras is NO_EXTRAS


def test_further_pages_wait_for_the_ledger_where_a_list_ends_with_what_was_seen() -> None:
    pages = {"list": PagePlan("list", stop_when=StopConditions(seen=True)), "other": PagePlan("other")}
    links = filter_of(pages=pages)
    listed = [Link("?page=2", "list", is_pagination=True), Link("/a", "detail")]
    for name, next_pages in (("list", ["http://h.example/list?page=2"]), ("other", [])):
        request = make_request("http://h.example/list", page=name)
        found = links.children(Extraction([], listed, request.url), request)
        assert [page.url for page in found.next_pages] == next_pages
        assert len(found.children) + len(found.next_pages) == 2


def test_next_pages_that_were_not_stored_are_not_taken_for_known() -> None:
    links = filter_of(pages={"list": PagePlan("list", stop_when=StopConditions(seen=True))})
    request = make_request("http://h.example/list", page="list")
    extraction = Extraction([], [Link("?page=2", "list", is_pagination=True)], request.url)
    for _ in range(2):
        found = links.children(extraction, request)
        assert len(found.next_pages) == 1
        links.remember(found)


@pytest.mark.parametrize("depth", [0, 3])
def test_pages_that_a_sitemap_lists_have_no_depth_and_keep_to_the_scope(depth: int) -> None:
    links = filter_of(UrlScope(hosts=frozenset({"h.example"}), same_host=True), limits=RunLimits(max_depth=0))
    sitemap = make_request("http://cdn.example/s.xml", page="@sitemap", depth=depth)
    listed = [
        Link("http://h.example/a", "default", depth=0),
        Link("http://cdn.example/b", "default", depth=0),
        Link("http://h.example/x/a/x/a/x/a/x/a/x", "default", depth=0),
    ]
    assert [(child.url, child.depth) for child in children(links, *listed, on=sitemap)] == [
        ("http://h.example/a", 0)
    ]


def test_sitemaps_lie_where_robots_txt_or_their_index_says() -> None:
    links = filter_of(UrlScope(hosts=frozenset({"h.example"}), allow=("/product/",)))
    robots = make_request("http://h.example/robots.txt", page="@robots")
    far = Link("http://cdn.example/s.xml", "@sitemap", depth=0)
    (sitemap,) = children(links, far, on=robots)
    assert (sitemap.url, sitemap.page, sitemap.is_next_page) == (far.href, "@sitemap", True)
    nested = [
        Link("http://cdn.example/2.xml", "@sitemap", depth=1),
        Link("http://h.example/3.xml", "@sitemap", depth=1),
        Link("http://evil.example/4.xml", "@sitemap", depth=1),
    ]
    assert [child.url for child in children(links, *nested, on=sitemap)] == [
        "http://cdn.example/2.xml",
        "http://h.example/3.xml",
    ]


def test_the_host_of_a_sitemap_does_not_join_the_scope() -> None:
    links = filter_of()
    links.admit("cdn.example", "@sitemap")
    assert children(links, Link("http://cdn.example/a", "default")) == []
    links.admit("cdn.example", "default")
    assert len(children(links, Link("http://cdn.example/a", "default"))) == 1


def test_a_sitemap_may_be_redirected_past_the_patterns_for_pages() -> None:
    links = filter_of(UrlScope(hosts=frozenset({"h.example"}), allow=("/product/",)))
    assert (
        links.redirect_refusal(
            "http://h.example/index.xml", make_request("http://h.example/", page="@sitemap")
        )
        is None
    )
    assert links.redirect_refusal("http://h.example/index.xml", make_request("http://h.example/")) is not None
