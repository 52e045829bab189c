"""Entries with templates, GraphQL and sitemaps: which requests a run begins with."""

from __future__ import annotations

import json
from typing import Any

import pytest

from smartspider.core.errors import Problem, TaskInvalid
from smartspider.core.pages.rules import FollowRequest, PagePlan, SitemapPlan
from smartspider.core.requests.request import Extras, make_request
from smartspider.core.runs.plan import Plan
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task


def plan_of(*entries: Any, **task: Any) -> Plan:
    listed = list(entries) or ["http://a.com/"]
    return compile_task(parse_task({"name": "a", "entry_urls": listed, **task}))


def urls(*entries: Any, **task: Any) -> list[str]:
    return [entry.url for entry in plan_of(*entries, **task).entries]


def problems(*entries: Any, **task: Any) -> list[tuple[str, str]]:
    with pytest.raises(TaskInvalid) as caught:
        plan_of(*entries, **task)
    return [(problem.path, problem.message) for problem in caught.value.problems]


def hints(*entries: Any, **task: Any) -> list[str]:
    with pytest.raises(TaskInvalid) as caught:
        plan_of(*entries, **task)
    return [problem.hint for problem in caught.value.problems]


def test_variables_go_into_entries_of_both_forms() -> None:
    assert urls("http://{host}/{q}?y={year}", {"url": "{base}/x"}, variables=VARIABLES) == [
        "http://a.example/a%2Fb%20c?y=2026",
        "https://b.example/r/x",
    ]


VARIABLES = {"host": "a.example", "q": "a/b c", "year": 2026, "base": "https://b.example/r"}


def test_each_makes_a_request_of_every_combination() -> None:
    entry = {
        "url": "http://a.com/{city}/{year}",
        "each": {"city": ["Köln", "Paris"], "year": {"from": 2020, "to": 2025, "step": 3}},
    }
    assert urls(entry) == [
        "http://a.com/K%C3%B6ln/2020",
        "http://a.com/K%C3%B6ln/2023",
        "http://a.com/Paris/2020",
        "http://a.com/Paris/2023",
    ]


def test_values_reach_headers_body_and_meta_with_their_types() -> None:
    entry = {
        "url": "http://a.com/",
        "headers": {"X-Year": "{year}"},
        "body": {"year": "{year}", "text": "in {year}, {lang}", "keep": "{ other }"},
        "meta": {"year": "{year}", "lang": "{lang}"},
        "each": {"year": [2020, 2021]},
    }
    first, second = plan_of(entry, variables={"lang": "zh", "year": 1}).entries
    assert first.extras == Extras(
        "POST",
        (("X-Year", "2020"), ("Content-Type", "application/json")),
        b'{"year":2020,"text":"in 2020, zh","keep":"{ other }"}',
        {"year": 2020, "lang": "zh"},
    )
    assert second.extras.meta == {"year": 2021, "lang": "zh"}


def test_a_form_is_encoded_and_other_text_is_not() -> None:
    form = {
        "url": "http://a.com/",
        "headers": {"Content-Type": "application/x-www-form-urlencoded"},
        "body": "q={q}",
    }
    text = {"url": "http://a.com/", "method": "PUT", "body": "<q>{q}</q>"}
    first, second = plan_of(form, text, variables={"q": "a b"}).entries
    assert (first.extras.method, first.extras.body) == ("POST", b"q=a+b")
    assert (second.extras.method, second.extras.body) == ("PUT", b"<q>a b</q>")


def test_braces_mean_nothing_where_no_value_has_their_name() -> None:
    assert urls("http://a.com/?filter={a}&x={}") == ["http://a.com/?filter={a}&x={}"]
    assert urls("http://a.com/?x={}{{v}}", variables={"v": 1}) == ["http://a.com/?x={}{1}"]


