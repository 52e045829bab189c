"""What a route does not declare is refused, and what it declares is read however it is labelled."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from fastapi.routing import APIRoute, APIWebSocketRoute
from tests.unit.api.asking import Caller

from smartspider.api.app import create_app
from smartspider.api.middleware.strict_parameters import StrictParameters
from smartspider.operations.services import Services

TASK = {"name": "shop", "entry_urls": ["https://shop.example/"], "selectors": {"fields": {"title": "h1"}}}
LABELS = ("application/x-www-form-urlencoded", "text/plain", "application/octet-stream", None)


async def test_a_mistyped_parameter_is_refused_and_nothing_is_done(api: Caller) -> None:
    problem = (await api.post("/api/tasks?dryrun=true", TASK)).expect(422).json
    assert problem["code"] == "request_invalid"
    wrong = {"path": "dryrun", "message": "unknown parameter 'dryrun'", "hint": "did you mean 'dry_run'?"}
    assert problem["errors"] == [wrong]
    assert (await api.get("/api/tasks")).json["items"] == []
    assert (await api.post("/api/tasks?dry_run=true", TASK)).expect(200).json["valid"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/api/logs?q=x", "q"),
        ("/api/results?task_id=shop&order=price", "order"),
        ("/api/runs/1/events?aftr=3", "aftr"),
        ("/api/auth/me?ticket=x", "ticket"),
        ("/api/schema/task?x", "x"),
    ],
)
async def test_unknown_parameters_are_refused_everywhere(api: Caller, path: str, name: str) -> None:
    problem = (await api.get(path)).expect(422).json
    assert [one["path"] for one in problem["errors"]] == [name]


@pytest.mark.parametrize("path", ["/api/logs?text=x&level=info&task_id=1&limit=1", "/healthz?probe=1"])
async def test_parameters_of_a_route_its_dependencies_and_of_probes_are_taken(api: Caller, path: str) -> None:
    assert (await api.get(path)).status != 422


async def test_a_websocket_refuses_them_too_and_takes_a_ticket(api: Caller) -> None:
    ticket = (await api.post("/api/auth/ticket")).json["ticket"]
    base = api.base.replace("http", "ws", 1)
    async with api.session.ws_connect(f"{base}/api/logs/tail?level=info&ticket={ticket}") as socket:
        assert not socket.closed
    headers = {"Authorization": f"Bearer {api.token}"}
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await api.session.ws_connect(f"{base}/api/logs/tail?levl=info", headers=headers)
    assert refused.value.status == 422


async def test_a_flood_of_unknown_parameters_is_answered_shortly(api: Caller) -> None:
    flood = "&".join(f"{name}{'x' * 300}=1" for name in range(100))
    answer = (await api.get(f"/api/tasks?{flood}")).expect(422)
    assert len(answer.body) < 10_000


def test_every_route_is_guarded_once(services: Services) -> None:
    for app in (create_app(services), create_app(services)):
        for route in app.routes:
            if isinstance(route, APIRoute | APIWebSocketRoute):
                assert isinstance(route.app, StrictParameters)
                assert not isinstance(route.app.app, StrictParameters)


@pytest.mark.parametrize("label", LABELS)
async def test_a_body_is_json_whatever_it_is_called(api: Caller, label: str | None) -> None:
    more: dict[str, Any] = {"headers": {"Content-Type": label}} if label else {}
    more |= {} if label else {"skip_auto_headers": ["Content-Type"]}
    (await api.post("/api/tasks", TASK)).expect(201)
    for path, body, status in (
        ("/api/tasks/shop/start", b'{"tuning": {"delay_s": 1}}', 202),
        ("/api/schedules", b'{"task_id": "shop", "cron": "0 6 * * *"}', 201),
    ):
        (await api("POST", path, data=body, **more)).expect(status)
    (await api("PATCH", "/api/runs/1", data=b'{"concurrency": 3}', **more)).expect(200)


@pytest.mark.parametrize(
    ("method", "path", "body", "wrong"),
    [
        ("PATCH", "/api/runs/1", {"delay": 1}, ("delay", "delay", "did you mean 'delay_s'?")),
        (
            *("POST", "/api/tasks/shop/start", {"tuning": {"limits": {"max_page": 1}}}),
            ("tuning.limits.max_page", "max_page", "did you mean 'max_pages'?"),
        ),
        (
            *("POST", "/api/preview", {"url": "http://x.example/", "zzz": 1}),
            ("zzz", "zzz", "known: page, rules, selectors, task, url"),
        ),
        ("POST", "/api/auth/token", {"username": "a", "password": "b", "zzz": 1}, ("zzz", "zzz", "")),
    ],
)
async def test_an_unknown_key_is_called_so(
    api: Caller, method: str, path: str, body: Any, wrong: tuple[str, str, str]
) -> None:
    problem = (await api(method, path, json=body)).expect(422).json
    where, key, hint = wrong
    found = [(one["path"], one["message"], one["hint"]) for one in problem["errors"]]
    assert found == [(where, f"unknown key {key!r}", hint)]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/api/preview", "expecting value at line 2 column 9"),
        ("/api/schedules", "expecting value at line 2 column 9"),
        ("/api/auth/token", "expected value at line 2 column 9"),
    ],
)
async def test_a_body_that_is_not_json_is_told_with_its_place(api: Caller, path: str, reason: str) -> None:
    headers = {"Content-Type": "application/json"}
    problem = (await api("POST", path, data=b'{\n "url": oops}', headers=headers)).expect(400).json
    assert (problem["code"], problem["detail"]) == ("bad_request", f"the body is not JSON: {reason}")


async def test_a_form_is_told_that_json_is_wanted(api: Caller) -> None:
    problem = (await api("POST", "/api/preview", data={"url": "http://x.example/"})).expect(400).json
    assert problem["detail"] == "the body is not JSON: expecting value at line 1 column 1"
    assert "application/json" in problem["hint"]
