"""Every key of the task file: a value it takes and values it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from smartspider.core.errors import TaskInvalid
from smartspider.taskfile.load import parse_task
from smartspider.taskfile.model.task import Task
from smartspider.taskfile.schema import task_schema

Path = tuple[str | int, ...]

CASES: list[tuple[str, list[Any], list[Any]]] = [
    (
        "name",
        ["a", "比价-1", "a.b_c", "é" * 100, "हिन्दी"],
        ["", ".a", "a/b", "a b", "a" * 101, "比" * 100, 3, None],
    ),
    (
        "entry_urls",
        [["http://a/"], ["HTTPS://A.b/x?y#z"]],
        [[], "http://a/", None, [None], ["//a/"], ["http://"]],
    ),
    ("entry_urls[].url", ["http://127.0.0.1:8800/"], ["a.com", "javascript:1", "ftp://a/", 1]),
    ("entry_urls[].method", ["POST", "GET", None], ["post", "FETCH", 1]),
    (
        "entry_urls[].headers",
        [{"A-b": "c"}, {}],
        [{"a b": "c"}, {"a": "b\r\nc"}, {"a": 1}, {"A": "1", "a": "2"}, []],
    ),
    ("entry_urls[].body", ["q=1", {"a": [1]}, [1, None], None], [1, True]),
    ("entry_urls[].graphql", [{"query": "{ a }"}, None], ["{ a }", {}, {"query": ""}]),
    ("entry_urls[].graphql.query", ["{ a }"], ["", None]),
    ("entry_urls[].graphql.variables", [{"a": [1]}], [[], None]),
    ("entry_urls[].graphql.operation", ["Q", None], ["", 1]),
    (
        "entry_urls[].each",
        [{}, {"v": ["a", 1, 1.5]}, {"v": {"from": 1, "to": 2}}],
        [[], {"": [1]}, {"v": []}, {"v": 1}, {"v": [None]}, {"v": {"from": 1}}],
    ),
    ("entry_urls[].each.v.from", [0, -1], ["1", 1.5, None]),
    ("entry_urls[].each.v.to", [5], ["1", None]),
    ("entry_urls[].each.v.step", [1, 2], [0, None]),
    ("entry_urls[].priority", [-5, 0, 9], ["1", True, 1.0, None, 10**9]),
    ("entry_urls[].page", ["default"], ["", 1, None]),
    ("entry_urls[].meta", [{"a": {"b": None}}], [[], "a"]),
    ("entry_urls[].urls", [["http://a/{b}", "http://a/2"]], [[], "http://a/", ["a.com"], None]),
    ("entry_urls[].values", [{"v": ["a"]}, {"v": [1]}], [{"v": []}, {"v": ["a", "b"]}, {"v": [None]}, []]),
    ("entry_urls[].file", [], ["urls.txt", "-", "", 1, None]),
    ("entry_urls[].column", [], ["", 1]),
    ("description", ["", "Prices, 每天", None], [1, []]),
    ("$schema", ["https://example.com/schema.json", None], [1, {}]),
    (
        "selectors.items",
        [".a", {"expr": ".a"}, [".a", {"type": "xpath", "expr": "//a"}], None],
        ["", 1, [], {}, [[".a"]]],
    ),
    ("selectors.fields", [{"a": ".b"}, {}], [[], ".a", None, {"": ".a"}]),
    (
        "selectors.fields.NAME.type",
        ["css", "xpath", "jmespath", "regex", "const", "meta"],
        ["CSS", "", 1, None],
    ),
    ("selectors.fields.NAME.expr", [".a"], ["", " ", 1, None]),
    ("selectors.fields.NAME.in", ["script", None], ["", 1]),
    ("selectors.fields.NAME.fields", [{"a": ".b"}, {}], [[], {"a": 1}]),
    ("selectors.fields.NAME.many", [True], ["yes", 1, None]),
    ("selectors.fields.NAME.default", [None, 0, "", [], {"a": 1}], []),
    ("selectors.fields.NAME.required", [True], [0, "true"]),
    ("selectors.fields.NAME.attr", ["href", None], ["", 1]),
    ("selectors.fields.NAME.join", ["", ", ", None], [1, []]),
    ("selectors.fields.NAME.text", ["raw", "clean"], ["Raw", True, None]),
    (
        "selectors.fields.NAME.steps",
        [["trim", {"use": "split", "sep": ","}], []],
        ["trim", [""], [1], [{}], None],
    ),
    ("follow", [[]], [{}, "a", None]),
    ("follow[].selector", ["a", "a::attr(data-href)"], ["", None, 1]),
    ("follow[].type", ["xpath", "jmespath", "regex"], ["const", "meta", "link"]),
    ("follow[].to", ["default", None], ["", 1]),
    ("follow[].allow", [["/a/", r"\d+"]], ["/a/", ["("], [""], [1]]),
    ("follow[].deny", [["x"]], ["x", ["*"], None]),
    ("follow[].priority", [1, -1], ["1", None]),
    ("follow[].max_depth", [0, 3, None], [-1, "1", True]),
    ("follow[].carry", [[], ["title"]], ["title", [""], ["nothing"]]),
    ("follow[].request", [{}, None], ["/a", []]),
    ("follow[].request.url", ["/x/{value}?t={title}", None], ["", 1, "/{titel}"]),
    ("follow[].request.method", ["POST", None], ["post"]),
    ("follow[].request.headers", [{"A": "{value}"}], [{"a b": "c"}, None]),
    ("follow[].request.body", ["q={value}", {"a": "{value}"}, None], [1]),
    ("pagination.stop_when.empty", [True, False], ["yes", None]),
    ("pagination.stop_when.seen", [False], [True, "yes", None]),
    ("pagination.stop_when.older_than", [{"field": "title", "than": "7d"}, None], ["7d", 1]),
    ("pagination.stop_when.older_than.field", ["title"], ["", "nothing"]),
    ("pagination.stop_when.older_than.than", ["7d", "2026-01-31"], ["soon", 7]),
    ("emit", [False], ["no", None]),
    ("variables", [{}, {"a": "b", "n": 1, "x": 1.5}], [[], {"": 1}, {"a": None}, {"a": []}]),
    ("pages", [{}, {"a": {}}], [[], {"": {}}, {"a": None}]),
    ("pages.NAME.selectors", [{"fields": {"a": "b"}}], [".a", None]),
    ("pages.NAME.follow", [[{"selector": "a"}]], [{"selector": "a"}, None]),
    (
        "pages.NAME.pagination",
        [{"type": "scroll"}, {"type": "header_link"}, None],
        ["scroll", {"type": "click"}, {}],
    ),
    ("pages.NAME.emit", [False], ["no", None]),
    ("pages.NAME.fetch", [{"timeout_s": 1}], ["http", None]),
    ("pages.NAME.fetch.mode", ["http", "browser", None], ["chrome"]),
    ("pages.NAME.fetch.method", ["POST", None], ["get"]),
    ("pages.NAME.fetch.headers", [{"Accept": "a"}], [{"a:": "b"}, None]),
    ("pages.NAME.fetch.timeout_s", [1, 0.5, None], [0, "30"]),
    ("pages.NAME.fetch.max_bytes", [1, None], [0, "20MB"]),
    ("pages.NAME.fetch.user_agents", [["a/1"]], ["a/1", None]),
    ("pages.NAME.fetch.proxy_pool", ["p", None], [""]),
    ("pages.NAME.fetch.wait_for", [".a", None], [""]),
    ("pages.NAME.fetch.actions", [[{"click": ".a"}]], [{}]),
    (
        "scope.domains",
        [["example.com", "MÜNCHEN.de", "127.0.0.1", "[::1]"]],
        ["a.com", ["*.a.com"], [".a"], ["http://a/"], ["a:80"], ["a/b"]],
    ),
    ("scope.allow", [["^https"]], [["["], "a"]),
    ("scope.deny", [["a{2}"]], [["(?P<a"], 1]),
    ("scope.max_depth", [0, None], [-1, 1.5]),
    ("scope.same_host", [True], ["yes", None]),
    ("sitemaps", [True, False, ["https://a/s.xml"]], [[], "https://a/s.xml", ["s.xml"], None]),
    ("sitemaps[].url", ["https://a/s.xml"], ["s.xml", 1]),
    ("sitemaps[].page", ["default"], ["", "nothing"]),
    ("sitemaps[].allow", [["/a/"]], ["/a/", ["("]]),
    ("sitemaps[].deny", [["x"]], [["*"], None]),
    ("sitemaps[].newer_than", ["7d", "2026-01-31", None], ["soon", "", 7]),
    ("fetch.mode", ["http", "browser", "impersonate"], ["chrome", None]),
    ("fetch.method", ["POST"], ["get", None]),
    ("fetch.headers", [{"Accept": "a"}], [{"a:": "b"}, None]),
    (
        "fetch.send_secrets_to",
        [["https://api.example.com", "http://h:8080/"]],
        [["api.example.com"], ["https://h/path"], ["https://a@h"], ["https://h?x"], "https://h"],
    ),
    ("fetch.cookies", [True, False], [0, "yes", None]),
    ("fetch.timeout_s", [1, 0.5], [0, -1, "30", True, None]),
    ("fetch.max_bytes", [1], [0, 1.5, "20MB"]),
    ("fetch.user_agents", [["a/1"]], ["a/1", [""], ["a\nb"]]),
    ("fetch.proxy_pool", ["p", None], ["", 1]),
    ("fetch.wait_for", [".a", None], ["", 1]),
    ("fetch.actions", [[{"click": ".a"}]], [{}, [{}], ["click"]]),
    ("politeness.robots", ["obey", "ignore"], ["yes", True, None]),
    ("politeness.delay_s", [0, 0.05, 10], [-0.1, "1", True, None, 10**6]),
    ("politeness.rate_per_s", [0.5, 10, None], [0, -1, "1"]),
    ("politeness.per_host", [1], [0, True, 1.5]),
    ("politeness.per_domain", [1, None], [0, "1"]),
    ("politeness.adaptive", [False], [0, "no"]),
    ("limits.max_pages", [1, None], [0, -1, "10", True]),
    ("limits.max_items", [1, None], [0, 1.0]),
    ("limits.max_depth", [0, None], [-1, "0"]),
    ("limits.max_duration_s", [0.5, 60, None], [0, "1h"]),
    ("limits.max_errors", [1, None], [0, "1"]),
    ("traps.max_url_length", [16, 4096], [15, None, "1"]),
    ("traps.max_path_segments", [1, 64], [0, None]),
    ("traps.max_repeats", [1, 9], [0, 1.5]),
    ("traps.max_urls_per_host", [1, None], [0, "1"]),
    ("traps.max_links_per_page", [1, 1_000_000], [0, 1_000_001]),
    ("retry.max_attempts", [1], [0, 101, None]),
    ("retry.backoff_s", [0, 1.5], [-1, None]),
    ("retry.max_backoff_s", [0, 10], [-1, "5m"]),
    ("retry.on_status", [[], [429, 503]], [429, [42], ["500"], [600]]),
    ("dedup.urls", ["exact", "bloom"], ["none", None]),
    ("dedup.window", ["7d", "30m", None], ["7", "d", "0d", "7 d", 7]),
    ("dedup.items", ["content", None], ["contents", [], [""], True]),
    ("dedup.scope", ["run", "task"], ["all"]),
    ("dedup.keep", ["first", "last"], ["both"]),
    ("dedup.update", [[]], ["likes", [""], ["likes"]]),
    ("dedup.ignore_params", [["sid"]], ["sid", [""], ["a=b"]]),
    ("dedup.drop_tracking", [False], ["no", None]),
    ("dedup.drop_session_ids", [False], ["no", None]),
    ("recrawl.conditional", [True, False], ["yes", None]),
    ("recrawl.adaptive", [True, False, {}], ["yes", 1]),
    ("recrawl.adaptive.min", ["30m"], ["soon", 5]),
    ("recrawl.adaptive.max", ["90d"], ["never", 5]),
    ("cleaning_log", [True, False], ["yes", None]),
    ("pipeline", [["trim"], [{"use": "x", "anything": [1]}]], ["trim", [1], [{"use": ""}], [{}]]),
    ("pipeline[].use", ["trim"], ["", None]),
    ("pipeline[].fields", [["a"], None], ["a", [1]]),
    ("pipeline[].enabled", [False], ["no", None]),
    ("layers", [[{"use": "x", "y": 1}]], [["x"], {"use": "x"}, [{}]]),
    ("layers[].use", ["json"], ["", 1]),
    ("layers[].pages", [["default"]], [[], "default", [""], ["other"]]),
    ("sinks", [[{"use": "x", "y": 1}]], [["x"], {"use": "x"}, [{}]]),
    ("sinks[].use", ["webhook"], ["", 1]),
    ("alerts", [{}, None], [[], True]),
    ("alerts.consecutive_failures", [1, None], [0, "5"]),
    ("alerts.failure_rate", [0.5, 1, None], [0, 1.1, "50%"]),
    ("alerts.empty_fields", [0.2, None], [True, [], 2, "a"]),
    ("alerts.action", ["pause", "notify"], ["stop", None]),
    ("archive.warc", [True, False], ["yes", None]),
    ("concurrency", [1, 100], [0, "16", True, 1.0, None]),
    ("priority", [0, 7], [-1, "high"]),
    ("use_cookie", [True], ["true", 1, None]),
    ("cookie_id", [3, "abc", None], ["", True, 1.5, []]),
    ("account_pool", ["p", None], ["", 3]),
    (
        "schedule",
        ["*/5 * * * *", "0 0 6 * * MON", "@daily", "0 6 L * *", None],
        ["daily", "@often", "* * *", "* * * * * * *", "a b c d ;", "61 * * * *", "0 0 30 2 *", 5],
    ),
    ("schedule.cron", ["0 6 * * 1-5"], ["6am", None]),
    ("schedule.every_s", [None], [0, "60", 1e12, 60]),
    ("schedule.at", [None], ["tomorrow", 5, "2026-12-24T18:00:00"]),
    ("schedule.timezone", ["UTC", "Europe/Berlin"], ["", "a b", "Mars/Phobos", "../UTC", "Europe", 1]),
    ("schedule.misfire", ["skip", "once", "all", None], ["never"]),
    ("schedule.misfire_s", [0, 3600.5, None], [-1, "1h"]),
    ("schedule.coalesce", [True, False, None], ["no"]),
    ("schedule.overlap", [True, False, "skip", "queue", "allow", "cancel"], ["no", None, 1]),
    ("schedule.jitter_s", [0, 60], [-1, 3601, None]),
    ("schedule.retries", [0, 3], [-1, 21, 1.5, None]),
    ("schedule.retry_delay_s", [0, 60], [-1, None]),
]
PAGINATIONS: list[tuple[dict[str, Any], str, list[Any], list[Any]]] = [
    ({"type": "next_link", "selector": "a"}, "selector", ["a.next"], ["", None]),
    ({"type": "next_link", "selector": "a"}, "language", ["xpath", "jmespath", "regex"], ["const", None]),
    ({"type": "scroll"}, "stop_when", [{}, {"empty": True}], [None, []]),
    ({"type": "page_param", "param": "p"}, "param", ["page"], ["", "a=b", None]),
    ({"type": "page_param", "param": "p"}, "start", [0, 2], [-1, "1"]),
    ({"type": "page_param", "param": "p"}, "step", [1, 10], [0, None]),
    ({"type": "page_param", "param": "p", "start": 2}, "stop", [2, 4, None], [1, "4"]),
    ({"type": "offset", "param": "o", "size": 20}, "param", ["o"], [""]),
    ({"type": "offset", "param": "o", "size": 20}, "size", [1], [0, None]),
    ({"type": "offset", "param": "o", "size": 20}, "limit_param", ["limit", None], ["", 1]),
    ({"type": "offset", "param": "o", "size": 20}, "stop", [60, None], [-1]),
    ({"type": "cursor", "expr": "a", "param": "c"}, "expr", ["meta.next"], ["", None]),
    ({"type": "cursor", "expr": "a", "param": "c"}, "param", ["c"], [""]),
    ({"type": "cursor", "expr": "a", "param": "c"}, "in", ["query", "body"], ["header", None]),
]
_STUBS: dict[str, dict[str, Any]] = {
    "entry_urls[]": {"url": "https://example.com/"},
    "entry_urls[].graphql": {"query": "{ a }"},
    "entry_urls[].each.v": {"from": 1, "to": 5},
    "pagination": {"type": "header_link"},
    "pagination.stop_when.older_than": {"field": "title", "than": "1d"},
    "sitemaps[]": {"url": "https://example.com/s.xml"},
    "selectors.fields.NAME": {"expr": ".a"},
    "follow[]": {"selector": "a"},
    "pipeline[]": {"use": "trim"},
    "layers[]": {"use": "x"},
    "sinks[]": {"use": "x"},
    "schedule": {"cron": "0 6 * * *"},
}
_LIST_STUBS: dict[str, dict[str, Any]] = {
    "entry_urls[].urls": {},
    "entry_urls[].values": {"urls": ["https://example.com/"]},
    "entry_urls[].file": {},
    "entry_urls[].column": {"file": "urls.csv"},
}
"""Entries that have no `url`."""


def task_with(key: str, value: Any) -> dict[str, Any]:
    """A small task with one value at a key path like `follow[].to`."""
    task: dict[str, Any] = {"name": "small", "entry_urls": ["https://example.com/"]}
    above, _, last = key.rpartition(".")
    inner: Any = {**_LIST_STUBS.get(key, _STUBS.get(above, {})), last: value}
    while above:
        above, _, name = above.rpartition(".")
        inner = {name[:-2]: [inner]} if name.endswith("[]") else {name: inner}
        inner = {**_STUBS.get(above, {}), **inner}
    if key.startswith("pages"):
        task["selectors"] = {"items": "li"}
    if key.startswith(("follow", "pagination.")):
        task["selectors"] = {"fields": {"title": "h1"}}
    if key.startswith("entry_urls[].each"):
        inner["entry_urls"][0]["url"] = "https://example.com/{v}"
    return {**task, **inner}


def shown_path(key: str) -> str:
    return key.replace("[]", "[0]")


@pytest.mark.parametrize(
    ("key", "value"),
    [(key, value) for key, good, _ in CASES for value in good],
    ids=lambda part: repr(part)[:40],
)
def test_a_key_takes_what_it_should(key: str, value: Any) -> None:
    assert isinstance(parse_task(task_with(key, value)), Task)


@pytest.mark.parametrize(
    ("key", "value"),
    [(key, value) for key, _, bad in CASES for value in bad],
    ids=lambda part: repr(part)[:40],
)
def test_a_key_refuses_what_it_should_with_one_problem_there(key: str, value: Any) -> None:
    with pytest.raises(TaskInvalid) as caught:
        parse_task(task_with(key, value))
    problems = caught.value.problems
    assert len(problems) == 1
    assert problems[0].path.startswith(shown_path(key))
    assert "\0" not in problems[0].path
    assert problems[0].message


@pytest.mark.parametrize(("stub", "key", "good", "bad"), PAGINATIONS)
def test_paginations_take_and_refuse_what_they_should(
    stub: dict[str, Any], key: str, good: list[Any], bad: list[Any]
) -> None:
    for value in good:
        parse_task(task_with("pagination", {**stub, key: value}))
    for value in bad:
        with pytest.raises(TaskInvalid) as caught:
            parse_task(task_with("pagination", {**stub, key: value}))
        assert [problem.path for problem in caught.value.problems] == [f"pagination.{key}"]


def test_every_key_of_the_schema_is_tried_here() -> None:
    schema = task_schema()
    tried = {key for key, _, _ in CASES}
    kinds = {f"pagination.{key}" for _, key, _, _ in PAGINATIONS}
    places = {
        "Task": "", "Entry": "entry_urls[].", "EntryList": "entry_urls[].", "EntryFile": "entry_urls[].",
        "PageFetch": "pages.NAME.fetch.", "Selectors": "selectors.", "Rule": "selectors.fields.NAME.",
        "Follow": "follow[].", "PageType": "pages.NAME.", "Step": "pipeline[].", "Sink": "sinks[].",
        "Layer": "layers[].", "GraphQl": "entry_urls[].graphql.", "Range": "entry_urls[].each.v.",
        "Sitemap": "sitemaps[].",
        "RequestTemplate": "follow[].request.", "Adaptive": "recrawl.adaptive.",
        "StopWhen": "pagination.stop_when.", "OlderThan": "pagination.stop_when.older_than.",
    }  # fmt: skip
    parts = {"Task": schema, **schema["$defs"]}
    sections = set(schema["properties"]) - {"selectors"}
    for name, part in parts.items():
        prefix = places.get(name, f"{name.lower()}.")
        for key in part.get("properties", {}):
            if "Kind of pagination." in str(part["properties"].get("type")):
                assert key == "type" or f"pagination.{key}" in kinds, f"{name}.{key}"
            elif not (
                name == "Task" and any(case.startswith(key) for case in tried | {"selectors", "pagination"})
            ):
                assert prefix + key in tried, f"{prefix}{key} is not tried"
    assert sections <= {case.split(".")[0].removesuffix("[]") for case in tried}


def test_an_expression_is_not_longer_than_anybody_writes_one() -> None:
    long = "a" + ", a" * 10_000
    for wrong in (
        {"selectors": {"fields": {"x": long}}},
        {"selectors": {"fields": {"x": {"type": "xpath", "expr": long}}}},
        {"follow": [{"selector": long}]},
    ):
        with pytest.raises(TaskInvalid) as caught:
            parse_task({"name": "t", "entry_urls": ["http://a.example/"], **wrong})
        assert "characters" in str(caught.value.problems[0])
