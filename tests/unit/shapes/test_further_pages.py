"""Further pages of a list: which requests a page leads to, and where that ends."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from smartspider.core.errors import NotReadable, TaskInvalid
from smartspider.core.pages.extraction import Link
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import (
    CursorPagination,
    DateCutoff,
    HeaderLinkPagination,
    OffsetPagination,
    PageParamPagination,
    PagePlan,
    Pagination,
    StopConditions,
)
from smartspider.core.requests.request import Extras, Request, make_request
from smartspider.core.requests.scope import TrapGuards
from smartspider.extract.compile import compile_pages
from smartspider.extract.links.pagination import AT_ONCE, find_next_target, has_more_pages, next_links
from smartspider.extract.parsing.document import Document

ENTRY = "http://h/l?q=a"


def links(
    pagination: Pagination,
    url: str = ENTRY,
    *,
    found: int = 1,
    is_entry: bool = False,
    body: Any = None,
    request: Request | None = None,
    stop_when: StopConditions = StopConditions(),
    headers: dict[str, str] | None = None,
    max_links: int = 50_000,
) -> list[Link]:
    plan = PagePlan("default", pagination=pagination, stop_when=stop_when)
    request = request or make_request(url, is_entry=is_entry)
    page = Page(url, 200, headers or {}, msgspec.json.encode(body), "utf-8", 0.0)
    return next_links(plan, page, request, Document(page, request), found, max_links=max_links)


def hrefs(*arguments: Any, **options: Any) -> list[str]:
    return [link.href for link in links(*arguments, **options)]


NUMBERS = PageParamPagination("page", 2, 1, 4)
OFFSETS = OffsetPagination("offset", 20, "limit", 60)


def test_page_numbers_are_requested_as_the_contract_says() -> None:
    assert hrefs(NUMBERS, is_entry=True) == [f"{ENTRY}&page={number}" for number in (2, 3, 4)]


def test_offsets_are_requested_as_the_contract_says() -> None:
    assert hrefs(OFFSETS, is_entry=True) == [f"{ENTRY}&offset={offset}&limit=20" for offset in (20, 40, 60)]


def test_an_offset_without_a_limit_parameter_says_nothing_about_it() -> None:
    assert hrefs(OffsetPagination("from", 10)) == [f"{ENTRY}&from=10"]


def test_a_stop_that_no_step_meets_is_not_overrun() -> None:
    assert hrefs(PageParamPagination("p", 1, 3, 9)) == [f"{ENTRY}&p={number}" for number in (1, 4, 7)]
    assert hrefs(OffsetPagination("o", 20, None, 19)) == []


def test_all_pages_up_to_the_stop_follow_from_the_first_so_that_a_dead_one_loses_none() -> None:
    assert hrefs(NUMBERS, f"{ENTRY}&page=3") == [f"{ENTRY}&page=4"]
    assert hrefs(NUMBERS, f"{ENTRY}&page=4") == []
    assert hrefs(NUMBERS, f"{ENTRY}&page=3", found=0) == [f"{ENTRY}&page=4"]


def test_a_long_list_is_asked_for_in_parts_and_the_last_pages_of_a_part_lead_on() -> None:
    long = PageParamPagination("page", 1, 1, 1_000_000)
    first = hrefs(long)
    assert first == [f"{ENTRY}&page={number}" for number in range(1, AT_ONCE + 1)]
    assert hrefs(long, f"{ENTRY}&page={AT_ONCE - 3}")[-1] == f"{ENTRY}&page={AT_ONCE + 5}"
    assert len(hrefs(long, max_links=10)) == 8


def test_every_page_of_a_long_list_is_reached_when_seven_of_eight_are_dead() -> None:
    plan = PageParamPagination("page", 1, 1, 300)
    known = {ENTRY} | set(hrefs(plan, max_links=20))
    todo = list(known)
    while todo:
        url = todo.pop()
        if url == ENTRY or int(url.rpartition("=")[2]) % 8 == 0:
            new = set(hrefs(plan, url, max_links=20)) - known
            known |= new
            todo += new
    assert known == {ENTRY} | {f"{ENTRY}&page={number}" for number in range(1, 301)}


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("http://h/l?page=1&q=a", "http://h/l?page=2&q=a"),
        ("http://h/l?page=7", "http://h/l?page=8"),
        ("http://h/l?page=x", "http://h/l?page=2"),
        ("http://h/l?page=-3", "http://h/l?page=2"),
        ("http://h/l?page=" + "9" * 30, "http://h/l?page=2"),
    ],
)
def test_without_a_stop_pages_come_one_after_the_other(url: str, asked: str) -> None:
    assert hrefs(PageParamPagination("page"), url) == [asked]


def test_an_entry_in_the_middle_of_a_list_leads_to_its_begin_and_on() -> None:
    assert hrefs(PageParamPagination("page"), "http://h/l?page=5", is_entry=True) == [
        "http://h/l?page=2",
        "http://h/l?page=6",
    ]
    assert hrefs(NUMBERS, "http://h/l?page=3", is_entry=True) == [
        f"http://h/l?page={number}" for number in (2, 3, 4)
    ]


def test_without_a_stop_a_page_without_items_ends_the_list() -> None:
    assert hrefs(PageParamPagination("page"), found=0) == []
    assert hrefs(OffsetPagination("offset", 20), found=0) == []


@pytest.mark.parametrize(
    ("pagination", "is_open"),
    [
        (PageParamPagination("p"), True),
        (OffsetPagination("o", 1), True),
        (NUMBERS, False),
        (HeaderLinkPagination(), False),
    ],
)
def test_an_empty_page_ends_what_has_no_other_end_and_what_the_task_says(
    pagination: Pagination, is_open: bool
) -> None:
    assert has_more_pages(PagePlan("a", pagination=pagination), 0) is not is_open
    assert has_more_pages(PagePlan("a", pagination=pagination), 1)
    assert not has_more_pages(PagePlan("a", pagination=pagination, stop_when=StopConditions(empty=True)), 0)


@pytest.mark.parametrize(
    "stop_when",
    [StopConditions(empty=True), StopConditions(seen=True), StopConditions(older_than=DateCutoff("d", 1.0))],
)
def test_a_list_that_may_end_early_is_not_asked_for_ahead(stop_when: StopConditions) -> None:
    assert hrefs(NUMBERS, is_entry=True, stop_when=stop_when) == [f"{ENTRY}&page=2"]
    assert hrefs(NUMBERS, f"{ENTRY}&page=2", stop_when=stop_when) == [f"{ENTRY}&page=3"]
    assert hrefs(NUMBERS, f"{ENTRY}&page=4", stop_when=stop_when) == []


QUERY_CURSOR = CursorPagination("meta.next", "cursor")


@pytest.mark.parametrize(
    ("value", "text"), [("c/2 x", "c%2F2%20x"), (17, "17"), (1.5, "1.5"), ([1, "a"], "%5B1%2C%22a%22%5D")]
)
def test_a_cursor_goes_into_the_query(value: Any, text: str) -> None:
    assert hrefs(QUERY_CURSOR, body={"meta": {"next": value}}) == [f"{ENTRY}&cursor={text}"]


def test_a_cursor_replaces_the_one_before() -> None:
    asked = hrefs(QUERY_CURSOR, "http://h/l?cursor=c1&q=a", body={"meta": {"next": "c2"}})
    assert asked == ["http://h/l?cursor=c2&q=a"]


@pytest.mark.parametrize("body", [{"meta": {"next": None}}, {"meta": {"next": ""}}, {"meta": {}}, {}, [1], 3])
def test_a_list_ends_where_no_cursor_is_given(body: Any) -> None:
    assert hrefs(QUERY_CURSOR, body=body) == []
    assert hrefs(CursorPagination("meta.next", "c", "body"), body=body) == []


def test_the_same_cursor_twice_in_a_row_ends_the_list() -> None:
    assert hrefs(QUERY_CURSOR, "http://h/l?cursor=c%2F1", body={"meta": {"next": "c/1"}}) == []
    request = make_request("http://h/l", extras=Extras("POST", (), b'{"c":"x"}'))
    assert links(CursorPagination("n", "c", "body"), "http://h/l", request=request, body={"n": "x"}) == []


def test_a_cursor_goes_into_the_body_and_the_rest_of_the_request_stays() -> None:
    extras = Extras("POST", (("X-Key", "k"),), b'{"query":"q","variables":{"first":2}}', {"shop": 1})
    request = make_request("http://h/graphql", page="list", priority=4, depth=2, extras=extras)
    body = {"data": {"end": "c2"}}
    (link,) = links(
        CursorPagination("data.end", "variables.after", "body"), request.url, request=request, body=body
    )
    assert (link.href, link.page, link.priority, link.is_pagination) == (request.url, "list", 4, True)
    assert link.extras == Extras(
        "POST",
        (("X-Key", "k"), ("Content-Type", "application/json")),
        b'{"query":"q","variables":{"first":2,"after":"c2"}}',
        {"shop": 1},
    )


def test_a_cursor_for_the_body_of_a_request_without_one_makes_a_post() -> None:
    (link,) = links(CursorPagination("n", "c", "body"), body={"n": 2})
    assert (link.extras.method, link.extras.body) == ("POST", b'{"c":2}')


def test_a_body_that_cannot_take_the_cursor_is_told() -> None:
    request = make_request("http://h/l", extras=Extras("POST", (), b"[1]"))
    with pytest.raises(NotReadable, match=r"'a\.b'"):
        links(CursorPagination("n", "a.b", "body"), "http://h/l", request=request, body={"n": 2})


def test_a_cursor_on_a_page_that_is_not_json_is_told() -> None:
    page = Page(ENTRY, 200, {"content-type": "text/html"}, b"<p>", "utf-8", 0.0)
    request = make_request(ENTRY)
    plan = PagePlan("default", pagination=QUERY_CURSOR)
    with pytest.raises(NotReadable):
        next_links(plan, page, request, Document(page, request), 1)


def test_a_cursor_whose_function_does_not_fit_the_answer_ends_the_list() -> None:
    assert links(CursorPagination("sort(n)", "c"), body={"n": 5}) == []


@pytest.mark.parametrize(("expr", "what"), [("meta.", "position 5"), ("nex(a)", "there is no function nex")])
def test_a_cursor_that_is_no_expression_is_refused_with_its_place(expr: str, what: str) -> None:
    with pytest.raises(TaskInvalid) as caught:
        compile_pages({"l": PagePlan("l", pagination=CursorPagination(expr, "c"))}, TrapGuards())
    (problem,) = caught.value.problems
    assert problem.path == "pages.l.pagination.expr"
    assert what in problem.message


def test_after_a_redirect_the_landing_page_goes_on_but_a_body_stays_where_it_was_sent() -> None:
    page = Page("http://h/new?q=a", 200, {}, b"{}", "utf-8", 0.0, hops=(ENTRY,))
    plan = PagePlan("default", pagination=PageParamPagination("page"))
    for extras, url in ((Extras(), page.url), (Extras("POST", (), b"x"), ENTRY)):
        request = make_request(ENTRY, extras=extras)
        (link,) = next_links(plan, page, request, Document(page, request), 1)
        assert link.href == f"{url}&page=2"


@pytest.mark.parametrize(
    ("header", "target"),
    [
        ('<http://h/?p=2>; rel="next"', "http://h/?p=2"),
        ("<a>; rel=prev, <b>; rel=next, <c>; rel=last", "b"),
        ('<a>; rel="last NEXT start"', "a"),
        ('<a>; title="x, <b>; rel=next"; rel=prev, <c>;REL=next', "c"),
        ('<a>; title="\\"<"; rel=next', "a"),
        ("<a>; rel=next; anchor='#x', <b>;rel=next", "b"),
        ("<a>; rel=prev; rel=next", None),
        ("rubbish, <b> ; rel = next", "b"),
        ("<a>;;; foo; rel=next", "a"),
        ("<a>; rel=nextish", None),
        ("", None),
        ("<a", None),
    ],
)
def test_the_link_header_is_read_as_the_rfc_has_it(header: str, target: str | None) -> None:
    assert find_next_target(header) == target


@pytest.mark.parametrize("part", ["<", '"', "<a>;", ";", ",", '<a>; rel="', "\\"])
def test_a_hostile_link_header_costs_little(part: str) -> None:
    assert find_next_target(part * 1_000_000) is None


def test_the_target_of_a_link_header_is_relative_to_the_page_and_not_to_its_base() -> None:
    headers = {"link": "<?page=2>; rel=next"}
    assert hrefs(HeaderLinkPagination(), "http://h/api/l?page=1", headers=headers) == [
        "http://h/api/l?page=2"
    ]
    assert hrefs(HeaderLinkPagination(), headers={"link": "<http://[>; rel=next"}) == []
    assert hrefs(HeaderLinkPagination()) == []
