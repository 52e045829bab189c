"""Schedules over REST."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from tests.unit.api.asking import ADMIN_TOKEN, SETTINGS, Caller, open_services, serving

from smartspider.operations.services import Services

TASK = {"name": "shop", "entry_urls": ["http://127.0.0.1:9/"]}


@pytest.fixture
async def task_id(api: Caller) -> str:
    return str((await api.post("/api/tasks", TASK)).expect(201).json["id"])


async def made(api: Caller, task_id: str, **knobs: Any) -> dict[str, Any]:
    body = {"task_id": task_id, "cron": "0 6 * * *", "enabled": True, **knobs}
    return dict((await api.post("/api/schedules", body)).expect(201).json)


async def token(api: Caller, name: str, role: str) -> Caller:
    body = {"name": name, "role": role}
    return api.with_token((await api.post("/api/tokens", body)).expect(201).json["token"])


async def test_the_contract_of_a_new_schedule(api: Caller, task_id: str) -> None:
    body = {"task_id": task_id, "cron": "0 6 * * *", "timezone": "Europe/Berlin", "enabled": True}
    answer = (await api.post("/api/schedules", body)).expect(201)
    schedule = answer.json
    assert answer.headers["Location"] == f"/api/schedules/{schedule['id']}"
    assert isinstance(schedule["id"], str)
    due = datetime.fromisoformat(schedule["next_fire_at"])
    assert due.tzinfo is not None
    assert due.minute == 0
    assert schedule["next_times"][0] == schedule["next_fire_at"]
    assert len(schedule["next_times"]) == 5
    assert (await api.get(f"/api/schedules/{schedule['id']}")).expect(200).json == schedule


async def test_a_list_tells_the_name_of_the_task(api: Caller, task_id: str) -> None:
    await made(api, task_id)
    (listed,) = (await api.get("/api/schedules")).expect(200).json["items"]
    assert (listed["task_id"], listed["task"]) == (task_id, "shop")


async def test_a_task_is_named_by_its_name_too(api: Caller, task_id: str) -> None:
    assert (await made(api, "shop"))["task_id"] == task_id


@pytest.mark.parametrize(
    ("knobs", "path"),
    [
        ({"cron": "0 6 * *"}, "cron"),
        ({"cron": "99 6 * * *"}, "cron"),
        ({"cron": None}, "cron"),
        ({"timezone": "Mars/Phobos"}, "timezone"),
        ({"every_s": 60}, "every_s"),
        ({"cron": None, "every_s": 59}, "every_s"),
        ({"cron": "0,30 0 6 * * *"}, "cron"),
        ({"cron": None, "at": "soon"}, "at"),
        ({"overlap": "perhaps"}, "overlap"),
        ({"retries": -1}, "retries"),
        ({"every": 5}, "every"),
        ({"enabled": "maybe"}, "enabled"),
    ],
)
async def test_what_is_wrong_is_named(api: Caller, task_id: str, knobs: dict[str, Any], path: str) -> None:
    body = {"task_id": task_id, "cron": "0 6 * * *", **knobs}
    problem = (await api.post("/api/schedules", body)).expect(422).json
    assert any(one["path"].startswith(path) for one in problem["errors"]), problem
    assert (await api.get("/api/schedules")).expect(200).json["items"] == []


@pytest.mark.parametrize(
    ("schedule", "path"),
    [
        ({"every_s": 1}, "schedule.every_s"),
        ({"cron": "* * * * * *"}, "schedule.cron"),
        ("*/5 * * * * *", "schedule"),
    ],
)
async def test_schedules_start_no_more_often_than_the_server_allows(
    api: Caller, task_id: str, schedule: Any, path: str
) -> None:
    task = {**TASK, "schedule": schedule}
    refused = [
        (await api.post("/api/tasks", {**task, "name": "often"})).expect(422),
        (await api("PUT", f"/api/tasks/{task_id}", json=task)).expect(422),
        (await api.post("/api/tasks?dry_run=true", task)).expect(200),
    ]
    for answer in refused:
        (problem,) = answer.json["errors"]
        assert problem["path"] == path
        assert "the minimum here is 60 s" in problem["message"]
        assert "SMARTSPIDER_SCHEDULE_INTERVAL" in problem["hint"]
    if isinstance(schedule, dict):
        (await api.post("/api/schedules/preview", schedule)).expect(422)
        existing = await made(api, task_id)
        change = {"cron": None, **schedule}
        (await api("PATCH", f"/api/schedules/{existing['id']}", json=change)).expect(422)


async def test_an_operator_sets_how_often_schedules_may_start(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, schedule_interval=5.0)
    async with (
        open_services(tmp_path / "other", settings) as services,
        serving(services) as base,
        aiohttp.ClientSession() as session,
    ):
        api = Caller(session, base, ADMIN_TOKEN)
        (await api.post("/api/schedules/preview", {"every_s": 5})).expect(200)
        (await api.post("/api/schedules/preview", {"cron": "*/5 * * * * *"})).expect(200)
        (await api.post("/api/schedules/preview", {"every_s": 4})).expect(422)


async def test_a_moment_that_is_over_is_refused(api: Caller, task_id: str) -> None:
    body = {"task_id": task_id, "at": "2020-01-01T00:00:00Z"}
    refused = (await api.post("/api/schedules", body)).expect(422).json
    assert refused["code"] == "request_invalid"
    assert "passed" in refused["detail"]
    later = {"task_id": task_id, "at": "2090-01-01T00:00:00", "timezone": "Asia/Tokyo"}
    assert (await api.post("/api/schedules", later)).expect(201).json["next_times"] == [
        "2089-12-31T15:00:00.000Z"
    ]


async def test_what_is_not_there_is_not_found(api: Caller) -> None:
    for path in ("/api/schedules/99", "/api/schedules/abc", "/api/schedules/99/firings"):
        (await api.get(path)).expect(404)
    (await api.post("/api/schedules", {"task_id": "99", "cron": "@daily"})).expect(404)
    (await api.get("/api/schedules?task_id=nothing")).expect(404)


@pytest.mark.usefixtures("task_id")
async def test_schedules_are_listed_page_by_page(api: Caller) -> None:
    (await api.post("/api/tasks", {**TASK, "name": "other"})).expect(201)
    ids = [(await made(api, name))["id"] for name in ("shop", "other", "shop")]
    first = (await api.get("/api/schedules?limit=2")).expect(200).json
    rest = (await api.get(f"/api/schedules?limit=2&cursor={first['next']}")).expect(200).json
    assert [one["id"] for one in first["items"] + rest["items"]] == ids
    assert rest["next"] is None
    own = (await api.get("/api/schedules?task_id=other")).expect(200).json
    assert [one["id"] for one in own["items"]] == [ids[1]]


async def test_a_schedule_is_changed_key_by_key(api: Caller, task_id: str) -> None:
    schedule = await made(api, task_id, timezone="Europe/Berlin", jitter_s=5)
    place = f"/api/schedules/{schedule['id']}"
    changed = (await api("PATCH", place, json={"cron": "30 7 * * *"})).expect(200).json
    assert (changed["cron"], changed["timezone"], changed["jitter_s"]) == ("30 7 * * *", "Europe/Berlin", 5.0)
    off = (await api("PATCH", place, json={"enabled": False})).expect(200).json
    assert (off["enabled"], off["next_fire_at"], off["next_times"]) == (False, None, [])
    on = (await api("PATCH", place, json={"enabled": True, "every_s": 3600})).expect(200).json
    assert (on["cron"], on["every_s"], on["enabled"]) == (None, 3600.0, True)
    assert on["next_fire_at"] is not None
    (await api("PATCH", place, json={"cron": "x"})).expect(422)
    assert (await api.get(place)).json == on
    assert (await api("PATCH", place, json={})).expect(200).json == on


async def test_a_deleted_schedule_is_gone(api: Caller, task_id: str) -> None:
    place = f"/api/schedules/{(await made(api, task_id))['id']}"
    (await api("DELETE", place)).expect(204)
    (await api.get(place)).expect(404)
    (await api("DELETE", place)).expect(404)


async def test_a_rule_is_tried_out_without_being_kept(api: Caller) -> None:
    rule = {"cron": "0 6 * * MON", "timezone": "Asia/Tokyo"}
    times = (await api.post("/api/schedules/preview", rule)).expect(200).json["next_times"]
    assert len(times) == 5
    assert all(one.endswith("T21:00:00.000Z") for one in times)
    assert (await api.get("/api/schedules")).json["items"] == []
    (await api.post("/api/schedules/preview", {"cron": "x"})).expect(422)


async def test_a_run_is_started_by_hand_and_stands_in_the_history(api: Caller, task_id: str) -> None:
    schedule = await made(api, task_id)
    place = f"/api/schedules/{schedule['id']}"
    fired = (await api.post(f"{place}/fire")).expect(202)
    run_id = fired.json["run_id"]
    assert fired.headers["Location"] == f"/api/runs/{run_id}"
    run = (await api.get(f"/api/runs/{run_id}")).expect(200).json
    assert run["started_by"] == f"schedule:{schedule['id']}"
    again = (await api.post(f"{place}/fire")).expect(409).json
    assert f"run {run_id}" in again["detail"]
    (firing,) = (await api.get(f"{place}/firings")).expect(200).json["items"]
    assert (firing["outcome"], firing["run_id"], firing["tries"]) == ("started", run_id, 0)
    assert (await api.get(place)).json["next_fire_at"] == schedule["next_fire_at"]


async def test_firings_are_listed_page_by_page(api: Caller, task_id: str) -> None:
    place = f"/api/schedules/{(await made(api, task_id, overlap='allow'))['id']}"
    runs = [(await api.post(f"{place}/fire")).expect(202).json["run_id"] for _ in range(3)]
    first = (await api.get(f"{place}/firings?limit=2")).expect(200).json
    rest = (await api.get(f"{place}/firings?limit=2&cursor={first['next']}")).expect(200).json
    assert [one["run_id"] for one in first["items"] + rest["items"]] == runs[::-1]
    for wrong in ("x", "nan", "inf"):
        (await api.get(f"{place}/firings?cursor={wrong}")).expect(422)


async def test_the_schedule_of_a_task_follows_it_and_is_changed_there(api: Caller) -> None:
    task = (await api.post("/api/tasks", {**TASK, "schedule": "0 6 * * *"})).expect(201).json
    (own,) = (await api.get("/api/schedules")).expect(200).json["items"]
    assert (own["of_task"], own["cron"], own["enabled"]) == (True, "0 6 * * *", True)
    place = f"/api/schedules/{own['id']}"
    (await api("PATCH", place, json={"cron": "0 7 * * *"})).expect(409)
    (await api("DELETE", place)).expect(409)
    (await api("PATCH", place, json={"enabled": False})).expect(200)
    changed = {**TASK, "schedule": {"cron": "0 8 * * *", "overlap": "queue"}}
    (await api("PUT", f"/api/tasks/{task['id']}", json=changed)).expect(200)
    now = (await api.get(place)).expect(200).json
    assert (now["cron"], now["overlap"], now["enabled"]) == ("0 8 * * *", "queue", False)
    (await api("PUT", f"/api/tasks/{task['id']}", json=TASK)).expect(200)
    (await api.get(place)).expect(404)


async def test_only_the_owner_of_a_task_and_admins_change_its_schedules(api: Caller, task_id: str) -> None:
    schedule = await made(api, task_id)
    place = f"/api/schedules/{schedule['id']}"
    operator, viewer = await token(api, "op", "operator"), await token(api, "eye", "viewer")
    for caller in (operator, viewer):
        (await caller.get(place)).expect(200)
        (await caller.post("/api/schedules", {"task_id": task_id, "cron": "@daily"})).expect(403)
        (await caller("PATCH", place, json={"enabled": False})).expect(403)
        (await caller("DELETE", place)).expect(403)
        (await caller.post(f"{place}/fire")).expect(403)
    (await operator.post("/api/tasks", {**TASK, "name": "own"})).expect(201)
    own = await made(operator, "own")
    (await operator("PATCH", f"/api/schedules/{own['id']}", json={"enabled": False})).expect(200)
    (await api.with_token(None).get(place)).expect(401)
    assert (await api.get(place)).json == schedule


async def test_changes_are_in_the_audit(api: Caller, services: Services, task_id: str) -> None:
    place = f"/api/schedules/{(await made(api, task_id))['id']}"
    await api("PATCH", place, json={"enabled": False})
    await api("DELETE", place)
    told = [one.action for one in await services.installation.audit.entries() if one.subject == "schedule:1"]
    assert told[::-1] == ["schedule.created", "schedule.changed", "schedule.deleted"]


async def test_the_same_request_sent_twice_makes_one_schedule(api: Caller, task_id: str) -> None:
    body = {"task_id": task_id, "cron": "@daily"}
    key = {"Idempotency-Key": "monday"}
    first = (await api.post("/api/schedules", body, headers=key)).expect(201).json
    assert (await api.post("/api/schedules", body, headers=key)).expect(201).json == first
    assert len((await api.get("/api/schedules")).json["items"]) == 1
