"""Log lines over the API: found again, and followed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.asking import Caller
from tests.unit.api.watching import new_run, receive, until, watching

from smartspider.core.logs import LEVELS, LogLine
from smartspider.operations.services import Services


def line(services: Services, text: str, level: str = "info", **more: Any) -> LogLine:
    return LogLine(services.installation.clock.now(), LEVELS[level], "thing.done", text, **more)


async def texts(api: Caller, path: str) -> list[str]:
    return [one["text"] for one in (await api.get(path)).expect(200).json["items"]]


async def test_a_line_is_told_with_all_it_has(api: Caller, services: Services) -> None:
    run = await new_run(services)
    await services.installation.logs.add(
        [
            line(
                *(services, "timeout; attempt 1", "warning"),
                worker="worker 0",
                run_id=run.id,
                host="h.example",
                url="http://h.example/p",
                error="timeout",
                fields={"attempts": 1},
            )
        ]
    )
    (one,) = (await api.get("/api/logs")).expect(200).json["items"]
    assert one.pop("at").endswith("Z")
    assert one == {
        "id": "1",
        "level": "warning",
        "event": "thing.done",
        "text": "timeout; attempt 1",
        "worker": "worker 0",
        "task_id": str(run.task_id),
        "run_id": str(run.id),
        "host": "h.example",
        "url": "http://h.example/p",
        "error": "timeout",
        "fields": {"attempts": 1},
    }


async def test_lines_are_listed_newest_first_page_by_page(api: Caller, services: Services) -> None:
    await services.installation.logs.add([line(services, str(number)) for number in range(7)])
    found: list[str] = []
    path = "/api/logs?limit=3"
    while True:
        page = (await api.get(path)).expect(200).json
        found += [one["text"] for one in page["items"]]
        if page["next"] is None:
            break
        path = f"/api/logs?limit=3&cursor={page['next']}"
    assert found == [str(number) for number in reversed(range(7))]


async def test_every_filter_holds(api: Caller, services: Services) -> None:
    old, run, other = [await new_run(services, name) for name in ("shop", "shop", "other")]
    now = services.installation.clock.now()
    await services.installation.logs.add(
        [
            line(services, "old", run_id=old.id),
            line(services, "new timeout", "warning", run_id=run.id, host="h.example", error="timeout"),
            line(services, "page", run_id=run.id, url="http://h.example/catalogue/7", worker="worker 3"),
            line(services, "elsewhere", "error", run_id=other.id),
        ]
    )
    for path, wanted in {
        f"/api/runs/{run.id}/logs": ["page", "new timeout"],
        f"/api/runs/{run.id}/logs?level=warning": ["new timeout"],
        "/api/tasks/shop/logs": ["page", "new timeout"],
        f"/api/tasks/{other.task_id}/logs": ["elsewhere"],
        "/api/logs?task_id=shop": ["page", "new timeout", "old"],
        f"/api/logs?run_id={old.id}": ["old"],
        "/api/logs?level=error": ["elsewhere"],
        "/api/logs?level=error&level=info": ["elsewhere", "page", "old"],
        "/api/logs?level=info&level=info": ["page", "old"],
        "/api/logs?url=http://h.example/catalogue/7": ["page"],
        "/api/logs?url=http://h.example/catalogue": [],
        "/api/logs?host=h.example": ["new timeout"],
        "/api/logs?error=timeout": ["new timeout"],
        "/api/logs?worker=worker%203": ["page"],
        "/api/logs?text=catalogue/7": ["page"],
        f"/api/logs?since={now - 60}&level=warning": ["elsewhere", "new timeout"],
        f"/api/logs?since={now + 60}": [],
        "/api/logs?until=2001-01-01": [],
        "/api/logs?since=2001-01-01T00:00:00%2B02:00&text=old": ["old"],
        "/api/logs?since=2001-01-01T00:00:00+02:00&text=old": ["old"],
        "/api/logs?since=2001-01-01%2000:00:00&text=old": ["old"],
    }.items():
        assert await texts(api, path) == wanted, path


async def test_a_task_without_a_run_has_no_lines(api: Caller, services: Services) -> None:
    run = await new_run(services, "shop")
    await services.installation.store.set_state(run.id, "cancelled")
    await services.installation.store.delete_run(run.id)
    assert await texts(api, "/api/tasks/shop/logs") == []


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/logs?level=loud", 422),
        ("/api/logs?level=info&level=loud", 422),
        ("/api/logs?around=x", 404),
        ("/api/logs?around=1", 404),
        ("/api/logs?around=1&context=501", 422),
        ("/api/logs?since=yesterday", 422),
        ("/api/logs?until=nan", 422),
        ("/api/logs?until=1e999", 422),
        ("/api/logs?since=9999999999999999", 422),
        ("/api/logs?text=!!", 422),
        ("/api/logs?cursor=x", 422),
        ("/api/logs?limit=0", 422),
        ("/api/logs?limit=1001", 422),
        ("/api/logs?task_id=nothing", 404),
        ("/api/logs?run_id=x", 404),
        ("/api/runs/99/logs", 404),
        ("/api/tasks/nothing/logs", 404),
    ],
)
async def test_what_makes_no_sense_is_a_problem(api: Caller, path: str, status: int) -> None:
    problem = (await api.get(path)).expect(status).json
    assert problem["detail"]
    assert problem["code"] in ("task_invalid", "request_invalid", "not_found")


@pytest.mark.parametrize(
    "text", ['"', "a AND", "NEAR(a b)", "words:a", "*", "^a", "a\x00b", "%F0", "٣", "\uff41"]
)
async def test_no_text_breaks_the_search(api: Caller, services: Services, text: str) -> None:
    await services.installation.logs.add([line(services, "plain")])
    assert (await api("GET", "/api/logs", params={"text": text})).status in (200, 422)


async def test_the_lines_around_one_are_listed(api: Caller, services: Services) -> None:
    run, other = await new_run(services), await new_run(services, "other")
    lines = [line(services, str(number), run_id=run.id) for number in range(100)]
    await services.installation.logs.add([*lines, line(services, "of another", run_id=other.id)])
    path = f"/api/runs/{run.id}/logs?around=50&context=2"
    page = (await api.get(path)).expect(200).json
    assert [one["text"] for one in page["items"]] == ["51", "50", "49", "48", "47"]
    assert await texts(api, f"/api/runs/{run.id}/logs?limit=2&cursor={page['next']}") == ["46", "45"]
    assert await texts(api, "/api/logs?around=100&context=1") == ["of another", "99", "98"]
    assert await texts(api, "/api/logs?around=1&context=1") == ["1", "0"]
    assert await texts(api, "/api/logs?around=7&context=0") == ["6"]
    assert await texts(api, "/api/logs?around=50&context=1&text=8") == ["49", "8"]
    (await api.get(f"/api/runs/{other.id}/logs?around=50")).expect(404)


async def test_lines_are_counted_over_time(api: Caller, services: Services) -> None:
    run = await new_run(services)
    now = services.installation.clock.now()
    at = services.installation.clock.now() - 60
    lines = [LogLine(at, LEVELS[level], "a.b", level, run_id=run.id) for level in ("info", "info", "error")]
    await services.installation.logs.add([*lines, line(services, "other", "debug")])
    path = f"/api/logs/histogram?from={at - 10}&to={at + 30}&points=4&run_id={run.id}"
    found = (await api.get(path)).expect(200).json
    assert (found["step_s"], found["is_estimated"]) == (10.0, False)
    assert [point["info"] for point in found["points"]] == [0, 2, 0, 0]
    assert found["points"][1] | {"at": ""} == {"at": "", "debug": 0, "info": 2, "warning": 0, "error": 1}
    hour = (await api.get("/api/logs/histogram?level=debug&level=error")).expect(200).json
    assert len(hour["points"]) == 60
    assert sum(point["debug"] + point["error"] for point in hour["points"]) == 2
    assert not any(point["info"] for point in hour["points"])
    for wrong in ("points=0", "points=201", f"from={now}&to={now - 1}", "from=x", "level=loud", "since=1"):
        (await api.get(f"/api/logs/histogram?{wrong}")).expect(422)


async def test_a_tail_begins_now_and_goes_on(api: Caller, services: Services) -> None:
    await services.installation.logs.add([line(services, "before")])
    async with watching(api, "/api/logs/tail?level=warning") as socket:
        await until(lambda: len(services.hub))
        await services.installation.logs.add([line(services, "quiet"), line(services, "loud", "error")])
        assert (await receive(socket))["text"] == "loud"
        await services.installation.logs.add([line(services, "louder", "error")])
        message = await receive(socket)
        assert (message["text"], message["id"]) == ("louder", "4")


async def test_a_tail_that_comes_back_misses_nothing(api: Caller, services: Services) -> None:
    run = await new_run(services)
    await services.installation.logs.add(
        [line(services, str(number), run_id=run.id) for number in range(500)]
    )
    await services.installation.logs.add([line(services, "of another")])
    async with watching(api, f"/api/runs/{run.id}/logs/tail?after=0") as socket:
        first = [await receive(socket) for _ in range(300)]
    async with watching(api, f"/api/runs/{run.id}/logs/tail?after={first[-1]['id']}") as socket:
        rest = [await receive(socket) for _ in range(200)]
        await services.installation.logs.add([line(services, "last", run_id=run.id)])
        rest.append(await receive(socket))
    assert [one["text"] for one in (*first, *rest)] == [*map(str, range(500)), "last"]
