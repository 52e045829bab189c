"""What a page tells later runs, and which links are kept for them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from smartspider.core.pages.extraction import Extraction, Item, Link
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import PagePlan, ValueRule
from smartspider.core.requests.recrawl import PageVersion, RecrawlPolicy
from smartspider.core.requests.request import Extras, make_request
from smartspider.core.requests.scope import UrlScope
from smartspider.core.runs.plan import Plan
from smartspider.engine.answer_reader import is_unchanged, validators_of
from smartspider.engine.link_filter import ChildRequests, LinkFilter

URL = "http://h.example/list"
FIELDS = {"default": PagePlan("default", fields={"a": ValueRule("css", "a")})}
CONDITIONAL = RecrawlPolicy(conditional=True)
WINDOW = RecrawlPolicy(window_s=60.0)
ITEMS: list[Item] = [{"a": "1"}, {"a": "2"}]


def plan_of(recrawl: RecrawlPolicy, pages: dict[str, PagePlan] | None = None) -> Plan:
    scope = UrlScope(hosts=frozenset({"h.example"}))
    return Plan("task", b"{}", "hash", (), FIELDS if pages is None else pages, scope, recrawl=recrawl)


def page(body: bytes = b"body", status: int = 200, **headers: str) -> Page:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Page(URL, status, named, body, "utf-8", 0.0)


def content(items: list[Item], body: bytes = b"body", pages: dict[str, PagePlan] | None = None) -> bytes:
    validators = validators_of(plan_of(WINDOW, pages), page(body), make_request(URL), items)
    assert validators is not None
    return validators.content


def test_a_task_that_does_not_look_back_pays_nothing() -> None:
    assert validators_of(plan_of(RecrawlPolicy()), page(etag='"1"'), make_request(URL), ITEMS) is None


def test_the_content_of_a_page_is_its_items_in_their_order() -> None:
    assert content(ITEMS) == content(ITEMS, b"other adverts")
    assert content(ITEMS) != content(ITEMS[::-1])
    assert content(ITEMS) != content(ITEMS[:1])


def test_the_content_of_a_page_without_fields_is_its_body() -> None:
    bare = {"default": PagePlan("default")}
    assert content([], pages=bare) == content([], pages=bare)
    assert content([], pages=bare) != content([], b"other", pages=bare)


def version(
    recrawl: RecrawlPolicy = CONDITIONAL, method: str = "GET", status: int = 200, **headers: str
) -> PageVersion:
    request = make_request(URL, extras=Extras(method=method))
    validators = validators_of(plan_of(recrawl), page(b"body", status, **headers), request, ITEMS)
    assert validators is not None
    return validators.version


def test_the_version_is_what_the_server_calls_it() -> None:
    moment = "Sat, 14 Nov 2026 08:00:00 GMT"
    assert version(etag='W/"1"', last_modified=moment) == PageVersion('W/"1"', moment)
    assert not version()


@pytest.mark.parametrize("tag", ["x" * 1025, '"é"', '"a\x7f"', '"a\r\nCookie: b"'])
def test_a_tag_that_cannot_be_sent_back_is_none(tag: str) -> None:
    assert not version(etag=tag)


def test_only_whole_pages_that_were_asked_for_by_get_have_a_version() -> None:
    assert not version(method="POST", etag='"1"')
    assert not version(status=206, etag='"1"')
    assert not version(WINDOW, etag='"1"')


def test_only_the_page_that_was_asked_about_can_be_unchanged() -> None:
    asked = make_request(URL, extras=Extras(version=PageVersion('"1"')))
    assert is_unchanged(page(status=304), asked)
    assert not is_unchanged(page(status=200), asked)
    assert not is_unchanged(page(status=304), make_request(URL))
    assert not is_unchanged(msgspec.structs.replace(page(status=304), hops=("http://h.example/a",)), asked)


def test_a_version_is_no_part_of_what_a_request_is() -> None:
    assert (
        make_request(URL, extras=Extras(version=PageVersion('"1"'))).fingerprint
        == make_request(URL).fingerprint
    )


def children(links: LinkFilter, *hrefs: str, next_page: str | None = None) -> ChildRequests:
    listed = [Link(href, "default") for href in hrefs]
    if next_page is not None:
        listed.append(Link(next_page, "default", is_pagination=True))
    found = links.children(Extraction([], listed, URL), make_request(URL))
    links.remember(found)
    return found


def paths(requests: list[Any]) -> list[str]:
    return [request.url.rpartition("/")[2] for request in requests]


def test_links_that_are_known_are_kept_for_later_runs() -> None:
    links = LinkFilter(plan_of(CONDITIONAL), lambda _url: None)
    children(links, "/a", "/b")
    found = children(links, "/b", "/c", "/a", "http://elsewhere.example/")
    assert (paths(found.children), paths(found.links), found.duplicates) == (["c"], ["b", "c", "a"], 2)


def test_links_are_only_kept_where_later_runs_ask_for_them() -> None:
    assert children(LinkFilter(plan_of(WINDOW), lambda _url: None), "/a").links == []


@pytest.mark.parametrize("recrawl", [WINDOW, CONDITIONAL])
def test_a_further_page_is_told_as_one_however_often_it_is_linked(recrawl: RecrawlPolicy) -> None:
    links = LinkFilter(plan_of(recrawl), lambda _url: None)
    found = children(links, "/p2", "/x", next_page="/p2")
    assert [(child.url[-2:], child.is_next_page) for child in found.children] == [("p2", True), ("/x", False)]
    assert all(link.is_next_page == link.url.endswith("p2") for link in found.links)
    children(links, "/p3")
    found = children(links, next_page="/p3")
    assert [child.is_next_page for child in found.children] == [True]


def test_without_looking_back_a_further_page_is_known_like_any_link() -> None:
    links = LinkFilter(plan_of(RecrawlPolicy()), lambda _url: None)
    children(links, "/p2")
    assert children(links, next_page="/p2").children == []
