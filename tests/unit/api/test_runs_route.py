"""Runs over REST: started, looked at, controlled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import pytest
from tests.unit.api.asking import Answer, Caller

from smartspider.core.errors import TooMany
from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.requests.refusal import LeftOutLink, Refusal
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.operations.services import Services
from smartspider.services.runs.views import spec_warnings
from smartspider_testing.contracts.actions import closed, done, failed

T = TypeVar("T")
ENTRY = "http://127.0.0.1:1/list"
TASK: dict[str, Any] = {
    "name": "shop",
    "entry_urls": [ENTRY],
    "selectors": {"items": ".item", "fields": {"title": "h2::text"}},
    "politeness": {"delay_s": 0},
}
NEXT_PAGE = LeftOutLink(b"n" * 16, f"{ENTRY}?page=2", Refusal("robots", "why"), is_next_page=True)
COUNTERS = (
    "total queued in_flight success_count fail_count missing_count retry_count items rejected duplicates "
    "duplicate_urls pages_per_s error_rate running_workers"
).split()


async def create(api: Caller, **more: Any) -> str:
    answer = (await api.post("/api/tasks", {**TASK, **more})).expect(201)
    return str(answer.json["id"])


async def start(api: Caller, task_id: str, **more: Any) -> str:
    return str((await api.post(f"/api/tasks/{task_id}/start", **more)).expect(202).json["run_id"])


async def do(api: Caller, run_id: str, verb: str) -> Answer:
    return await api.post(f"/api/runs/{run_id}/{verb}")


async def begin(services: Services, run_id: str) -> int:
    """A worker takes a run up; its id."""
    await services.installation.store.set_state(int(run_id), "running")
    return await services.installation.frontier.join(WorkerRegistration("worker", slots=4))


async def state_of(api: Caller, run_id: str) -> str:
    return str((await api.get(f"/api/runs/{run_id}")).expect(200).json["state"])


async def test_a_run_is_started_and_looked_at(api: Caller) -> None:
    task_id = await create(api)
    answer = (await api.post("/api/tasks/shop/start")).expect(202)
    run_id = answer.json["run_id"]
    assert answer.headers["Location"] == f"/api/runs/{run_id}"
    assert answer.json["state"] == "queued"
    for path in (f"/api/runs/{run_id}", f"/api/tasks/{task_id}/status", f"/api/tasks/{task_id}/metrics"):
        shown = (await api.get(path)).expect(200).json
        assert (shown["run_id"], shown["task_id"], shown["state"]) == (run_id, task_id, "queued")
        assert (shown["total"], shown["queued"], shown["started_by"]) == (1, 1, "admin")
    assert (await api.get(f"/api/runs/{run_id}/metrics")).expect(200).json["knobs"]["delay_s"] == 0


async def test_what_a_task_may_miss_is_said_when_it_is_kept_and_when_it_is_started(api: Caller) -> None:
    kept = (await api.post("/api/tasks", {**TASK, "dedup": {"urls": "bloom"}})).expect(201).json
    begun = (await api.post("/api/tasks/shop/start")).expect(202).json
    (warning,) = begun["warnings"]
    assert kept["warnings"] == [warning]
    assert warning["path"] == "dedup.urls"
    assert "fewer than one in 10,000 (0.01 %), and their pages are missed" in warning["message"]
    await create(api, name="exact")
    assert (await api.post("/api/tasks/exact/start")).expect(202).json["warnings"] == []


class WithoutWarnings:
    """Refuses to compute warnings, as a busy server does."""

    async def run(self, work: Callable[..., T], *values: Any, holder: str = "") -> T:
        if work is spec_warnings:
            raise TooMany("too many checks are waiting", retry_after_s=1.0)
        return work(*values)


async def test_a_run_that_was_created_is_answered_though_its_warnings_are_refused(
    api: Caller, services: Services
) -> None:
    task_id = await create(api)
    services.installation = msgspec.structs.replace(services.installation, offload=WithoutWarnings())
    assert (await api.post(f"/api/tasks/{task_id}/start")).expect(202).json["warnings"] == []


@pytest.mark.parametrize("call", ["status", "metrics"])
async def test_a_task_without_a_run_is_created_and_has_done_nothing(api: Caller, call: str) -> None:
    task_id = await create(api)
    shown = (await api.get(f"/api/tasks/{task_id}/{call}")).expect(200).json
    assert (shown["state"], shown["reason"], shown["run_id"]) == ("created", "", None)
    assert [shown[name] for name in COUNTERS] == [0] * len(COUNTERS)
    assert (shown["eta_s"], shown["started_at"], shown["finished_at"]) == (None, None, None)
    answer = (await api.post(f"/api/tasks/{task_id}/stop")).expect(409)
    assert "no run yet" in answer.json["detail"]


async def test_a_second_run_is_refused_unless_they_may_overlap(api: Caller) -> None:
    task_id = await create(api)
    first = await start(api, task_id)
    refused = (await api.post(f"/api/tasks/{task_id}/start")).expect(409)
    assert refused.json["code"] == "conflict"
    assert f"run {first}" in refused.json["detail"]
    assert "?overlap=true" in refused.json["hint"]
    assert "--overlap" in refused.json["hint"]
    assert await start(api, f"{task_id}", json={"overlap": True}) != first
    third = (await api.post(f"/api/tasks/{task_id}/start?overlap=true")).expect(202)
    listed = (await api.get(f"/api/runs?task_id={task_id}&limit=2")).expect(200).json
    assert [run["run_id"] for run in listed["items"]] == [third.json["run_id"], "2"]
    rest = (await api.get(f"/api/runs?task_id=shop&limit=2&cursor={listed['next']}")).expect(200).json
    assert ([run["run_id"] for run in rest["items"]], rest["next"]) == ([first], None)


async def test_a_run_that_is_over_makes_room_for_the_next(api: Caller) -> None:
    task_id = await create(api)
    first = await start(api, task_id)
    (await do(api, first, "cancel")).expect(202)
    second = await start(api, task_id)
    states = {"queued": [second], "cancelled": [first], "running": []}
    for state, runs in states.items():
        found = (await api.get(f"/api/runs?state={state}")).expect(200).json["items"]
        assert [run["run_id"] for run in found] == runs
    both = (await api.get("/api/runs?state=queued&state=cancelled")).expect(200).json["items"]
    assert [run["run_id"] for run in both] == [second, first]


async def test_an_older_version_can_be_started_with_knobs_turned(api: Caller) -> None:
    task_id = await create(api)
    (await api("PUT", f"/api/tasks/{task_id}", json={**TASK, "concurrency": 3})).expect(200)
    body = {"version": 1, "tuning": {"concurrency": 5, "limits": {"max_pages": 7}}}
    run_id = await start(api, task_id, json=body)
    shown = (await api.get(f"/api/runs/{run_id}/metrics")).expect(200).json
    assert (shown["version"], shown["knobs"]["concurrency"], shown["knobs"]["max_pages"]) == (1, 5, 7)
    (await api.post(f"/api/tasks/{task_id}/start", {"version": 9})).expect(404)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"entry_urls": ["http://169.254.169.254/latest"]}, "SMARTSPIDER_ALLOW_PRIVATE"),
        ({"entry_urls": ["http://localhost:9/"]}, "SMARTSPIDER_ALLOW_PRIVATE"),
        ({"entry_urls": ["http://[::ffff:10.0.0.1]/"]}, "SMARTSPIDER_ALLOW_PRIVATE"),
        ({"fetch": {"mode": "browser"}}, "fetch.mode"),
    ],
)
async def test_what_cannot_be_run_here_is_refused_at_the_start(
    api: Caller, change: dict[str, Any], words: str
) -> None:
    task_id = await create(api, **change)
    refused = (await api.post(f"/api/tasks/{task_id}/start")).expect(422)
    assert words in refused.json["detail"]
    assert (await api.get("/api/runs")).expect(200).json == {"items": [], "next": None}


async def test_a_run_is_paused_resumed_stopped_and_cancelled(api: Caller, services: Services) -> None:
    run_id = await start(api, await create(api))
    await begin(services, run_id)
    for verb, state in (
        *(("pause", "paused"), ("pause", "paused"), ("resume", "queued"), ("resume", "queued")),
        *(("stop", "stopped"), ("stop", "stopped"), ("resume", "queued"), ("pause", "paused")),
        *(("stop", "stopped"), ("cancel", "cancelled"), ("cancel", "cancelled")),
    ):
        answer = (await do(api, run_id, verb)).expect(202)
        assert (verb, answer.json["state"]) == (verb, state)
        assert answer.headers["Location"] == f"/api/runs/{run_id}"
        assert await state_of(api, run_id) == state
    for verb in ("pause", "resume", "stop"):
        refused = (await do(api, run_id, verb)).expect(409).json
        assert "cancelled" in refused["detail"]
        assert refused["hint"]


async def test_a_stop_waits_for_what_is_in_flight(api: Caller, services: Services) -> None:
    run_id = await start(api, await create(api))
    worker = await begin(services, run_id)
    (lease,) = (await services.installation.frontier.lease(worker, 1, [int(run_id)])).leases
    assert (await do(api, run_id, "stop")).expect(202).json["state"] == "stopping"
    assert "in flight" in (await do(api, run_id, "resume")).expect(409).json["hint"]
    (await do(api, run_id, "pause")).expect(409)
    await services.installation.frontier.release([lease])
    assert (await do(api, run_id, "resume")).expect(202).json["state"] == "queued"


async def test_what_failed_is_tried_again_in_the_same_run(api: Caller, services: Services) -> None:
    run_id = await start(api, await create(api))
    assert "nothing to retry" in (await do(api, run_id, "retry")).expect(409).json["detail"]
    await bury(services, run_id)
    assert await state_of(api, run_id) == "failed"
    page = (await api.get(f"/api/runs/{run_id}/failures")).expect(200).json
    assert [(one["url"], one["reason"]) for one in page["items"]] == [(ENTRY, "timeout: slow")]
    answer = (await do(api, run_id, "retry")).expect(202)
    assert (answer.json["run_id"], answer.json["state"], answer.json["requests"]) == (run_id, "queued", 1)


async def bury(services: Services, run_id: str) -> None:
    worker = await begin(services, run_id)
    (lease,) = (await services.installation.frontier.lease(worker, 1, [int(run_id)])).leases
    await services.installation.ledger.settle([closed(lease, "dead", "timeout: slow")])
    await services.installation.store.finish(int(run_id))
    await services.installation.frontier.leave(worker)


async def test_everything_is_tried_again_in_a_new_run_of_the_same_version(
    api: Caller, services: Services
) -> None:
    task_id = await create(api)
    run_id = await start(api, task_id)
    (await api.post(f"/api/runs/{run_id}/retry", {"which": "all"})).expect(409)
    await bury(services, run_id)
    (await api("PUT", f"/api/tasks/{task_id}", json={**TASK, "concurrency": 3})).expect(200)
    answer = (await api.post(f"/api/tasks/{task_id}/retry", {"which": "all"})).expect(202).json
    assert answer["run_id"] != run_id
    shown = (await api.get(f"/api/runs/{answer['run_id']}")).expect(200).json
    assert (shown["started_by"], shown["version"]) == (f"retry:{run_id}", 1)


async def test_turning_knobs_tells_what_it_replaced(api: Caller) -> None:
    run_id = await start(api, await create(api))
    change = {"concurrency": 2, "delay_s": 1.5, "rate_per_s": 0.5, "limits": {"max_pages": 10}}
    answer = (await api("PATCH", f"/api/runs/{run_id}", json=change)).expect(200).json
    assert answer["run_id"] == run_id
    assert answer["changed"] == {
        "concurrency": {"from": 16, "to": 2},
        "delay_s": {"from": 0.0, "to": 1.5},
        "rate_per_s": {"from": None, "to": 0.5},
        "max_pages": {"from": None, "to": 10},
    }
    assert answer["knobs"]["per_host"] == 4
    change = {"rate_per_s": None, "limits": {"max_pages": None}}
    answer = (await api("PATCH", f"/api/runs/{run_id}", json=change)).expect(200).json
    assert answer["changed"] == {
        "rate_per_s": {"from": 0.5, "to": None},
        "max_pages": {"from": 10, "to": None},
    }
    entries = (await api.get(f"/api/audit?subject=run:{run_id}&action=run.tuned")).expect(200).json["items"]
    assert [entry["actor"] for entry in entries] == ["admin", "admin"]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"concurrency": 0},
        {"concurrency": 10_001},
        {"concurrency": None},
        {"concurrency": "4"},
        {"delay_s": -1},
        {"rate_per_s": 0},
        {"per_host": True},
        {"priority": 1001},
        {"limits": {"max_pages": 0}},
        {"limits": {"pages": 1}},
        {"speed": 3},
    ],
)
async def test_a_knob_that_cannot_be_turned_so_is_refused_and_changes_nothing(
    api: Caller, change: dict[str, Any]
) -> None:
    run_id = await start(api, await create(api))
    before = (await api.get(f"/api/runs/{run_id}/metrics")).json["knobs"]
    (await api("PATCH", f"/api/runs/{run_id}", json=change)).expect(422)
    assert (await api.get(f"/api/runs/{run_id}/metrics")).json["knobs"] == before


async def test_a_run_that_is_over_has_no_knobs(api: Caller) -> None:
    run_id = await start(api, await create(api))
    (await do(api, run_id, "cancel")).expect(202)
    (await api("PATCH", f"/api/runs/{run_id}", json={"concurrency": 2})).expect(409)


async def test_a_cancelled_run_is_deleted_although_a_worker_holds_a_page(
    api: Caller, services: Services
) -> None:
    run_id = await start(api, await create(api))
    worker = await begin(services, run_id)
    (lease,) = (await services.installation.frontier.lease(worker, 1, [int(run_id)])).leases
    (await do(api, run_id, "pause")).expect(202)
    refused = (await api("DELETE", f"/api/runs/{run_id}")).expect(409).json
    assert refused["detail"] == f"run {run_id} is paused, and 1 of its requests are still in flight"
    (await do(api, run_id, "cancel")).expect(202)
    (await api("DELETE", f"/api/runs/{run_id}")).expect(204)
    assert (await services.installation.ledger.settle([done(lease, items=[{"title": "late"}])])).late == 1
    (await api.get(f"/api/runs/{run_id}")).expect(404)


async def test_a_run_that_nobody_works_on_is_deleted(api: Caller, services: Services) -> None:
    run_id = await start(api, await create(api))
    worker = await begin(services, run_id)
    (await api("DELETE", f"/api/runs/{run_id}")).expect(409)
    assert (await services.installation.frontier.lease(worker, 1, [int(run_id)])).leases
    (await do(api, run_id, "pause")).expect(202)
    (await api("DELETE", f"/api/runs/{run_id}")).expect(409)
    await services.installation.frontier.leave(worker)
    (await api("DELETE", f"/api/runs/{run_id}")).expect(204)
    (await api.get(f"/api/runs/{run_id}")).expect(404)
    (await api("DELETE", f"/api/runs/{run_id}")).expect(404)


async def test_pages_are_listed_by_state_and_cursor(api: Caller, services: Services) -> None:
    run_id = await start(api, await create(api, entry_urls=[f"{ENTRY}?n={n}" for n in range(5)]))
    worker = await begin(services, run_id)
    leases = (await services.installation.frontier.lease(worker, 2, [int(run_id)])).leases
    await services.installation.ledger.settle([done(lease, items=[{"title": "tea"}]) for lease in leases])
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await api.get(f"/api/runs/{run_id}/pages?limit=2{cursor}")).expect(200).json
        seen += [one["url"] for one in page["items"]]
        cursor = f"&cursor={page['next']}" if page["next"] else None
    assert seen == [f"{ENTRY}?n={n}" for n in range(5)]
    done_pages = (await api.get(f"/api/runs/{run_id}/pages?state=done")).expect(200).json["items"]
    assert [(one["state"], one["items"], one["status"]) for one in done_pages] == [("done", 1, 200)] * 2
    assert (await api.get(f"/api/runs/{run_id}/receipt")).expect(200).json["requests"] == 2


async def test_counters_follow_what_happens(api: Caller, services: Services) -> None:
    run_id = await start(api, await create(api, entry_urls=[f"{ENTRY}?n={n}" for n in range(4)]))
    worker = await begin(services, run_id)
    leases = (await services.installation.frontier.lease(worker, 3, [int(run_id)])).leases
    await services.installation.ledger.settle(
        [done(leases[0], items=[{"a": 1}, {"a": 2}]), failed(leases[1], delay_s=9.0)]
    )
    shown = (await api.get(f"/api/runs/{run_id}")).expect(200).json
    told = [shown[name] for name in ("total", "queued", "in_flight", "success_count", "items", "retry_count")]
    assert told == [4, 2, 1, 1, 2, 1]
    assert shown["running_workers"] == 1
    assert shown["pages_per_s"] > 0
    metrics = (await api.get(f"/api/runs/{run_id}/metrics")).expect(200).json
    assert [(host["host"], host["queued"], host["in_flight"]) for host in metrics["hosts"]] == [
        ("127.0.0.1", 1, 1)
    ]
    assert [(one["worker"], one["in_flight"]) for one in metrics["workers"]] == [("worker", 1)]


async def test_what_was_left_out_is_listed_by_reason_and_adds_up(api: Caller, services: Services) -> None:
    run_id = await start(api, await create(api, entry_urls=[f"{ENTRY}?n={n}" for n in range(3)]))
    worker = await begin(services, run_id)
    first, second, third = (await services.installation.frontier.lease(worker, 3, [int(run_id)])).leases
    links = [
        LeftOutLink(bytes([n]) * 16, f"http://u:secret@o.example/{n}", Refusal("scope_host", "scope: why"))
        for n in range(4)
    ]
    page = Close("done", items=[{"a": 1, "b": None}], left_out=[*links, NEXT_PAGE])
    await services.installation.ledger.settle(
        [Settlement(first, page), Settlement(second, Close("missing", "http 404", 404))]
    )
    await services.installation.ledger.settle([Settlement(third, Close("skipped", "why", cause="robots"))])
    for call in (f"/api/runs/{run_id}", f"/api/runs/{run_id}/metrics", f"/api/runs/{run_id}/receipt"):
        answer = (await api.get(call)).expect(200)
        assert b"secret" not in answer.body
        told = [(one["reason"], one["is_next_page"], one["count"]) for one in answer.json["left_out"]]
        assert told == [("robots", True, 1), ("scope_host", False, 4), ("robots", False, 1)]
        example = answer.json["left_out"][0]["example"]
        assert (example["url"], example["parent"]) == (NEXT_PAGE.url, first.request.url)
    shown = (await api.get(f"/api/runs/{run_id}")).expect(200).json
    parts = ("success_count", "redirect_count", "missing_count", "fail_count", "left_out_count")
    assert shown["seen"] == sum(shown[name] for name in parts) + shown["queued"] + shown["in_flight"] == 8
    assert (shown["missing_entries"], shown["missing_entry_count"]) == ([second.request.url], 1)
    assert shown["empty_fields"] == ["b"]
    listed = (await api.get("/api/runs")).expect(200).json["items"][0]
    assert (listed["seen"], listed["left_out_count"]) == (8, 6)


@pytest.mark.parametrize("run_id", ["99", "x", "-1", "1e3", "٣", "9" * 30])
async def test_a_run_that_is_not_there_is_not_found(api: Caller, run_id: str) -> None:
    for method, path in (
        *(("GET", ""), ("DELETE", ""), ("GET", "/metrics"), ("GET", "/failures"), ("GET", "/pages")),
        *(("GET", "/receipt"), ("GET", "/explain-stall"), ("POST", "/pause"), ("POST", "/retry")),
    ):
        answer = await api(method, f"/api/runs/{run_id}{path}")
        assert (path, answer.status, answer.json["code"]) == (path, 404, "not_found")


async def test_bad_lists_are_refused(api: Caller) -> None:
    for query in ("limit=0", "limit=1001", "cursor=x", "state=resting"):
        (await api.get(f"/api/runs?{query}")).expect(422)
    (await api.get("/api/runs?task_id=nobody")).expect(404)