def test_graphql_is_a_post_of_json() -> None:
    query = "query Q($after: String) { items(after: $after) { id } }"
    entry = {
        "url": "http://a.com/graphql",
        "graphql": {"query": query, "variables": {"n": "{n}", "after": None}, "operation": "Q"},
        "each": {"n": [1, 2]},
    }
    first, second = plan_of(entry).entries
    assert (first.extras.method, first.extras.headers) == ("POST", (("Content-Type", "application/json"),))
    assert json.loads(first.extras.body or b"") == {
        "query": query,
        "variables": {"n": 1, "after": None},
        "operationName": "Q",
    }
    assert first.fingerprint != second.fingerprint
    (plain,) = plan_of({"url": "http://a.com/", "graphql": {"query": "{a}"}}, variables={"a": 1}).entries
    assert plain.extras.body == b'{"query":"{a}","variables":{}}'


@pytest.mark.parametrize(
    ("entry", "more", "path", "message"),
    [
        (
            "{host}/x",
            {"variables": {"host": "a.com"}},
            "entry_urls[0]",
            '"a.com/x", made from "{host}/x", is not an http(s) URL',
        ),
        ("http://{h}/", {}, "entry_urls[0]", '"http://{h}/" has an undefined name in its host'),
        ("{h}", {}, "entry_urls[0]", '"{h}" is not an http(s) URL'),
        (
            {"url": "http://{h}:x/"},
            {"variables": {"h": "a"}},
            "entry_urls[0].url",
            '"http://a:x/", made from "http://{h}:x/", is not a URL that can be fetched',
        ),
        (
            {"url": "http://a/{yaer}", "each": {"year": [1]}},
            {},
            "entry_urls[0].each.year",
            "{year} is used neither in the URL nor in the body, so all requests would be equal",
        ),
        (
            {"url": "http://a/{n}", "each": {"n": {"from": 3, "to": 2}}},
            {},
            "entry_urls[0].each.n",
            "the range from 3 to 2 is empty",
        ),
        (
            {"url": "http://a/{x}/{y}", "each": {"x": {"from": 1, "to": 1001}, "y": {"from": 1, "to": 1000}}},
            {},
            "entry_urls[0].each",
            "the entries make 1,001,000 requests, more than 1,000,000",
        ),
        (
            {"url": "http://a/", "graphql": {"query": "q"}, "body": "b"},
            {},
            "entry_urls[0].body",
            "the entry has a body and a GraphQL query",
        ),
        (
            {"url": "http://a/", "graphql": {"query": "q"}, "method": "GET"},
            {},
            "entry_urls[0].method",
            "a GraphQL query is sent by POST, not GET",
        ),
    ],
)
def test_an_entry_that_makes_no_request_is_refused_at_its_place(
    entry: Any, more: dict[str, Any], path: str, message: str
) -> None:
    assert problems(entry, **more)[0] == (path, message)


def test_a_misspelt_variable_is_told_with_the_near_one() -> None:
    entry = {"url": "http://a/{yaer}/{year}", "each": {"year": [1]}}
    assert problems(entry) == [("entry_urls[0].url", "there is no variable 'yaer'")]
    assert hints(entry) == ["did you mean 'year'?"]


def test_a_range_of_thousands_of_millions_is_counted_without_being_made() -> None:
    entry = {"url": "http://a/{n}", "each": {"n": {"from": 1, "to": 10**15}}}
    assert "1,000,000,000,000,000 requests" in problems(entry)[0][1]


def test_a_value_far_down_the_list_that_makes_no_url_is_found_when_the_task_is_compiled() -> None:
    entry = {"url": "http://{h}/", "each": {"h": [*(f"h{n}.example" for n in range(200)), "a b"]}}
    assert problems(entry)[0][0] == "entry_urls[0].url"


# --- sitemaps ---


def test_sitemaps_of_every_origin_are_looked_for() -> None:
    plan = plan_of("http://a.com/x", "http://a.com/y", "https://b.com:8443/", sitemaps=True)
    own = [(entry.url, entry.page, entry.is_entry) for entry in plan.entries if entry.page != "default"]
    assert own == [
        ("http://a.com/robots.txt", "@robots", False),
        ("http://a.com/sitemap.xml", "@sitemap", False),
        ("https://b.com:8443/robots.txt", "@robots", False),
        ("https://b.com:8443/sitemap.xml", "@sitemap", False),
    ]
    assert plan.pages["@robots"] == PagePlan("@robots", kind="robots")
    assert plan.pages["@sitemap"] == PagePlan("@sitemap", kind="sitemap", sitemap=SitemapPlan("default"))


