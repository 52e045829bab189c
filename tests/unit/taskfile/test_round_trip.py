"""Any valid task, written out and read again, is the same plan."""

from __future__ import annotations

import json
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task, read_document
from smartspider.taskfile.schema import task_schema

VALIDATOR = Draft202012Validator(task_schema())

plain_text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
words = st.text("abcdefg", min_size=1, max_size=6)
selectors = st.sampled_from([".a", "h1::text", "a::attr(href)", "> li", "type", "expr", "css"])
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | plain_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain_text, inner, max_size=3),
    max_leaves=5,
)
urls = st.builds(
    "{}://{}.com{}/{}?{}".format,
    st.sampled_from(["http", "https"]),
    words,
    st.sampled_from(["", ":8080"]),
    words,
    words,
)
patterns = st.lists(st.sampled_from(["/a/", r"\d+$", "^https"]), max_size=2)
priorities = st.integers(-9, 9)


def optional(
    given_keys: dict[str, Any], /, **keys: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(given_keys, optional=keys)


common: dict[str, st.SearchStrategy[Any]] = {
    "many": st.booleans(),
    "default": json_values,
    "required": st.booleans(),
    "attr": st.sampled_from([None, "href"]),
    "join": st.none() | plain_text,
    "text": st.sampled_from(["raw", "clean"]),
}
one_rule = st.one_of(
    optional({"expr": selectors}, type=st.just("css"), **common),
    optional({"type": st.just("const"), "expr": json_values}, **common),
    optional({"type": st.just("meta"), "expr": st.sampled_from(["url", "depth"])}, **common),
)
field_names = words | st.sampled_from(["type", "text", "expr", "items", "名"])
field_rules = st.recursive(
    selectors | one_rule,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(words | st.just("名"), inner, min_size=1, max_size=3)
        | st.fixed_dictionaries({"type": st.sampled_from([".kind", ".k2"]), "text": inner})
    ),
    max_leaves=5,
)
headers = st.dictionaries(st.sampled_from(["X-A", "X-B", "User-Agent"]), words, max_size=2)
page_names = st.sampled_from(["list", "detail", "名"])


@st.composite
def tasks(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(page_names, unique=True, max_size=2))
    targets = st.sampled_from(["default", *names])
    follow = st.lists(
        optional(
            {"selector": selectors},
            to=targets,
            allow=patterns,
            deny=patterns,
            priority=priorities,
            max_depth=st.none() | st.integers(0, 9),
        ),
        max_size=2,
    )
    page = {
        "selectors": optional(
            {},
            items=selectors | optional({"expr": selectors}, type=st.just("css")),
            fields=st.dictionaries(field_names, field_rules, max_size=3),
        ),
        "follow": follow,
        "pagination": st.none() | optional({"type": st.just("next_link"), "selector": selectors}),
    }
    entries = st.one_of(
        urls,
        optional(
            {"url": urls},
            method=st.sampled_from([None, "GET", "POST"]),
            headers=headers,
            body=st.none()
            | plain_text
            | st.lists(json_values, max_size=2)
            | st.dictionaries(words, json_values, max_size=2),
            priority=priorities,
            meta=st.dictionaries(plain_text, json_values, max_size=2),
        ),
    )
    sections = {
        "scope": optional(
            {},
            domains=st.lists(st.sampled_from(["a.com", "Ä.org"]), max_size=2),
            allow=patterns,
            deny=patterns,
            max_depth=st.none() | st.integers(0, 5),
            same_host=st.booleans(),
        ),
        "fetch": optional(
            {}, headers=headers, timeout_s=st.integers(1, 9) | st.floats(0.5, 9), max_bytes=st.integers(1, 9)
        ),
        "politeness": optional(
            {},
            robots=st.sampled_from(["obey", "ignore"]),
            delay_s=st.floats(0, 9) | st.integers(0, 3),
            rate_per_s=st.none() | st.floats(0.1, 9),
            per_host=st.integers(1, 9),
            adaptive=st.booleans(),
        ),
        "limits": optional(
            {}, max_pages=st.none() | st.integers(1, 9), max_depth=st.none() | st.integers(0, 9)
        ),
        "retry": optional(
            {}, max_attempts=st.integers(1, 9), on_status=st.lists(st.integers(400, 599), max_size=3)
        ),
        "dedup": optional(
            {},
            ignore_params=st.lists(words, max_size=2),
            drop_tracking=st.booleans(),
            drop_session_ids=st.booleans(),
        ),
        "alerts": st.none()
        | optional({}, consecutive_failures=st.none() | st.integers(1, 9), failure_rate=st.floats(0.1, 1)),
        "concurrency": st.integers(1, 99),
        "priority": st.integers(0, 9),
        "schedule": st.none(),
    }
    task: dict[str, Any] = draw(
        optional({"name": words, "entry_urls": st.lists(entries, min_size=1, max_size=3)}, **page, **sections)
    )
    # Entries are of page type `default`, which has to take something where there are other page types.
    task.setdefault("selectors", {"items": "li"})
    task["selectors"].setdefault("items", "li")
    task["pages"] = {name: draw(optional({}, **page)) for name in names}
    return task


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(task=tasks())
def test_any_valid_task_written_and_read_again_is_the_same_plan(task: dict[str, Any]) -> None:
    VALIDATOR.validate(task)
    parsed = parse_task(task)
    plan = compile_task(parsed)
    assert compile_task(parse_task(json.loads(plan.spec))) == plan
    assert compile_task(parse_task(parsed.as_written())) == plan
    assert compile_task(parse_task(read_document(json.dumps(task), "t.json"))) == plan
    assert compile_task(parse_task(read_document(yaml.safe_dump(task, sort_keys=False), "t.yaml"))) == plan
    VALIDATOR.validate(json.loads(plan.spec))
