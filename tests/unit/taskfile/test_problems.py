"""Typical mistakes: where the problem is said to be, why, and what to try."""

from __future__ import annotations

from typing import Any

import pytest

from smartspider.core.errors import Problem, TaskInvalid
from smartspider.taskfile.load import parse_task

PROXY = "`smartspider proxy add URL --pool NAME` and fetch.proxy_pool, or SMARTSPIDER_PROXY for all requests"
COOKIE = "`smartspider cookie upload --domain DOMAIN FILE` stores a login, and use_cookie sends it"
MISTAKES: list[tuple[dict[str, Any], str, str, str]] = [
    ({"concurency": 3}, "concurency", "unknown key 'concurency'", "did you mean 'concurrency'?"),
    ({"useCookie": True}, "useCookie", "unknown key 'useCookie'", "did you mean 'use_cookie'?"),
    ({"start_urls": []}, "start_urls", "unknown key 'start_urls'", "did you mean 'entry_urls'?"),
    ({"fields": {}}, "fields", "unknown key 'fields'", "'fields' belongs in 'selectors.fields'"),
    ({"max_pages": 3}, "max_pages", "unknown key 'max_pages'", "'max_pages' belongs in 'limits.max_pages'"),
    (
        {"allow": []},
        "allow",
        "unknown key 'allow'",
        "'allow' belongs in 'follow[].allow' or 'scope.allow' or 'sitemaps[].allow'",
    ),
    (
        {"type": "css"},
        "type",
        "unknown key 'type'",
        "'type' belongs in 'follow[].type' or 'pagination.type'",
    ),
    ({"delay": 1}, "delay", "unknown key 'delay'", "did you mean 'politeness.delay_s'?"),
    ({"proxy": "p"}, "proxy", "unknown key 'proxy'", PROXY),
    ({"fetch": {"proxy": "http://p"}}, "fetch.proxy", "unknown key 'proxy'", PROXY),
    ({"cookies": "a=b"}, "cookies", "unknown key 'cookies'", COOKIE),
    (
        {"politeness": {"robots": "obey", "qqq": 1}},
        "politeness.qqq",
        "unknown key 'qqq'",
        "known keys here: robots, delay_s, rate_per_s, per_host, per_domain, adaptive",
    ),
    (
        {"pages": {"list": {"fields": {"a": ".a"}}}},
        "pages.list.fields",
        "unknown key 'fields'",
        "'fields' belongs in 'pages.list.selectors.fields'",
    ),
    (
        {"pages": {"selectors": {"selectors": {"feilds": {}}}}},
        "pages.selectors.selectors.feilds",
        "unknown key 'feilds'",
        "did you mean 'fields'?",
    ),
    (
        {"selectors": {"author": ".a"}},
        "selectors.author",
        "unknown key 'author'",
        "a field belongs in 'selectors.fields'",
    ),
    (
        {"selectors": {"fields": {"price": {"type": "css", "exp": ".p"}}}},
        "selectors.fields.price.exp",
        "unknown key 'exp'",
        "did you mean 'expr'?",
    ),
    (
        {"selectors": {"fields": {"price": {"expr": ".p", "nany": True}}}},
        "selectors.fields.price.nany",
        "unknown key 'nany'",
        "did you mean 'many'?",
    ),
    (
        {"selectors": {"fields": {"price": {"type": "ccs", "expr": ".p"}}}},
        "selectors.fields.price.type",
        '"ccs" is not one of css, xpath, jmespath, regex, const, meta, json_ld, microdata, opengraph, state, '
        "feed, article, product, list, tables, links, markdown",
        "did you mean 'css'?",
    ),
    (
        {"selectors": {"fields": {"price": {"type": "css"}}}},
        "selectors.fields.price.expr",
        "the key 'expr' is missing",
        "The selector or expression; for `const` the value itself, for `meta` the key.",
    ),
    (
        {"selectors": {"fields": {"price": {"selector": ".p", "many": True}}}},
        "selectors.fields.price.many",
        "true is not a rule: a CSS selector, a rule object, a list or an object of rules",
        "an object without 'expr' is read as a nested item; a rule needs 'expr'",
    ),
    (
        {"selectors": {"fields": {"a": {"b": [".c", {"d": 5}]}}}},
        "selectors.fields.a.b[1].d",
        "5 is not a rule: a CSS selector, a rule object, a list or an object of rules",
        "",
    ),
    (
        {"selectors": {"fields": {"a": [".b", {"type": "regex", "expr": "("}]}}},
        "selectors.fields.a[1].expr",
        '"(" is not a regular expression: missing ), unterminated subpattern at position 0',
        "Python's syntax; a literal dot is \\.",
    ),
    ({"entry_urls": []}, "entry_urls", "[] is empty", ""),
    (
        {"entry_urls": ["http://a/", "b.com/x"]},
        "entry_urls[1]",
        '"b.com/x" is not an http(s) URL',
        "write https://b.com/x",
    ),
    (
        {"entry_urls": [{"urll": "http://a/"}]},
        "entry_urls[0].urll",
        "unknown key 'urll'",
        "did you mean 'url'?",
    ),
    ({"entry_urls": [7]}, "entry_urls[0]", "7 is not a URL or an object with 'url', 'urls' or 'file'", ""),
    (
        {"entry_urls": ["x" * 100]},
        "entry_urls[0]",
        '"' + "x" * 58 + "… is not an http(s) URL",
        "write https://" + "x" * 100,
    ),
    ({"concurrency": "10"}, "concurrency", '"10" is not a whole number', "write 10 without quotes"),
    ({"concurrency": True}, "concurrency", "true is not a whole number", ""),
    ({"concurrency": 2.0}, "concurrency", "2.0 is not a whole number", "write 2"),
    ({"use_cookie": "yes"}, "use_cookie", '"yes" is not true or false', "write true without quotes"),
    ({"account_pool": 3}, "account_pool", "3 is not text", 'put it in quotes: "3"'),
    ({"scope": {"allow": "/a/"}}, "scope.allow", '"/a/" is not a list', 'put it in a list: ["/a/"]'),
    ({"scope": None}, "scope", "null is not an object", "remove the key to use its default"),
    (
        {"politeness": {"delay_s": "1e-1"}},
        "politeness.delay_s",
        '"1e-1" is not a number',
        "write 0.1 without quotes",
    ),
    ({"politeness": {"delay_s": -1}}, "politeness.delay_s", "-1 is below 0", ""),
    ({"fetch": {"timeout_s": 0}}, "fetch.timeout_s", "0 is not above 0", ""),
    ({"limits": {"max_pages": 0}}, "limits.max_pages", "0 is below 1", ""),
    ({"retry": {"on_status": [600]}}, "retry.on_status[0]", "600 is above 599", ""),
    ({"name": "a" * 101}, "name", '"' + "a" * 58 + "… is longer than 100 characters", ""),
    (
        {"fetch": {"mode": "brwser"}},
        "fetch.mode",
        '"brwser" is not one of http, browser, impersonate',
        "did you mean 'browser'?",
    ),
    (
        {"fetch": {"headers": {"a b": "c"}}},
        "fetch.headers.a b",
        '"a b" is not a header name',
        "letters, digits and '-'",
    ),
    (
        {"pagination": {"type": "nextlink", "selector": "a"}},
        "pagination.type",
        '"nextlink" is not one of next_link, page_param, offset, cursor, scroll, header_link',
        "did you mean 'next_link'?",
    ),
    (
        {"pagination": {"selector": "a"}},
        "pagination.type",
        "the key 'type' is missing",
        "one of next_link, page_param, offset, cursor, scroll, header_link",
    ),
    (
        {"pagination": {"type": "next_link", "next_link": "a", "selector": "a"}},
        "pagination.next_link",
        "unknown key 'next_link'",
        "known keys here: stop_when, type, selector, language",
    ),
    (
        {"pagination": {"type": "page_param", "param": "p", "start": 5, "stop": 4}},
        "pagination.stop",
        "4 is below start (5)",
        "stop is the last page number to request",
    ),
    (
        {"schedule": "0 6 * *"},
        "schedule",
        '"0 6 * *" has 4 fields',
        "cron takes 5 (or 6 with seconds), like '0 6 * * *'",
    ),
    (
        {"scope": {"domains": ["*.a.com"]}},
        "scope.domains[0]",
        '"*.a.com" starts with a dot or a star',
        "write 'a.com': subdomains are included",
    ),
    (
        {"scope": {"domains": ["https://a.com/"]}},
        "scope.domains[0]",
        '"https://a.com/" is not a host name',
        "write 'a.com'",
    ),
    (
        {"follow": [{"selector": "a", "to": "detial"}], "pages": {"detail": {}}},
        "follow[0].to",
        "there is no page type 'detial'",
        "did you mean 'detail'?",
    ),
    (
        {"selectors": {"fields": {"a": "b"}}, "pages": {"x": {"follow": [{"selector": "a", "to": "qq"}]}}},
        "pages.x.follow[0].to",
        "there is no page type 'qq'",
        "known: default, x",
    ),
    (
        {"entry_urls": [{"url": "http://a/", "page": "lst"}], "pages": {"list": {}}},
        "entry_urls[0].page",
        "there is no page type 'lst'",
        "did you mean 'list'?",
    ),
    (
        {"pages": {"list": {"selectors": {"fields": {"a": "b"}}}}},
        "entry_urls[0]",
        "the entry has page type 'default', which extracts and follows nothing",
        "write it as {url, page}; page types: list",
    ),
    (
        {"selectors": {"fields": {"a": "b"}}, "pages": {"default": {}}},
        "pages.default",
        "the page type 'default' is defined twice: here and by the top-level keys",
        "keep the top-level selectors, follow and pagination, or this",
    ),
    (
        {"selectors": {"fields": {"title": "b"}}, "dedup": {"items": ["titel"]}},
        "dedup.items[0]",
        "there is no field 'titel'",
        "did you mean 'title'?",
    ),
    ({"alerts": {"empty_fields": ["x"]}}, "alerts.empty_fields[0]", "there is no field 'x'", ""),
    (
        {"selectors": {"items": {"type": "const", "expr": 1}}},
        "selectors.items",
        "a const rule matches no elements",
        "remove items: the page is one item",
    ),
]


