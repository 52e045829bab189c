"""The OpenAPI document, and the page that shows it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.unit.api.asking import Caller

from smartspider.api.app import create_app
from smartspider.operations.services import Services

OPEN = {"get_health", "get_readiness", "get_task_schema", "create_auth_token", "sign_in"}


@pytest.fixture
def document(services: Services) -> dict[str, Any]:
    found: dict[str, Any] = create_app(services).openapi()
    return found


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_operation_says_what_it_is(document: dict[str, Any]) -> None:
    known = {tag["name"] for tag in document["tags"]}
    for path, method, one in operations(document):
        where = f"{method} {path}"
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", one["operationId"]), where
        assert one["summary"], where
        assert one["description"], where
        assert set(one["tags"]) <= known, where


def test_no_two_operations_have_one_name(document: dict[str, Any]) -> None:
    names = [one["operationId"] for *_, one in operations(document)]
    assert len(set(names)) == len(names)


def test_every_operation_says_how_it_may_end(document: dict[str, Any]) -> None:
    for path, method, one in operations(document):
        statuses = set(one["responses"])
        assert {"default", "429"} <= statuses, path
        assert any(status < "400" for status in statuses), path
        assert not one.get("security") or {"401", "403"} <= statuses, path
        assert "{" not in path or "404" in statuses, path
        assert "requestBody" not in one or {"413", "422"} <= statuses, (method, path)


def test_every_body_has_an_example(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for path, method, one in operations(document):
        for content in one.get("requestBody", {}).get("content", {}).values():
            schema = content["schema"]
            referred = schemas.get(schema.get("$ref", "").rpartition("/")[2], schema)
            has = {"example", "examples"} & content.keys() or "examples" in referred
            assert has, f"{method} {path}"


def test_no_two_views_have_one_name(document: dict[str, Any]) -> None:
    """Then they would be told by the places of their code, and references would lead nowhere."""
    assert [name for name in document["components"]["schemas"] if "." in name] == []


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    def references(value: Any) -> list[str]:
        match value:
            case dict():
                own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
                return own + [found for one in value.values() for found in references(one)]
            case list():
                return [found for one in value for found in references(one)]
            case _:
                return []

    for reference in references(document):
        place: Any = document
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]


def test_keys_for_requests_sent_twice_are_documented(document: dict[str, Any]) -> None:
    create = document["paths"]["/api/tasks"]["post"]
    assert "Idempotency-Key" in {one["name"] for one in create["parameters"]}
    assert set(create["requestBody"]["content"]) == {"application/json", "application/yaml"}
    assert "Location" in create["responses"]["201"]["headers"]
    assert "412" in document["paths"]["/api/tasks/{task_id}"]["put"]["responses"]
    retry = document["components"]["responses"]["Problem429"]["headers"]
    assert "Retry-After" in retry


def test_operations_say_whom_they_are_for(document: dict[str, Any]) -> None:
    assert document["paths"]["/api/tasks"]["post"]["x-needs"] == "tasks:write"
    assert document["paths"]["/api/audit"]["get"]["x-needs"] == "audit:read"
    for path, method, one in operations(document):
        if one["operationId"] not in OPEN and "auth" not in one["tags"]:
            assert one.get("security"), f"{method} {path}"


async def test_the_page_needs_nobody_else(api: Caller) -> None:
    """It comes without a token, and loads nothing but the document of this server."""
    answer = (await api.with_token(None).get("/api/docs")).expect(200)
    text = answer.body.decode()
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", text)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert policy.count("sha256-") == 2


async def test_other_methods_are_problems_that_tell_which_are_possible(api: Caller) -> None:
    for method in ("PATCH", "OPTIONS"):
        problem = (await api(method, "/api/tasks/shop")).expect(405)
        assert problem.headers["Content-Type"] == "application/problem+json"
        assert problem.headers["Allow"] == "DELETE, GET, PUT"
        assert problem.json["code"] == "method_not_allowed"
    head = (await api("HEAD", "/api/tasks")).expect(405)
    assert head.body == b""


async def test_a_slash_at_the_end_sends_nobody_elsewhere(api: Caller) -> None:
    answer = await api.get("/api/tasks/", headers={"Host": "evil.example"}, allow_redirects=False)
    assert "Location" not in answer.expect(200).headers
    (await api.get("/api/nothing//", allow_redirects=False)).expect(404)


async def test_what_is_wrong_with_a_body_is_named_by_its_key(api: Caller) -> None:
    problem = (await api.post("/api/preview", {"url": 3, "nonsense": 1})).expect(422)
    assert problem.json["code"] == "request_invalid"
    paths = [one["path"] for one in problem.json["errors"]]
    assert paths == ["url", "nonsense"]
    half = (await api.post("/api/preview", {"url": "http://x.example/", "nonsense\ud800": 1})).expect(422)
    assert half.json["errors"]
    broken = await api("POST", "/api/preview", data=b"{", headers={"Content-Type": "application/json"})
    assert "not JSON" in broken.expect(400).json["detail"]
