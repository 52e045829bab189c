"""Problems: each has a code of its kind, and says what to try."""

from __future__ import annotations

import re
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from tests.unit.api.asking import Answer, Caller
from tests.unit.api.doors import api_with
from tests.unit.api.rows import crawled

from smartspider.operations.services import Services

NO_TASK: list[tuple[str, str, Any]] = [
    ("GET", "/api/tasks?cursor=x", None),
    ("GET", "/api/results?run_id=1&cursor=x", None),
    ("GET", "/api/results?run_id=1&sort=name&cursor=x", None),
    ("GET", "/api/results?run_id=1&where=%3D", None),
    ("GET", "/api/results", None),
    ("GET", "/api/explain?url=x&run_id=1", None),
    ("GET", "/api/audit?since=soon", None),
    ("GET", "/api/logs?level=loud", None),
    ("POST", "/api/results/export?run_id=1&format=doc", None),
    ("POST", "/api/results/export?run_id=1&format=csv&compression=rar", None),
    ("POST", "/api/hosts/a..b/hold", {"seconds": 60}),
    ("POST", "/api/hosts/shop.example/hold", {"seconds": 1e12}),
    ("PATCH", "/api/hosts/shop.example", {"delay_s": 1e9}),
    ("PATCH", "/api/runs/1", {}),
    ("POST", "/api/users", {"name": "ann", "password": "short", "role": "viewer"}),
    ("POST", "/api/tokens", {"name": "a", "role": "viewer", "scopes": ["tea"]}),
    ("POST", "/api/notifications", {"kind": "webhook", "address": "ftp://x", "events": ["run.failed"]}),
    ("POST", "/api/schedules", {"task_id": "tea", "cron": "never"}),
    ("POST", "/api/preview", {"url": "x", "rules": "h1"}),
    ("POST", "/api/preview", {"url": "http://127.0.0.1/"}),
]
A_TASK: list[tuple[str, str, Any]] = [
    ("POST", "/api/tasks", {"name": "a"}),
    ("POST", "/api/tasks", {"name": "a", "entry_urls": ["http://a.example"], "schedule": "never"}),
    ("PUT", "/api/tasks/tea", {"name": "tea2", "entry_urls": ["http://127.0.0.1/"]}),
    ("POST", "/api/preview", {"url": "http://127.0.0.1/", "rules": {"type": "xpath", "expr": "//["}}),
]


@pytest.mark.parametrize(
    ("code", "requests"),
    [("request_invalid", NO_TASK), ("task_invalid", A_TASK)],
    ids=["what_was_asked", "a_task"],
)
async def test_only_what_is_wrong_with_a_task_is_called_so(
    api: Caller, services: Services, code: str, requests: list[tuple[str, str, Any]]
) -> None:
    await crawled(services.installation)
    for method, path, body in requests:
        problem = (await api(method, path, json=body)).expect(422).json
        assert problem["code"] == code, (method, path, problem)
        assert problem["hint"], (method, path, problem)


def hint_of(answer: Answer) -> str:
    """What a problem says to try; each has all of what the contract names."""
    assert answer.headers["Content-Type"] == "application/problem+json", answer
    problem = answer.json
    assert problem["status"] == answer.status
    assert problem["code"], problem
    assert problem["detail"], problem
    assert problem["hint"], problem
    for one in problem.get("errors", []):
        assert one.keys() == {"path", "message", "hint"}
    return str(problem["hint"])


@pytest.mark.parametrize(
    ("method", "path", "body", "hint"),
    [
        ("GET", "/api/nothing", None, "GET /api/openapi.json lists all paths; /api/docs shows them"),
        ("PUT", "/api/tasks", {}, "GET, POST"),
        ("GET", "/api/runs/abc", None, "ids are numbers; list the runs to find it"),
        ("GET", "/api/runs/7", None, "`smartspider run list` shows all runs"),
        ("GET", "/api/tasks/abc", None, "list all tasks with `smartspider task list`"),
        ("GET", "/api/tasks/7", None, "list all tasks with `smartspider task list`"),
        ("GET", "/api/hosts?limit=many", None, "query"),
        ("GET", "/api/hosts?limits=1", None, "did you mean 'limit'?"),
        ("POST", "/api/hosts/a.example/hold", {"seconds": "x"}, "GET /api/openapi.json"),
        ("POST", "/api/hosts/a.example/hold", {"seconds": 1, "zzzzzz": 1}, "known: reason, scope, seconds"),
        ("POST", "/api/tasks", {"name": "a", "entry_urls": []}, "GET /api/schema/task"),
        ("POST", "/api/users", {"name": "system", "role": "viewer"}, "ann@example.com"),
    ],
)
async def test_a_problem_says_what_to_try(api: Caller, method: str, path: str, body: Any, hint: str) -> None:
    assert hint in hint_of(await api(method, path, json=body))


