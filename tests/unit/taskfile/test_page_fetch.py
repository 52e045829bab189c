"""`pages.NAME.fetch` overrides `fetch` for a page type."""

from __future__ import annotations

from typing import Any

import pytest

from smartspider.core.errors import TaskInvalid
from smartspider.core.runs.plan import Plan
from smartspider.interfaces.secret_source import OWN_COMMAND, SecretUse
from smartspider.services.secrets import read_secrets
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_spec, parse_task

FETCH = {"headers": {"Accept": "text/html", "X-Task": "1"}, "timeout_s": 60, "max_bytes": 1000}


def plan_of(own: dict[str, Any], **more: Any) -> Plan:
    task = {
        "name": "t",
        "entry_urls": ["http://a/list", {"url": "http://a/1", "page": "detail"}],
        "selectors": {"fields": {"t": "h1"}},
        "follow": [{"selector": "a", "to": "detail"}],
        "pages": {"detail": {"selectors": {"fields": {"t": "h1"}}, "fetch": own}},
        "fetch": FETCH,
        **more,
    }
    return compile_task(parse_task(task))


def test_keys_that_are_not_set_have_the_values_of_the_task() -> None:
    fetch = plan_of({"headers": {"accept": "application/json"}, "max_bytes": 5}).fetch
    own = fetch.of_page("detail")
    assert (own.timeout_s, own.max_bytes) == (60, 5)
    assert dict(own.headers) == {"X-Task": "1", "accept": "application/json"}
    assert fetch.of_page("default") is fetch
    assert fetch.max_bytes == 1000


def test_a_value_equal_to_a_default_still_overrides_and_survives_storing() -> None:
    plan = plan_of({"timeout_s": 30, "max_bytes": 20_000_000, "method": "GET"}, fetch={"timeout_s": 60})
    stored = compile_task(parse_spec(plan.spec))
    for own in (plan.fetch.of_page("detail"), stored.fetch.of_page("detail")):
        assert (own.timeout_s, own.max_bytes) == (30, 20_000_000)


def test_a_page_type_without_settings_of_its_own_costs_nothing() -> None:
    assert plan_of({}).fetch.pages == {}


def test_the_method_of_a_page_type_is_that_of_its_entries_and_links() -> None:
    plan = plan_of({"method": "POST"})
    assert [entry.extras.method for entry in plan.entries] == ["GET", "POST"]
    (rule,) = plan.pages["default"].follow
    assert rule.request is not None
    assert (rule.request.method, rule.request.url, rule.request.body) == ("POST", None, None)
    own = plan_of({"method": "PUT"}, follow=[{"selector": "a", "to": "detail", "request": {"body": "x"}}])
    assert [rule.request and rule.request.method for rule in own.pages["default"].follow] == ["PUT"]
    given = plan_of(
        {"method": "PUT"}, follow=[{"selector": "a", "to": "detail", "request": {"method": "GET"}}]
    )
    assert [rule.request and rule.request.method for rule in given.pages["default"].follow] == ["GET"]
    listed = plan_of({"method": "POST"}, sitemaps=[{"url": "http://a/s.xml", "page": "detail"}])
    assert [page.sitemap.method for page in listed.pages.values() if page.sitemap] == ["POST"]


def test_a_get_of_a_page_type_with_a_body_is_a_post() -> None:
    plan = plan_of({"method": "GET"}, follow=[{"selector": "a", "to": "detail", "request": {"body": "x"}}])
    assert [rule.request and rule.request.method for rule in plan.pages["default"].follow] == ["POST"]


class Source:
    """Secrets from a dictionary."""

    def __init__(self, **values: str) -> None:
        self._values = values

    async def find(self, names: Any, _: SecretUse) -> dict[str, str]:
        return {name: self._values[name] for name in names if name in self._values}


async def test_secrets_in_its_headers_are_found_before_anything_is_sent() -> None:
    plan = plan_of({"headers": {"X-Key": "${KEY}"}})
    assert plan.secrets == {"KEY"}
    assert plan.sends_own_parts
    assert await read_secrets(Source(KEY="v"), plan, OWN_COMMAND) == {"KEY": "v"}
    with pytest.raises(TaskInvalid) as caught:
        plan_of({"headers": {"X-Key": "${not a name}"}})
    assert caught.value.problems[0].path == "pages.detail.fetch.headers.X-Key"