def test_sitemaps_of_the_task_have_filters_and_do_not_widen_the_scope() -> None:
    sitemaps = [
        "http://cdn.com/s.xml",
        {"url": "http://a.com/t.xml", "page": "p", "allow": ["/p/"], "deny": ["x"], "newer_than": "7d"},
        {"url": "http://a.com/u.xml", "newer_than": "2026-01-01"},
    ]
    plan = plan_of(
        sitemaps=sitemaps, pages={"p": {}}, selectors={"fields": {"t": "h1"}}, fetch={"max_bytes": 9}
    )
    assert [(entry.url, entry.page) for entry in plan.entries[1:]] == [
        ("http://cdn.com/s.xml", "@sitemap:0"),
        ("http://a.com/t.xml", "@sitemap:1"),
        ("http://a.com/u.xml", "@sitemap:2"),
    ]
    assert plan.pages["@sitemap:1"].sitemap == SitemapPlan("p", ("/p/",), ("x",), 604_800.0, None, 9)
    third = plan.pages["@sitemap:2"].sitemap
    assert third is not None
    assert third.newer_moment == 1_767_225_600.0
    assert plan.scope.hosts == {"a.com"}


def test_an_entry_that_is_a_sitemap_stays_an_entry() -> None:
    plan = plan_of("http://a.com/sitemap.xml", sitemaps=True)
    assert [(entry.url, entry.page) for entry in plan.entries] == [
        ("http://a.com/sitemap.xml", "default"),
        ("http://a.com/robots.txt", "@robots"),
    ]


def test_without_sitemaps_there_are_no_page_types_of_ours() -> None:
    assert list(plan_of(sitemaps=False).pages) == ["default"]


@pytest.mark.parametrize(
    ("task", "path", "message"),
    [
        ({"sitemaps": [{"url": "http://a/s", "page": "q"}]}, "sitemaps[0].page", "there is no page type 'q'"),
        ({"sitemaps": ["http://a/s", "http://a/s"]}, "sitemaps[1]", "http://a/s is listed twice"),
        (
            {"entry_urls": [{"url": "http://a/", "page": "p"}], "pages": {"p": {}}, "sitemaps": True},
            "sitemaps",
            "pages of the sitemaps have page type 'default', which extracts and follows nothing",
        ),
        (
            {
                "entry_urls": [{"url": "http://a/", "page": "p"}],
                "pages": {"p": {}},
                "sitemaps": ["http://a/s"],
            },
            "sitemaps[0]",
            "its pages have page type 'default', which extracts and follows nothing",
        ),
        (
            {"pages": {"@x": {}}},
            "entry_urls[0]",
            "the entry has page type 'default', which extracts and follows nothing",
        ),
        (
            {"follow": [{"selector": "a"}], "pages": {"@x": {}}},
            "pages.@x",
            "the name of a page type starts with '@'",
        ),
    ],
)
def test_sitemaps_that_lead_nowhere_are_refused(task: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(TaskInvalid) as caught:
        parse_task({"name": "a", "entry_urls": ["http://a/"], **task})
    assert (caught.value.problems[0].path, caught.value.problems[0].message) == (path, message)


# --- what links carry, and how lists end ---

LIST: dict[str, Any] = {"items": ".i", "fields": {"title": "h2", "date": "time"}}


def page_problems(**task: Any) -> list[Problem]:
    with pytest.raises(TaskInvalid) as caught:
        parse_task({"name": "a", "entry_urls": ["http://a/"], "selectors": LIST, **task})
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("task", "path", "message"),
    [
        (
            {"follow": [{"selector": "a", "carry": ["title", "titel"]}]},
            "follow[0].carry[1]",
            "there is no field 'titel'",
        ),
        (
            {"follow": [{"selector": "a", "request": {"url": "/x/{valeu}/{value}"}}]},
            "follow[0].request.url",
            "there is no field or variable 'valeu'",
        ),
        (
            {"pagination": {"type": "header_link", "stop_when": {"seen": True}}},
            "pagination.stop_when.seen",
            "'seen' requires that items are compared",
        ),
        (
            {
                "pagination": {"type": "header_link", "stop_when": {"seen": True}},
                "dedup": {"items": "content"},
                "emit": False,
            },
            "pagination.stop_when.seen",
            "the page type stores no items to compare",
        ),
        (
            {
                "pagination": {
                    "type": "header_link",
                    "stop_when": {"older_than": {"field": "dat", "than": "7d"}},
                }
            },
            "pagination.stop_when.older_than.field",
            "there is no field 'dat'",
        ),
    ],
)
def test_names_that_do_not_exist_are_told(task: dict[str, Any], path: str, message: str) -> None:
    (problem,) = page_problems(**task)
    assert (problem.path, problem.message) == (path, message)