def problems(task: object) -> list[tuple[str, str, str]]:
    with pytest.raises(TaskInvalid) as caught:
        parse_task(task)
    return [(problem.path, problem.message, problem.hint) for problem in caught.value.problems]


@pytest.mark.parametrize(("change", "path", "message", "hint"), MISTAKES, ids=[case[1] for case in MISTAKES])
def test_a_mistake_is_one_problem_with_path_reason_and_hint(
    small: dict[str, Any], change: dict[str, Any], path: str, message: str, hint: str
) -> None:
    assert problems({**small, **change}) == [(path, message, hint)]


def test_a_misspelt_required_key_is_not_missing_as_well() -> None:
    assert problems({"name": "a", "entry_url": ["http://a/"]}) == [
        ("entry_url", "unknown key 'entry_url'", "did you mean 'entry_urls'?")
    ]


def test_a_required_key_that_is_nowhere_is_missing() -> None:
    assert [path for path, _, _ in problems({"zzz": 1})] == ["name", "entry_urls", "zzz"]


def test_all_mistakes_are_told_at_once(small: dict[str, Any]) -> None:
    found = problems({**small, "concurrency": 0, "limits": {"max_pages": "1"}, "sinkz": []})
    assert [path for path, _, _ in found] == ["limits.max_pages", "concurrency", "sinkz"]


def test_the_error_itself_names_the_first_problem_and_counts_the_rest(small: dict[str, Any]) -> None:
    with pytest.raises(TaskInvalid) as caught:
        parse_task({**small, "concurrency": 0, "sinkz": []})
    assert caught.value.message == "the task is not valid: concurrency: 0 is below 1 (and 1 more)"
    assert all(isinstance(problem, Problem) for problem in caught.value.problems)


@pytest.mark.parametrize("document", [[], "a", 3, None, True])
def test_a_task_that_is_no_object_is_refused(document: object) -> None:
    assert [path for path, _, _ in problems(document)] == [""]


def test_a_field_with_the_name_of_a_form_keeps_its_place_in_the_path(small: dict[str, Any]) -> None:
    fields = {"rule": {"nested": {"list": 3}}}
    assert problems({**small, "selectors": {"fields": fields}})[0][0] == "selectors.fields.rule.nested.list"


def test_a_file_of_nonsense_is_answered_quickly_and_not_at_length(small: dict[str, Any]) -> None:
    nonsense = {f"{'x' * 200}{number}": number for number in range(5000)}
    found = problems({**small, **nonsense})
    assert len(found) == 100
    assert max(len(message) for _, message, _ in found) < 100
