"""Reading a page: items, children, and where redirects ended."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from smartspider.core.errors import BadRedirect, SecretsWithheld, TooManyRedirects
from smartspider.core.events import Event, ItemsRejected, LinksDropped, ValuesCleaned
from smartspider.core.frontier.verdict import Close
from smartspider.core.pages.extraction import Extraction, Item, Link, RejectedItem
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Extras, Request, make_request
from smartspider.core.requests.scope import UrlScope
from smartspider.core.runs.plan import FetchPlan, Plan
from smartspider.engine.answer_reader import AnswerReader
from smartspider.engine.link_filter import LinkFilter
from smartspider.engine.retry_or_close import Reading
from smartspider.engine.runtime import LocalBus

URL = "http://h.example/a"
ITEMS: list[Item] = [{"name": "x"}]


class Reads:
    """An extractor that gives what the test laid down, and notes for which request."""

    def __init__(self, *hrefs: str, is_pagination: bool = False, **more: Any) -> None:
        self._links = [Link(href, "default", is_pagination=is_pagination) for href in hrefs]
        self._more = more
        self.requests: list[Request] = []

    def engine_of(self, page: str) -> str:
        raise NotImplementedError(page)

    def extract(self, page: Page, request: Request) -> Extraction:
        self.requests.append(request)
        return Extraction(ITEMS, self._links, page.url, **self._more)


class Desk:
    """A reader and what it needs."""

    def __init__(
        self, *hrefs: str, scope: UrlScope | None = None, forbidden: str = "\0", **more: Any
    ) -> None:
        plan = Plan("task", b"{}", "hash", (), {}, scope or UrlScope(hosts=frozenset({"h.example"})))
        self.plan = msgspec.structs.replace(plan, fetch=FetchPlan(max_redirects=2))
        self.extractor = Reads(*hrefs, **more)
        self.events: list[Event] = []
        bus = LocalBus()
        bus.subscribe(self.events.append)
        links = LinkFilter(self.plan, lambda url: forbidden not in url)
        self._reader = AnswerReader(7, self.plan, self.extractor, None, links, bus=bus)

    def read(self, page: Page, request: Request | None = None) -> Reading:
        return self._reader.read(page, request or make_request(URL))

    def close(self, page: Page, request: Request | None = None) -> Close:
        close = self.read(page, request).close
        assert close is not None
        return close


def page(url: str = URL, status: int = 200, hops: tuple[str, ...] = (), **headers: str) -> Page:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Page(url, status, named, b"body", "utf-8", 0.0, hops=hops)


def test_a_good_page_gives_its_items_and_children() -> None:
    desk = Desk("/b", "http://o.example/", rejected=[RejectedItem("why", {})])
    reading = desk.read(page())
    close, found = reading.close, reading.children
    assert close is not None
    assert close.items == ITEMS
    assert [child.url for child in close.children] == ["http://h.example/b"]
    assert (len(close.rejected), close.landed, close.state, close.reason) == (1, None, "done", "")
    assert found is not None
    assert found.children == close.children
    assert desk.events == [ItemsRejected(7, "h.example", URL, 1, "why")]


@pytest.mark.parametrize("status", [300, 304, 403, 404, 500])
def test_only_good_answers_are_extracted(status: int) -> None:
    desk = Desk("/b")
    reading = desk.read(page(status=status, location="/elsewhere"))
    assert reading == Reading(page(status=status, location="/elsewhere"))
    assert desk.extractor.requests == []


def test_links_that_were_not_kept_are_told_about() -> None:
    desk = Desk(links_dropped=4)
    desk.read(page())
    assert desk.events == [LinksDropped(7, "h.example", URL, 4)]


def test_a_page_with_cleaned_values_is_told_about() -> None:
    desk = Desk(cleaned=3)
    desk.read(page())
    assert desk.events == [ValuesCleaned(7, "h.example", URL, 3)]


def test_the_header_can_forbid_to_follow_but_not_to_read() -> None:
    reading = Desk("/b").read(page(x_robots_tag="nofollow"))
    assert reading.close is not None
    assert reading.close.items == ITEMS
    assert reading.close.children == []
    (left_out,) = reading.close.left_out
    assert (left_out.url, left_out.refusal.code) == ("http://h.example/b", "nofollow")


def test_a_redirect_on_the_host_lands_on_a_request_of_its_own() -> None:
    desk = Desk("next")
    request = make_request(URL, page="detail", priority=3, depth=2, extras=Extras(meta={"shop": 5}))
    close = desk.close(page("http://h.example/there/x", hops=(URL,)), request)
    landed = close.landed
    assert landed is not None
    assert landed.url == "http://h.example/there/x"
    assert (landed.page, landed.priority, landed.depth) == ("detail", 3, 2)
    assert landed.extras.meta == {"shop": 5}
    assert desk.extractor.requests == [request]
    assert [(child.url, child.depth) for child in close.children] == [("http://h.example/there/next", 3)]


def test_a_redirect_to_the_same_request_is_no_landing() -> None:
    close = Desk().close(page(URL + "?utm_source=x", hops=(URL,)))
    assert close.landed is None


def moved(to: str) -> Page:
    return page(status=302, location=to)


@pytest.mark.parametrize("is_entry", [False, True])
def test_a_redirect_that_a_pattern_denies_is_not_followed(is_entry: bool) -> None:
    desk = Desk("/b", scope=UrlScope(hosts=frozenset({"h.example"}), deny=("/private",)))
    close = desk.close(moved("/private/x"), make_request(URL, is_entry=is_entry))
    assert (close.state, close.reason) == (
        "skipped",
        "redirected to http://h.example/private/x: scope: deny pattern '/private' matches",
    )
    assert (close.items, close.children) == ([], [])
    assert desk.extractor.requests == []


def test_a_redirect_of_an_entry_stays_in_the_domains_a_task_names() -> None:
    desk = Desk(scope=UrlScope(domains=frozenset({"h.example"})))
    close = desk.close(moved("http://o.example/"), make_request(URL, is_entry=True))
    assert close.reason.endswith("host o.example is not in the task's scope")


def test_a_redirect_that_robots_forbid_is_refused() -> None:
    close = Desk(forbidden="/there").close(moved("/there"))
    assert close.reason.endswith("robots.txt disallows it")


def test_a_redirect_that_keeps_the_method_keeps_it_on_another_host() -> None:
    desk = Desk(scope=UrlScope(domains=frozenset({"example"})))
    request = make_request(URL, extras=Extras("POST", (("cookie", "b"),), b"q=tea"))
    close = desk.close(page(status=307, location="http://o.example/x"), request)
    assert close.children[0].extras == Extras("POST", (), b"q=tea", {"redirects": 1})


def test_a_body_that_goes_to_another_host_keeps_its_type_and_loses_its_credentials() -> None:
    headers = (("Content-Type", "a/b"), ("Authorization", "secret"), ("X-Own", "1"))
    asks = make_request(URL, extras=Extras("POST", headers, b"q=tea"), is_entry=True)
    close = Desk().close(page(status=308, location="http://o.example/x"), asks)
    assert close.children[0].extras.headers == (("Content-Type", "a/b"),)


@pytest.mark.parametrize("body", [b"user=ann&pw=word", b'{"key": "a-b-c-d"}', b"plain", b"\xff", b"q=${KEY}"])
def test_a_body_that_may_hold_a_secret_does_not_go_to_another_host(body: bytes) -> None:
    asks = make_request(URL, extras=Extras("POST", (), body), is_entry=True)
    with pytest.raises(SecretsWithheld, match=r"http://o\.example"):
        Desk().close(page(status=308, location="http://o.example/x"), asks)


def test_a_form_that_became_a_get_on_the_way_is_not_sent_on() -> None:
    asks = make_request(URL, extras=Extras("POST", (), b"user=ann"), is_entry=True)
    landed = page(status=307, location="http://o.example/x", hops=(URL,))
    close = Desk().close(msgspec.structs.replace(landed, became_get=True), asks)
    assert (close.children[0].extras.method, close.children[0].extras.body) == ("GET", None)


def test_after_a_form_that_redirected_further_pages_are_asked_for_without_it() -> None:
    headers = (("Content-Type", "a/b"), ("X-Own", "1"))
    sent = make_request(URL, extras=Extras("POST", headers, b"user=me&password=x", {"k": 1}))
    desk = Desk("?page=2", is_pagination=True)
    landed = msgspec.structs.replace(page("http://h.example/list", hops=(URL,)), became_get=True)
    close = desk.close(landed, sent)
    extras = Extras("GET", (("X-Own", "1"),), None, {"k": 1})
    assert desk.extractor.requests[0].extras == extras
    assert [(child.url, child.extras) for child in close.children] == [
        ("http://h.example/list?page=2", extras)
    ]
    assert close.landed is not None
    assert (close.landed.url, close.landed.extras.method) == ("http://h.example/list", "GET")


def test_after_a_redirect_that_keeps_the_form_further_pages_are_asked_for_with_it() -> None:
    form = Extras("POST", (("Content-Type", "a/b"),), b"q=1")
    desk = Desk("?page=2", is_pagination=True)
    close = desk.close(page("http://h.example/list", hops=(URL,)), make_request(URL, extras=form))
    assert close.children[0].extras == form
    assert close.landed is not None
    assert (close.landed.extras.method, close.landed.extras.body) == ("POST", b"q=1")


def test_a_redirect_to_another_host_is_a_child_of_its_own() -> None:
    desk = Desk(scope=UrlScope(domains=frozenset({"example"})))
    request = make_request(
        URL, page="detail", priority=3, depth=2, extras=Extras("POST", (("a", "b"),), b"x")
    )
    close = desk.close(moved("http://o.example/x#y"), request)
    assert (close.state, close.reason, close.landed) == ("redirect", "to http://o.example/x", None)
    (child,) = close.children
    assert (child.url, child.page, child.priority, child.depth) == ("http://o.example/x", "detail", 3, 2)
    assert child.extras == Extras(meta={"redirects": 1})
    assert child.fingerprint == make_request("http://o.example/x").fingerprint


def test_what_the_task_says_about_an_entry_moves_with_it() -> None:
    request = make_request(URL, is_entry=True, extras=Extras(meta={"shop": 5}))
    close = Desk().close(moved("http://www.h.example/"), request)
    (child,) = close.children
    assert child.is_entry
    assert child.extras.meta == {"shop": 5, "redirects": 1}


def test_a_redirect_out_of_scope_is_refused_and_makes_no_child() -> None:
    close = Desk().close(moved("http://o.example/"))
    assert (close.state, close.reason) == (
        "skipped",
        "redirected to http://o.example/: scope: host o.example is not in the task's scope",
    )
    assert close.children == []


def test_moves_between_hosts_end_at_the_number_of_redirects() -> None:
    desk = Desk(scope=UrlScope(domains=frozenset({"example"})))
    request = make_request(URL)
    for _ in range(2):
        (request,) = desk.close(moved("http://o.example/"), request).children
    with pytest.raises(TooManyRedirects, match="more than 2"):
        desk.read(moved("http://o.example/"), request)


def test_a_redirect_without_a_location_is_bad() -> None:
    with pytest.raises(BadRedirect):
        Desk().read(page(status=301))