@pytest.mark.parametrize("step", ["unique", {"use": "unique", "fields": ["title"]}])
def test_a_list_may_end_with_what_was_seen_where_a_step_compares_items(step: Any) -> None:
    pagination = {"type": "header_link", "stop_when": {"seen": True}}
    task = {"name": "a", "entry_urls": ["http://a/"], "selectors": LIST, "pagination": pagination}
    assert parse_task({**task, "pipeline": [step]}).pipeline


def test_fields_that_the_pipeline_makes_may_be_named() -> None:
    parse_task(
        {
            "name": "a",
            "entry_urls": ["http://a/"],
            "selectors": LIST,
            "pipeline": [
                {"use": "rename", "fields": ["date"], "to": "day"},
                {"use": "rename", "to": {"title": "name"}},
            ],
            "pagination": {
                "type": "header_link",
                "stop_when": {"older_than": {"field": "day", "than": "2026-01-01"}},
            },
            "dedup": {"items": ["name"]},
        }
    )


def test_a_template_of_follow_knows_the_variables() -> None:
    follow = {"selector": "a", "request": {"url": "/{lang}/{value}", "body": {"t": "{title}"}}}
    plan = plan_of(selectors=LIST, follow=[follow], variables={"lang": "zh"})
    assert plan.pages["default"].follow[0].request == FollowRequest(
        "/{lang}/{value}", "POST", (), {"t": "{title}"}, {"lang": "zh"}
    )


def test_pages_ask_robots_in_vain_when_the_task_says_so() -> None:
    assert plan_of().pages["default"].obeys_nofollow
    assert not plan_of(politeness={"robots": "ignore"}).pages["default"].obeys_nofollow


def test_entries_without_templates_are_as_they_were() -> None:
    (entry,) = plan_of("http://a.com/?q=1").entries
    assert entry == make_request("http://a.com/?q=1", is_entry=True)


def test_entries_that_differ_by_headers_or_meta_are_requests_of_their_own() -> None:
    url = "http://a.com/?q=1"
    entries = [
        {"url": url, "headers": {"Accept-Language": "de", "X-A": "1"}},
        {"url": url, "headers": {"Accept-Language": "en"}},
        {"url": url, "meta": {"shop": 1}},
        {"url": url, "meta": {"shop": 2}},
        {"url": url},
    ]
    same = [
        {"url": url, "headers": {"x-a": "1", "accept-language": "de"}},
        {"url": url, "meta": {"shop": 2}},
        url,
    ]
    found = plan_of(*entries, *same).entries
    assert len({one.fingerprint for one in found}) == len(found) == len(entries)
    # What pages link to, and what older data folders hold, is the same request as the first of them.
    assert found[0].fingerprint == make_request(url).fingerprint
    assert [one.extras.variant != "" for one in found] == [False, True, True, True, True]


def test_the_values_of_a_list_of_urls_tell_entries_apart() -> None:
    listed = {"urls": ["http://a.com/"] * 3, "values": {"sku": ["A", "B", "A"]}, "meta": {"sku": "{sku}"}}
    assert [one.extras.meta for one in plan_of(listed).entries] == [{"sku": "A"}, {"sku": "B"}]


def test_one_request_has_one_page_type() -> None:
    pages = {name: {"selectors": {"fields": {"a": "h1"}}} for name in ("default", "p")}
    one = {"url": "http://a.com/", "meta": {"a": 1}}
    assert len(plan_of(one, {"url": "http://a.com/", "page": "p"}, pages=pages).entries) == 2
    assert problems(one, {**one, "page": "p"}, pages=pages)[0][0] == "entry_urls[1].page"