async def test_every_refusal_of_every_route_says_what_to_try(api: Caller) -> None:
    paths = (await api.get("/api/openapi.json")).expect(200).json["paths"]
    del paths["/readyz"]  # what is not ready is no problem of who asks
    refused = 0
    for path, operations in paths.items():
        target = re.sub(r"{\w+}", "%21none", path)
        for method in operations:
            strange = await api(method.upper(), target, json={"odd": 1}, params={"odd": "1"})
            wrong = await api(method.upper(), target, json={"odd": 1})
            unsigned = await api.with_token(None)(method.upper(), target)
            unreadable = await api(method.upper(), target, data=b"\xff")
            for answer in (strange, wrong, unsigned, unreadable):
                if answer.status >= HTTPStatus.BAD_REQUEST:
                    hint_of(answer)
                    refused += 1
    assert refused > 2 * len(paths)


async def test_who_asks_too_often_or_too_much_is_told_what_to_do(tmp_path: Path) -> None:
    async with api_with(tmp_path, rate_limit="0.01/1", max_body_bytes="1000") as api:
        assert hint_of((await api.post("/api/tasks", {"name": "a" * 2000})).expect(413))
        (await api.get("/api/auth/me")).expect(200)
        assert "SMARTSPIDER_RATE_LIMIT" in hint_of((await api.get("/api/auth/me")).expect(429))


async def test_a_key_that_was_used_for_something_else_says_what_to_do(api: Caller) -> None:
    key = {"Idempotency-Key": "one"}
    task = {"name": "a", "entry_urls": ["http://a.example/"]}
    (await api.post("/api/tasks", task, headers=key)).expect(201)
    assert hint_of((await api.post("/api/tasks", task | {"name": "b"}, headers=key)).expect(409))
    assert hint_of((await api.post("/api/tasks", task, headers={"Idempotency-Key": "k" * 300})).expect(422))


@pytest.mark.parametrize("path", ["/api/runs/abc/events", "/api/runs/7/events?a=1", "/api/nothing"])
async def test_a_websocket_that_is_refused_says_what_to_try(api: Caller, path: str) -> None:
    head = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    asked = {**head, "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    for caller in (api, api.with_token(None)):
        answer = await caller.get(path, headers=asked)
        assert answer.status >= HTTPStatus.BAD_REQUEST
        assert not answer.body or hint_of(answer)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/hosts/a.example/hold", {"seconds": 60, "reason": "a\0b"}),
        ("/api/tasks?note=a%00b", {"name": "a", "entry_urls": ["http://a.example/"]}),
        ("/api/tasks", {"name": "a\0", "entry_urls": ["http://a.example/"]}),
        (
            "/api/tasks",
            {"name": "a", "entry_urls": [{"url": "http://a.example/", "page": "\0"}], "pages": {"\0": {}}},
        ),
        (
            "/api/notifications",
            {"kind": "webhook", "address": "https://hooks.example.com/\0", "events": ["run.failed"]},
        ),
        ("/api/tokens", {"name": "a\0", "role": "viewer"}),
        ("/api/users", {"name": "a\0", "role": "viewer"}),
        ("/api/schedules", {"task_id": "tea", "cron": "@daily", "timezone": "UTC\0"}),
    ],
)
async def test_a_text_that_not_every_store_can_keep_is_refused(
    api: Caller, services: Services, path: str, body: Any
) -> None:
    await crawled(services.installation)
    problem = (await api.post(path, body)).expect(422).json
    assert problem["code"] in ("request_invalid", "task_invalid")
    assert problem["hint"]
