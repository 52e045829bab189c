"""From a task to the plan of a run."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import yaml

from smartspider.core.errors import TaskInvalid
from smartspider.core.pages.rules import FollowRule, NextLinkPagination, ValueRule
from smartspider.core.requests.politeness import PolitenessPolicy
from smartspider.core.requests.request import Extras, make_request
from smartspider.core.requests.scope import TrapGuards
from smartspider.core.requests.urls import CanonicalRules
from smartspider.core.runs.plan import FetchPlan, Guards, Plan, RetryPolicy, RunLimits
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task, read_document


def plan_of(**task: Any) -> Plan:
    return compile_task(parse_task({"name": "a", "entry_urls": ["http://a.com/"], **task}))


def test_a_small_task_gets_all_the_defaults() -> None:
    plan = plan_of()
    assert plan == Plan(
        name="a",
        spec=b'{"name":"a","entry_urls":["http://a.com/"]}',
        spec_hash=hashlib.sha256(b'{"entry_urls":["http://a.com/"],"name":"a"}').hexdigest(),
        entries=(make_request("http://a.com/", is_entry=True),),
        pages=plan.pages,
        scope=plan.scope,
    )
    assert list(plan.pages) == ["default"]
    assert plan.scope.hosts == {"a.com"}
    assert (plan.limits, plan.guards, plan.fetch) == (RunLimits(), Guards(), FetchPlan())
    assert (plan.politeness, plan.retry) == (PolitenessPolicy(), RetryPolicy())


def test_entries_are_normal_urls_with_everything_the_task_says_about_them() -> None:
    entry = {
        "url": " HTTP://Ä.com:80/b?x=1#c ",
        "method": "POST",
        "headers": {"X-A": "1"},
        "body": "ü=1",
        "priority": 3,
        "page": "p",
        "meta": {"k": [1]},
    }
    (request,) = plan_of(entry_urls=[entry], pages={"p": {}}).entries
    assert request == make_request(
        "http://xn--4ca.com/b?x=1",
        page="p",
        priority=3,
        is_entry=True,
        extras=Extras("POST", (("X-A", "1"),), "ü=1".encode(), {"k": [1]}),
    )
    assert (request.depth, request.is_entry) == (0, True)


def test_a_body_of_json_gets_its_content_type_unless_the_task_names_one() -> None:
    first, second = plan_of(
        entry_urls=[
            {"url": "http://a/", "body": {"q": "ü"}},
            {"url": "http://a/", "body": [1], "headers": {"content-type": "application/x"}},
        ],
        fetch={"method": "POST"},
    ).entries
    assert first.extras == Extras("POST", (("Content-Type", "application/json"),), '{"q":"ü"}'.encode())
    assert second.extras == Extras("POST", (("content-type", "application/x"),), b"[1]")


def test_the_same_request_is_an_entry_once() -> None:
    urls = ["http://a/?x=1&y=2", "http://a/?y=2&x=1#f", "http://a/?y=2&x=1&sid=3&utm_source=b", "http://b/"]
    plan = plan_of(entry_urls=urls, dedup={"ignore_params": ["sid"]})
    assert [entry.url for entry in plan.entries] == ["http://a/?x=1&y=2", "http://b/"]
    assert plan.canonical == CanonicalRules(frozenset({"sid"}), drop_tracking=True)


def test_tracking_parameters_count_when_the_task_says_so() -> None:
    urls = ["http://a/", "http://a/?utm_source=b"]
    assert len(plan_of(entry_urls=urls, dedup={"drop_tracking": False}).entries) == 2


def test_one_request_cannot_be_two_page_types() -> None:
    entries = ["http://a/", {"url": "http://a/#x", "page": "p"}]
    with pytest.raises(TaskInvalid) as caught:
        plan_of(entry_urls=entries, selectors={"fields": {"a": "b"}}, pages={"p": {}})
    assert caught.value.problems[0].path == "entry_urls[1].page"


def test_domains_are_lower_case_and_punycode() -> None:
    plan = plan_of(
        scope={
            "domains": ["Example.COM", "München.de", "[::1]"],
            "allow": ["a"],
            "deny": ["b"],
            "same_host": True,
        }
    )
    assert plan.scope.domains == {"example.com", "xn--mnchen-3ya.de", "[::1]"}
    assert (plan.scope.allow, plan.scope.deny, plan.scope.same_host) == (("a",), ("b",), True)


def test_scope_is_the_hosts_of_the_entries_without_ports() -> None:
    assert plan_of(entry_urls=["http://a.com:8080/", "https://B.org/"]).scope.hosts == {"a.com", "b.org"}


@pytest.mark.parametrize(
    ("scope", "limits", "depth"),
    [(None, None, None), (2, None, 2), (None, 3, 3), (2, 3, 2), (3, 2, 2), (0, 5, 0)],
)
def test_the_smaller_depth_counts(scope: int | None, limits: int | None, depth: int | None) -> None:
    assert plan_of(scope={"max_depth": scope}, limits={"max_depth": limits}).limits.max_depth == depth


def test_sections_are_carried_over() -> None:
    plan = plan_of(
        fetch={"headers": {"A": "b"}, "timeout_s": 5, "max_bytes": 10, "user_agents": ["x"]},
        politeness={
            "robots": "ignore",
            "delay_s": 2,
            "rate_per_s": 1,
            "per_host": 1,
            "per_domain": 2,
            "adaptive": False,
        },
        limits={"max_pages": 1, "max_items": 2, "max_duration_s": 3, "max_errors": 4},
        retry={"max_attempts": 2, "backoff_s": 3, "max_backoff_s": 4, "on_status": [500, 500]},
        concurrency=3,
        priority=4,
    )
    assert plan.fetch == FetchPlan(headers=(("A", "b"),), timeout_s=5.0, max_bytes=10, user_agents=("x",))
    assert plan.politeness == PolitenessPolicy(False, 2.0, 1.0, 1, 2, False)
    assert plan.limits == RunLimits(1, 2, None, 3.0, 4)
    assert plan.retry == RetryPolicy(2, 3.0, 4.0, frozenset({500}))
    assert (plan.concurrency, plan.weight) == (3, 5)


@pytest.mark.parametrize(
    ("alerts", "guards"),
    [
        (None, Guards()),
        ({}, Guards(consecutive_failures=5)),
        ({"consecutive_failures": None, "failure_rate": 0.5}, Guards(failure_rate=0.5)),
        ({"consecutive_failures": 2, "action": "notify"}, Guards(consecutive_failures=2, pauses=False)),
    ],
)
def test_guards_are_there_only_when_alerts_are(alerts: dict[str, Any] | None, guards: Guards) -> None:
    assert plan_of(alerts=alerts).guards == guards


def test_page_types_follow_and_pagination() -> None:
    plan = plan_of(
        follow=[
            {"selector": "a"},
            {"selector": "b", "to": "p", "allow": ["x"], "priority": 2, "max_depth": 1},
        ],
        pages={
            "p": {"pagination": {"type": "next_link", "selector": "a.next"}, "follow": [{"selector": "c"}]}
        },
    )
    assert plan.pages["default"].follow == (
        FollowRule(ValueRule("css", "a", many=True), "default"),
        FollowRule(ValueRule("css", "b", many=True), "p", allow=("x",), priority=2, max_depth=1),
    )
    assert plan.pages["p"].follow == (FollowRule(ValueRule("css", "c", many=True), "p"),)
    assert plan.pages["p"].pagination == NextLinkPagination(ValueRule("css", "a.next"))


def test_pages_may_define_default_themselves() -> None:
    plan = plan_of(
        pages={"p": {"selectors": {"fields": {"b": "b"}}}, "default": {"selectors": {"items": "li"}}}
    )
    assert list(plan.pages) == ["p", "default"]
    assert plan.pages["default"].items == (ValueRule("css", "li"),)


def test_a_polite_task_overrides_nothing() -> None:
    assert plan_of(politeness={"delay_s": 0.1, "robots": "obey", "per_host": 8}).overrides == ()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"politeness": {"robots": "ignore"}}, "robots.txt is ignored (politeness.robots)"),
        ({"politeness": {"delay_s": 0}}, "there is no delay between requests to a host (politeness.delay_s)"),
        (
            {"politeness": {"delay_s": 0.05}},
            "the delay between requests to a host is only 0.05 s (politeness.delay_s)",
        ),
        (
            {"politeness": {"adaptive": False}},
            "requests are not slowed down for overloaded hosts (politeness.adaptive)",
        ),
        (
            {"fetch": {"user_agents": ["x"]}},
            "the crawler does not send its own user agent (fetch.user_agents)",
        ),
        (
            {"fetch": {"headers": {"user-agent": "x"}}},
            "the crawler does not send its own user agent (fetch.headers)",
        ),
        (
            {"pages": {"default": {"emit": False, "fetch": {"user_agents": ["x"]}}}},
            "the crawler does not send its own user agent (pages.default.fetch.user_agents)",
        ),
        (
            {"entry_urls": [{"url": "http://a/", "headers": {"User-Agent": "x"}}]},
            "the crawler does not send its own user agent to an entry URL (entry_urls)",
        ),
    ],
)
def test_every_politeness_rule_that_is_loosened_is_said(change: dict[str, Any], sentence: str) -> None:
    assert plan_of(**change).overrides == (sentence,)


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(inner) for inner in value] if isinstance(value, list) else value


def buildable(full: dict[str, Any]) -> dict[str, Any]:
    """What this version can run of a task that uses everything."""
    full["selectors"] = {"items": ".card", "fields": {"b": "h2", "a": ["x", {"d": "e", "c": "f"}]}}
    full["pages"] = {"detail": {"selectors": {"fields": {"text": ".t"}}}}
    full["fetch"] = {"headers": {"B": "1", "A": "2"}}
    full["alerts"] = {"failure_rate": 1}
    for key in "pagination sitemaps dedup pipeline sinks archive cookie_id account_pool schedule".split():
        del full[key]
    return full


def test_the_hash_does_not_depend_on_order_or_format_or_written_defaults(full: dict[str, Any]) -> None:
    task = buildable(full)
    plan = compile_task(parse_task(task))
    as_yaml = read_document(yaml.safe_dump(task), "t.yaml")
    with_defaults = {**task, "retry": {**task["retry"], "max_backoff_s": 1.0}, "sinks": [], "schedule": None}
    for other in (reordered(task), as_yaml, with_defaults):
        assert compile_task(parse_task(other)).spec_hash == plan.spec_hash


def test_the_hash_changes_with_the_task() -> None:
    hashes = {plan_of(concurrency=count).spec_hash for count in (1, 2, 16)} | {plan_of().spec_hash}
    assert len(hashes) == 3


def test_the_spec_compiles_to_the_same_plan_columns_in_order(full: dict[str, Any]) -> None:
    plan = compile_task(parse_task(buildable(full)))
    again = compile_task(parse_task(json.loads(plan.spec)))
    assert again == plan
    assert len(plan.spec_hash) == 64


def test_the_trap_guards_are_the_tasks() -> None:
    assert plan_of().traps == TrapGuards()
    assert plan_of(traps={"max_repeats": 2, "max_urls_per_host": 50}).traps == TrapGuards(
        max_repeats=2, max_urls_per_host=50
    )
