"""A next page is proposed only after it was fetched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from smartspider.core.errors import RobotsDisallowed, SmartSpiderError
from smartspider.core.pages.page import Page
from smartspider.suggest.suggest import suggest
from smartspider.suggest.suggestion import Suggestion, to_task
from smartspider.taskfile.load import parse_task

PageOf = Callable[..., Page]
URL = "https://site.example/list"


def listed(start: int, more: str = "", title: str = "Things") -> str:
    items = "".join(
        f"<li class='c'><h3><a href='/i/{i}'>Thing {i}</a></h3><p>About {i}</p></li>"
        for i in range(start, start + 6)
    )
    return f"<html><body><h1>{title}</h1><main>{items}</main>{more}</body></html>"


class Site:
    """Pages by URL; everything else is missing."""

    def __init__(self, page_of: PageOf, pages: dict[str, str | SmartSpiderError]) -> None:
        self._page_of = page_of
        self._pages = pages
        self.fetched: list[str] = []

    async def fetch(self, url: str) -> Page:
        self.fetched.append(url)
        body = self._pages.get(url)
        if isinstance(body, SmartSpiderError):
            raise body
        return self._page_of(body, url=url) if body is not None else Page(url, 404, {}, b"", "utf-8", 0.0)

    def first(self, body: str, url: str = URL) -> Suggestion:
        return asyncio.run(suggest(self._page_of(body, url=url), self.fetch))[0]


def test_a_next_page_with_other_items_is_proposed(page_of: PageOf) -> None:
    site = Site(page_of, {f"{URL}?page=2": listed(6)})
    found = site.first(listed(0, '<a rel="next" href="?page=2">Next</a>'))
    assert found.pagination == {"type": "next_link", "selector": 'a[rel~="next"]'}
    assert found.next_page is not None
    assert (found.next_page.url, found.next_page.state) == (f"{URL}?page=2", "checked")
    assert "6 of them new" in found.next_page.message


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (listed(0), "same"),
        ("<h1>Things</h1><p>Nothing here.</p>", "other"),
        (None, "failed"),
        (RobotsDisallowed("robots.txt disallows it"), "refused"),
        (SmartSpiderError("the server does not answer"), "failed"),
    ],
)
def test_what_is_not_the_next_page_is_named_and_left_out(answer: Any, state: str, page_of: PageOf) -> None:
    site = Site(page_of, {f"{URL}?page=2": answer})
    found = site.first(listed(0, '<a rel="next" href="?page=2">Next</a>'))
    assert found.pagination is None
    assert found.next_page is not None
    assert found.next_page.state == state
    assert found.next_page.message


def test_the_next_chapter_of_a_manual_is_no_page_of_a_list(page_of: PageOf) -> None:
    site = Site(page_of, {"https://site.example/constants.html": listed(6, title="Constants")})
    head = '<head><link rel="next" href="constants.html"></head>'
    found = site.first(head + listed(0, title="Functions"), "https://site.example/functions.html")
    assert found.pagination is None
    assert found.next_page is not None
    assert found.next_page.state == "other"
    assert "Constants" in found.next_page.message


def test_a_page_of_the_same_title_at_another_path_is_a_next_page(page_of: PageOf) -> None:
    site = Site(page_of, {"https://site.example/older/abc": listed(6)})
    found = site.first(listed(0, '<a href="/older/abc">Older posts</a>'))
    assert found.pagination == {"type": "next_link", "selector": 'a:lexbor-contains("Older posts")'}


def test_a_next_page_on_another_host_is_refused_by_the_scope(page_of: PageOf) -> None:
    site = Site(page_of, {"https://other.example/2": listed(6)})
    found = site.first(listed(0, '<a rel="next" href="https://other.example/2">Next</a>'))
    assert found.pagination is None
    assert found.next_page is not None
    assert found.next_page.state == "refused"
    assert "scope.domains" in found.next_page.message
    assert site.fetched == []


def test_a_next_page_on_the_www_name_of_the_site_extends_the_scope(page_of: PageOf) -> None:
    site = Site(page_of, {"https://www.site.example/list?page=2": listed(6)})
    found = site.first(listed(0, '<a rel="next" href="https://www.site.example/list?page=2">Next</a>'))
    assert found.pagination is not None
    task = to_task(found, URL)
    parse_task(task)
    assert task["scope"] == {"domains": ["site.example"]}


def test_a_page_that_says_nofollow_has_no_next_page(page_of: PageOf) -> None:
    site = Site(page_of, {f"{URL}?page=2": listed(6)})
    head = '<head><meta name="robots" content="nofollow"></head>'
    found = site.first(head + listed(0, '<a rel="next" href="?page=2">Next</a>'))
    assert found.next_page is not None
    assert found.next_page.state == "refused"
    assert "nofollow" in found.next_page.message
    assert site.fetched == []


def test_a_link_that_says_nofollow_is_a_next_page_all_the_same(page_of: PageOf) -> None:
    site = Site(page_of, {f"{URL}?page=2": listed(6)})
    found = site.first(listed(0, '<a rel="next nofollow" href="?page=2">Next</a>'))
    assert found.pagination is not None


def test_the_right_candidate_is_found_after_a_wrong_one(page_of: PageOf) -> None:
    site = Site(page_of, {f"{URL}?page=2": listed(6)})
    more = '<a class="next" href="/tour">Next</a><p class="pages"><b>1</b> <a href="?page=2">2</a></p>'
    found = site.first(listed(0, more))
    assert found.pagination is not None
    assert found.next_page is not None
    assert found.next_page.url == f"{URL}?page=2"


def test_only_a_few_pages_are_fetched(page_of: PageOf) -> None:
    site = Site(page_of, {})
    more = "".join(f'<a class="next n{i}" href="/{i}x">Next</a>' for i in range(9))
    assert site.first(listed(0, more)).pagination is None
    assert len(site.fetched) <= 3


@pytest.mark.parametrize(
    "link",
    [
        '<table class="calendar"><tr><td><a href="?d=2">2</a></td><td><a href="?d=3">3</a></td></tr></table>',
        '<div id="wp-calendar"><a href="?month=4">\u00bb</a></div>',
        '<p><a href="?d=0">&lt;</a><a href="?d=1">Today</a><a href="?d=2">&gt;</a></p>',
        '<a class="next" href="?d=2">Next day</a>',
    ],
)
def test_days_and_months_are_not_fetched(link: str, page_of: PageOf) -> None:
    site = Site(page_of, {})
    assert site.first(listed(0, link)).next_page is None
    assert site.fetched == []


@pytest.mark.parametrize(
    "pager",
    [
        '<div class="pager"><strong>1</strong> <a href="/list/2">2</a> <a href="/list/3">3</a></div>',
        '<ul class="p"><li class="active"><a>1</a></li><li><a href="/list/2">2</a></li></ul>',
        '<div class="pager"><a href="/list/2">\u27e9</a></div>',
        '<a href="/list/2"><img alt="Next" src="n.png"></a>',
        '<p class="foot"><a href="/list/2">More</a></p>',
        '<div class="pg"><b>1</b> <i>|</i> <a href="/list/2">2</a> <i>|</i> <a href="/list/3">3</a></div>',
        '<p class="numbers">1 <a href="/list/2">2</a> <a href="/list/3">3</a></p>',
    ],
)
def test_pagers_of_numbers_arrows_and_images_are_read(pager: str, page_of: PageOf) -> None:
    site = Site(page_of, {"https://site.example/list/2": listed(6)})
    found = site.first(listed(0, pager))
    assert found.pagination is not None
    assert found.next_page is not None
    assert found.next_page.url == "https://site.example/list/2"


def test_a_next_page_that_redirects_to_another_host_is_refused(page_of: PageOf) -> None:
    async def fetch(url: str) -> Page:
        return page_of(listed(6), url=url.replace("site.example", "other.example"))

    page = page_of(listed(0, '<a rel="next" href="?page=2">Next</a>'), url=URL)
    found = asyncio.run(suggest(page, fetch))[0]
    assert found.pagination is None
    assert found.next_page is not None
    assert found.next_page.state == "refused"
    assert "other.example" in found.next_page.message
