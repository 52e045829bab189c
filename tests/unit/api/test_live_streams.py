"""Runs, followed over WebSocket and server-sent events: every event once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.api.asking import Caller
from tests.unit.api.watching import listening, new_run, receive, receive_all, refusal, until, watching

from smartspider.operations.services import Services
from smartspider.services.fair_limit import SlotLimits
from smartspider.services.live.hub import HubLimits, LiveHub


def limit_hub(services: Services, limits: HubLimits) -> None:
    """Replace the hub before anybody watches."""
    found = services.installation
    services.hub = LiveHub(found.events, found.logs, limits)


def numbers(messages: list[Any]) -> list[int]:
    return [message["id"] for message in messages]


async def pause_and_go(services: Services, run_id: int, times: int = 1) -> None:
    for _ in range(times):
        await services.installation.store.set_state(run_id, "paused")
        await services.installation.store.set_state(run_id, "running")


async def end(services: Services, run_id: int) -> None:
    await services.installation.store.set_state(run_id, "cancelled", "enough")


async def count(services: Services, run_id: int) -> int:
    return len(await services.installation.events.of_run(run_id))


async def until_nobody_watches(services: Services) -> None:
    await until(lambda: not len(services.hub))


async def test_a_watcher_gets_what_was_and_what_comes_and_a_clean_end(
    api: Caller, services: Services
) -> None:
    run = await new_run(services)
    async with watching(api, f"/api/runs/{run.id}/events") as socket:
        first = await receive(socket)
        assert set(first) == {"id", "run_id", "at", "event", "data"}
        assert (first["id"], first["run_id"], first["event"]) == (1, str(run.id), "run.created")
        await pause_and_go(services, run.id)
        await end(services, run.id)
        rest = await receive_all(socket)
    assert numbers([first, *rest]) == list(range(1, await count(services, run.id) + 1))
    assert rest[-1]["event"] == "run.state"
    assert rest[-1]["data"]["to"] == "cancelled"
    await until_nobody_watches(services)


async def test_a_run_that_is_over_is_told_and_ended_at_once(api: Caller, services: Services) -> None:
    run = await new_run(services)
    await end(services, run.id)
    async with watching(api, f"/api/runs/{run.id}/events") as socket:
        assert numbers(await receive_all(socket)) == list(range(1, await count(services, run.id) + 1))


async def test_one_that_comes_back_misses_and_doubles_nothing(api: Caller, services: Services) -> None:
    run = await new_run(services)
    seen: list[Any] = []
    path = f"/api/runs/{run.id}/events?after="
    for _ in range(5):
        async with watching(api, f"{path}{seen[-1]['id'] if seen else 0}") as socket:
            seen.append(await receive(socket))
            await pause_and_go(services, run.id)
            seen.append(await receive(socket))
        await pause_and_go(services, run.id)
    await end(services, run.id)
    async with watching(api, f"{path}{seen[-1]['id']}") as socket:
        seen += await receive_all(socket)
    assert numbers(seen) == list(range(1, await count(services, run.id) + 1))


async def test_server_sent_events_have_the_same_messages_and_say_the_end(
    api: Caller, services: Services
) -> None:
    run = await new_run(services)
    await end(services, run.id)
    async with listening(api, f"/api/runs/{run.id}/events") as frames:
        found = [frame async for frame in frames]
    *events, last = found
    assert [frame["id"] for frame in events] == [str(frame["data"]["id"]) for frame in events]
    assert [frame["event"] for frame in events] == [frame["data"]["event"] for frame in events]
    assert numbers([frame["data"] for frame in events]) == list(range(1, await count(services, run.id) + 1))
    assert (last["event"], last["data"]["data"]) == ("stream.end", {"state": "cancelled", "reason": "enough"})
    assert "id" not in last
    async with watching(api, f"/api/runs/{run.id}/events") as socket:
        assert await receive_all(socket) == [frame["data"] for frame in events]


@pytest.mark.parametrize("way", ["header", "query"])
async def test_server_sent_events_go_on_after_a_number(api: Caller, services: Services, way: str) -> None:
    run = await new_run(services)
    await end(services, run.id)
    path = f"/api/runs/{run.id}/events" + ("?after=2" if way == "query" else "?after=1")
    headers = {"Last-Event-ID": "2"} if way == "header" else None
    async with listening(api, path, headers) as frames:
        found = [frame["data"]["id"] async for frame in frames]
    assert found == [*range(3, await count(services, run.id) + 1), None]


async def test_events_arrive_while_they_happen(api: Caller, services: Services) -> None:
    run = await new_run(services)
    last = await count(services, run.id)
    async with listening(api, f"/api/runs/{run.id}/events?after={last - 1}") as frames:
        assert (await anext(frames))["id"] == str(last)
        for number in range(3):
            await services.installation.store.set_state(run.id, ("paused", "running")[number % 2])
            while (frame := await anext(frames))["event"] != "run.state":
                pass
            assert frame["data"]["data"]["to"] == ("paused", "running")[number % 2]
        await end(services, run.id)
        found = [frame["event"] async for frame in frames]
    assert found[-2:] == ["run.state", "stream.end"]


async def test_events_that_are_forgotten_are_told_as_a_reset(api: Caller, services: Services) -> None:
    run = await new_run(services)
    await pause_and_go(services, run.id, 5)
    await end(services, run.id)
    last = await count(services, run.id)
    await services.installation.events.trim(run.id, 3)
    for path in ("", "?after=1", f"?after={last - 4}"):
        async with watching(api, f"/api/runs/{run.id}/events{path}") as socket:
            reset, *rest = await receive_all(socket)
        assert (reset["event"], reset["id"], reset["data"]) == ("stream.reset", None, {"first": last - 2}), (
            path
        )
        assert numbers(rest) == [last - 2, last - 1, last]
    async with watching(api, f"/api/runs/{run.id}/events?after={last - 3}") as socket:
        assert numbers(await receive_all(socket)) == [last - 2, last - 1, last]


async def test_a_number_that_was_never_there_begins_anew(api: Caller, services: Services) -> None:
    run = await new_run(services)
    await end(services, run.id)
    last = await count(services, run.id)
    async with watching(api, f"/api/runs/{run.id}/events?after=999") as socket:
        reset, *rest = await receive_all(socket)
    assert (reset["event"], reset["data"]) == ("stream.reset", {"first": 1})
    assert numbers(rest) == list(range(1, last + 1))
    async with watching(api, f"/api/runs/{run.id}/events?after={last}") as socket:
        assert await receive_all(socket) == []


async def test_one_who_follows_on_hears_of_a_run_that_is_resumed(api: Caller, services: Services) -> None:
    run = await new_run(services)
    await services.installation.store.set_state(run.id, "stopped")
    last = await count(services, run.id)
    async with watching(api, f"/api/runs/{run.id}/events?follow=true&after={last - 1}") as socket:
        assert (await receive(socket))["data"]["to"] == "stopped"
        await services.installation.store.set_state(run.id, "running")
        assert (await receive(socket))["id"] == last + 1
    async with watching(api, f"/api/runs/{run.id}/events?after={last + 1}") as socket:
        await services.installation.store.set_state(run.id, "stopped")
        assert (await receive_all(socket))[-1]["data"]["to"] == "stopped"


async def test_a_snapshot_comes_first_and_then_only_what_is_new(api: Caller, services: Services) -> None:
    run = await new_run(services)
    await pause_and_go(services, run.id, 3)
    last = await count(services, run.id)
    async with watching(api, f"/api/runs/{run.id}/events?snapshot=true") as socket:
        status = await receive(socket)
        assert (status["event"], status["id"]) == ("run.status", last)
        assert (status["data"]["state"], status["data"]["total"]) == ("running", 1)
        await end(services, run.id)
        rest = await receive_all(socket)
    assert numbers(rest) == list(range(last + 1, await count(services, run.id) + 1))


async def test_a_deleted_run_ends_its_streams(api: Caller, services: Services) -> None:
    limit_hub(services, HubLimits(keepalive_s=0.05))
    run = await new_run(services)
    async with listening(api, f"/api/runs/{run.id}/events?follow=true&after=1") as frames:
        await anext(frames)
        await end(services, run.id)
        await services.installation.store.delete_run(run.id)
        found = [frame async for frame in frames]
    assert found[-1]["data"]["data"]["state"] == "deleted"


async def test_a_slow_watcher_loses_nothing_and_holds_little(api: Caller, services: Services) -> None:
    """What it could not take in time it reads from the store."""
    limit_hub(services, HubLimits(queue_size=4))
    run = await new_run(services)
    async with watching(api, f"/api/runs/{run.id}/events") as socket:
        await receive(socket)
        await pause_and_go(services, run.id, 200)
        await end(services, run.id)
        rest = await receive_all(socket)
    assert numbers(rest) == list(range(2, await count(services, run.id) + 1))


async def test_many_watchers_see_the_same(api: Caller, services: Services) -> None:
    runs = [await new_run(services, f"task {number}") for number in range(3)]
    paths = [f"/api/runs/{runs[number % 3].id}/events" for number in range(30)]

    async def watch(path: str) -> list[Any]:
        async with watching(api, path) as socket:
            return await receive_all(socket)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(watch(path)) for path in paths]
        for _ in range(10):
            for run in runs:
                await pause_and_go(services, run.id)
            await asyncio.sleep(0.01)
        for run in runs:
            await end(services, run.id)
    for number, task in enumerate(tasks):
        assert numbers(task.result()) == list(range(1, await count(services, runs[number % 3].id) + 1))
    await until_nobody_watches(services)


async def test_the_stream_of_a_task_goes_on_with_its_next_run(api: Caller, services: Services) -> None:
    first = await new_run(services, "shop")
    await new_run(services, "another")
    async with watching(api, "/api/tasks/shop/ws") as socket:
        assert (await receive(socket))["run_id"] == str(first.id)
        await end(services, first.id)
        while (await receive(socket))["data"].get("to") != "cancelled":
            pass
        second = await new_run(services, "shop")
        third = await new_run(services, "shop")
        message = await receive(socket)
        assert (message["run_id"], message["id"]) == (str(second.id), 1)
        await end(services, second.id)
        seen = [message]
        while seen[-1]["run_id"] == str(second.id):
            seen.append(await receive(socket))
        assert numbers(seen[:-1]) == list(range(1, await count(services, second.id) + 1))
        assert (seen[-1]["run_id"], seen[-1]["id"]) == (str(third.id), 1)
    path = f"/api/tasks/shop/ws?run_id={first.id}&after=2&follow=false"
    await end(services, third.id)
    async with watching(api, path) as socket:
        seen = await receive_all(socket)
    assert (seen[0]["run_id"], seen[0]["id"]) == (str(first.id), 3)
    assert {message["run_id"] for message in seen} == {str(run.id) for run in (first, second, third)}


async def test_the_stream_of_a_task_waits_for_its_first_run(api: Caller, services: Services) -> None:
    run = await new_run(services, "shop")
    task = await services.installation.tasks.get("shop")
    await end(services, run.id)
    await services.installation.store.delete_run(run.id)
    async with watching(api, f"/api/tasks/{task.id}/ws") as socket:
        next_run = await new_run(services, "shop")
        assert (await receive(socket))["run_id"] == str(next_run.id)


async def test_streams_are_refused_like_requests(api: Caller, services: Services) -> None:
    run = await new_run(services)
    blind = (await api.post("/api/tokens", {"name": "blind", "role": "worker"})).expect(201).json["token"]
    paths = (
        f"/api/runs/{run.id}/events",
        "/api/tasks/task/ws",
        "/api/logs/tail",
        f"/api/runs/{run.id}/logs/tail",
    )
    for path in paths:
        assert await refusal(api.with_token(None), path) == 401, path
        assert await refusal(api.with_token("forged"), path) == 401, path
        assert await refusal(api.with_token(blind), path) == 403, path
    assert await refusal(api, "/api/runs/999/events") == 404
    assert await refusal(api, "/api/runs/x/events") == 404
    assert await refusal(api, "/api/tasks/nothing/ws") == 404
    assert await refusal(api, f"/api/runs/{run.id}/events?after=x") == 422
    assert await refusal(api, "/api/logs/tail?level=loud") == 422
    assert await refusal(api, "/api/runs/999/logs/tail") == 404
    (await api.get("/api/runs/999/events")).expect(404)
    (await api.get(f"/api/runs/{run.id}/events?after=-1")).expect(422)
    (await api.with_token(None).get(f"/api/runs/{run.id}/events")).expect(401)


async def test_a_ticket_opens_a_stream_once(api: Caller, services: Services) -> None:
    run = await new_run(services)
    ticket = (await api.post("/api/auth/ticket")).expect(200).json["ticket"]
    path = f"/api/runs/{run.id}/events?ticket={ticket}"
    async with watching(api.with_token(None), path) as socket:
        assert (await receive(socket))["id"] == 1
    assert await refusal(api.with_token(None), path) == 401


async def test_too_many_watchers_are_refused(api: Caller, services: Services) -> None:
    run = await new_run(services)
    limit_hub(services, HubLimits(slots=SlotLimits(total=1)))
    async with watching(api, f"/api/runs/{run.id}/events") as socket:
        await receive(socket)
        assert await refusal(api, f"/api/runs/{run.id}/events") == 429
        assert await refusal(api, "/api/logs/tail") == 429
        (await api.get(f"/api/runs/{run.id}/events")).expect(429)


async def test_a_server_that_stops_ends_its_streams(api: Caller, services: Services) -> None:
    run = await new_run(services)
    async with (
        watching(api, f"/api/runs/{run.id}/events?after=2") as socket,
        listening(api, f"/api/runs/{run.id}/events?after=2") as frames,
    ):
        await until(lambda: len(services.hub) == 2)
        services.hub.stop()
        await socket.receive()
        while not socket.closed:
            await socket.receive()
        assert socket.close_code == 1012
        assert all([frame["event"] == "run.state" async for frame in frames])
    await until_nobody_watches(services)


async def test_one_who_leaves_is_forgotten(api: Caller, services: Services) -> None:
    run = await new_run(services)
    async with listening(api, f"/api/runs/{run.id}/events") as frames:
        await anext(frames)
        assert len(services.hub) == 1
    await until_nobody_watches(services)


async def test_what_a_watcher_says_is_not_listened_to(api: Caller, services: Services) -> None:
    run = await new_run(services)
    async with watching(api, f"/api/runs/{run.id}/events") as socket:
        await socket.send_str("x" * 100_000)
        await socket.send_bytes(b"\xff\x00")
        assert (await receive(socket))["id"] == 1


async def test_nobody_looks_while_nobody_watches(services: Services) -> None:
    def is_polling() -> bool:
        return services.hub.is_polling

    assert not is_polling()
    with services.hub.subscribe_logs("ann"):
        assert is_polling()
    await until(lambda: not is_polling())
