"""The overview: what runs, what needs a person, what comes next."""

from __future__ import annotations

from typing import Any

from tests.unit.api.asking import Caller
from tests.unit.api.test_runs_route import begin, create, start

from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.operations.services import Services
from smartspider_testing.contracts.actions import closed, done


async def overview(api: Caller) -> dict[str, Any]:
    found: dict[str, Any] = (await api.get("/api/overview")).expect(200).json
    return found


def kinds(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["kind"], one["subject_id"]) for one in found["attention"]]


async def finish(services: Services, run_id: str, *, items: int, failed: bool = False) -> None:
    """Fetch the page of a run: its items, or a failure."""
    worker = await begin(services, run_id)
    installation = services.installation
    leases = (await installation.frontier.lease(worker, 9, [int(run_id)])).leases
    assert leases
    for lease in leases:
        page = closed(lease, "dead", "http 500") if failed else done(lease, items=[{"n": 1}] * items)
        await installation.ledger.settle([page])
    await installation.store.finish(int(run_id))
    await installation.frontier.leave(worker)


async def test_an_empty_installation_has_an_empty_overview(api: Caller) -> None:
    found = await overview(api)
    assert (found["runs"], found["active"], found["tasks"], found["next_firings"]) == ({}, [], [], [])
    assert found["attention"] == []


async def test_active_runs_and_their_tasks_are_shown(api: Caller, services: Services) -> None:
    task = await create(api)
    run = await start(api, task)
    await begin(services, run)
    found = await overview(api)
    assert found["runs"] == {"running": 1}
    (active,) = found["active"]
    listed = (await api.get("/api/runs")).expect(200).json["items"]
    assert (active["run_id"], active["total"], active["queued"]) == (run, 1, 1)
    assert listed[0]["run_id"] == run
    assert {"pages_per_s", "eta_s"} <= listed[0].keys()
    (line,) = found["tasks"]
    assert (line["name"], line["recent"][0]["run_id"], line["recent"][0]["state"]) == ("shop", run, "running")
    assert [node["workers"] for node in found["nodes"]] == [1]


async def test_a_failed_run_needs_attention_until_its_task_has_a_newer_one(
    api: Caller, services: Services
) -> None:
    task = await create(api)
    first = await start(api, task)
    await finish(services, first, items=0, failed=True)
    (attention,) = (await overview(api))["attention"]
    assert (attention["kind"], attention["subject_id"], attention["subject"]) == ("run_failed", first, "shop")
    assert attention["actions"] == ["see_problems", "retry_run"]
    assert attention["since"]
    second = await start(api, task)
    assert kinds(await overview(api)) == []
    await finish(services, second, items=3)
    assert kinds(await overview(api)) == []


async def test_far_fewer_rows_than_usual_need_attention(api: Caller, services: Services) -> None:
    task = await create(api)
    for items in (10, 12, 11, 1):
        run = await start(api, task)
        await finish(services, run, items=items)
    (attention,) = (await overview(api))["attention"]
    assert (attention["kind"], attention["subject_id"]) == ("few_rows", run)
    assert attention["text"] == "1 row; usually there are 11"
    (line,) = (await api.get("/api/tasks")).expect(200).json["items"]
    assert [one["items"] for one in line["recent"]] == [10, 12, 11, 1]


async def test_a_run_that_a_guard_paused_needs_attention_and_one_paused_by_a_person_does_not(
    api: Caller, services: Services
) -> None:
    runs = [await start(api, await create(api, name=name)) for name in ("a", "b")]
    await services.installation.store.set_state(int(runs[0]), "running")
    await services.installation.store.set_state(int(runs[0]), "paused", "guard: 5 failures in a row")
    await api.post(f"/api/runs/{runs[1]}/pause")
    assert kinds(await overview(api)) == [("run_paused", runs[0])]


async def test_a_held_host_of_a_run_needs_attention(api: Caller, services: Services) -> None:
    run = await start(api, await create(api))
    await services.installation.store.set_state(int(run), "running")
    (await api.post("/api/hosts/127.0.0.1/hold", {"seconds": 600, "reason": "429"})).expect(200)
    (attention,) = (await overview(api))["attention"]
    assert (attention["kind"], attention["subject"]) == ("host_held", "127.0.0.1")
    assert attention["actions"] == ["resume_host"]


async def test_a_due_schedule_is_named_with_its_task(api: Caller) -> None:
    task = await create(api)
    (await api.post("/api/schedules", {"task_id": task, "cron": "0 3 * * *"})).expect(201)
    found = await overview(api)
    (due,) = found["next_firings"]
    (line,) = (await api.get("/api/tasks")).expect(200).json["items"]
    assert (due["task"], due["at"]) == ("shop", line["next_fire_at"])


async def test_the_series_of_a_run_adds_up_to_its_counters(api: Caller, services: Services) -> None:
    run = await start(api, await create(api))
    await finish(services, run, items=4)
    series = (await api.get(f"/api/runs/{run}/series")).expect(200).json
    status = (await api.get(f"/api/runs/{run}")).expect(200).json
    assert sum(one["success"] for one in series["points"]) == status["success_count"] == 1
    assert sum(one["items"] for one in series["points"]) == status["items"] == 4
    assert [mark["event"] for mark in series["marks"]] == ["run.state", "run.state"]
    total = (await api.get("/api/series?points=4")).expect(200).json
    assert (len(total["points"]), sum(one["items"] for one in total["points"])) == (4, 4)
    wrong = await api.get(f"/api/runs/{run}/series?since=2030-01-01T00:00:00Z&until=2029-01-01T00:00:00Z")
    assert wrong.expect(422).json["detail"] == "`since` is later than `until`"
    (await api.get("/api/runs/99/series")).expect(404)


async def test_a_verdict_of_a_page_without_items_is_in_the_series(api: Caller, services: Services) -> None:
    run = await start(api, await create(api))
    worker = await begin(services, run)
    (lease,) = (await services.installation.frontier.lease(worker, 9, [int(run)])).leases
    await services.installation.ledger.settle([Settlement(lease, Close("missing", "http 404", 404))])
    await services.installation.store.finish(int(run))
    series = (await api.get(f"/api/runs/{run}/series")).expect(200).json
    assert sum(one["missing"] for one in series["points"]) == 1
