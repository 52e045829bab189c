"""Slots that one user holds do not shut out another: exports, previews, streams, sockets and queries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
import pytest
from tests.unit.api.asking import Answer, Caller
from tests.unit.api.doors import make_token
from tests.unit.api.rows import TEA, crawled

from smartspider.api.limits import ApiLimits
from smartspider.operations.services import Services
from smartspider.services.fair_limit import FairLimit, SlotLimits
from smartspider_testing.waiting import WAIT_S

FEW = SlotLimits(total=4, retry_after_s=3.0)


@pytest.fixture
async def greedy(services: Services, api: Caller) -> Caller:
    return api.with_token(await make_token(services, "greedy", "operator"))


@pytest.fixture
async def modest(services: Services, api: Caller) -> Caller:
    return api.with_token(await make_token(services, "modest", "operator"))


def shown(text: str, kind: str) -> dict[str, float]:
    """The metrics of a kind of slots, by the end of their names."""
    mark = f'{{kind="{kind}"}} '
    lines = [
        line.removeprefix("smartspider_api_slots").split(mark) for line in text.splitlines() if mark in line
    ]
    return {name: float(value) for name, value in lines}


@asynccontextmanager
async def slow_export(caller: Caller, run_id: int) -> AsyncIterator[aiohttp.ClientResponse]:
    headers = {"Authorization": f"Bearer {caller.token}"}
    url = f"{caller.base}/api/results/export?run_id={run_id}"
    async with (
        aiohttp.ClientSession(read_bufsize=1024) as session,
        session.post(url, headers=headers) as answer,
    ):
        yield answer


async def test_slowly_read_exports_of_one_user_leave_room_for_others(
    services: Services, api: Caller, greedy: Caller, modest: Caller
) -> None:
    run = await crawled(services.installation, [{**TEA[0], "name": "x" * 1_000_000}] * 20)
    services.exports.slots = FairLimit("exports", FEW)
    async with AsyncExitStack() as stack:
        answers = [await stack.enter_async_context(slow_export(greedy, run.id)) for _ in range(6)]
        assert [answer.status for answer in answers] == [200, 200, 429, 429, 429, 429]
        assert answers[-1].headers["Retry-After"] == "3"
        assert "token:greedy has 2 exports" in (await answers[-1].json())["detail"]
        (await modest.post(f"/api/results/export?run_id={run.id}")).expect(200)
        seen = shown((await api.get("/metrics")).expect(200).body.decode(), "exports")
        assert seen == {"": 4, "_in_use": 2, "_awaited": 0, "_refused_total": 4}


@pytest.mark.parametrize("limits", [ApiLimits(slow_s=0.05, min_bytes_per_s=1e9)])
async def test_an_export_that_is_read_too_slowly_gives_its_slot_back(
    services: Services, greedy: Caller
) -> None:
    run = await crawled(services.installation, [{**TEA[0], "name": "x" * 1_000_000}] * 40)
    async with slow_export(greedy, run.id) as answer:
        while services.exports.slots.in_use:
            assert await answer.content.read(100_000)
            await asyncio.sleep(0.02)
        with pytest.raises(aiohttp.ClientError):
            await answer.read()


@pytest.mark.parametrize(
    "path", ["/api/runs/{}/events", "/api/logs/tail", "/api/runs/{}/logs/tail", "/api/tasks/{}/ws"]
)
async def test_sockets_of_one_user_leave_room_for_others(
    services: Services, greedy: Caller, modest: Caller, path: str
) -> None:
    run = await crawled(services.installation)
    path = path.format(run.task_id if "tasks" in path else run.id) + (
        "?follow=true" if "events" in path else ""
    )
    services.hub.slots = FairLimit("streams", FEW)

    async def opened(caller: Caller) -> Any:
        headers = {"Authorization": f"Bearer {caller.token}"}
        return await caller.session.ws_connect(caller.base + path, headers=headers)

    sockets = [await opened(greedy), await opened(greedy)]
    async with asyncio.timeout(WAIT_S):
        while len(services.hub) < 2:  # noqa: ASYNC110 - it is subscribed somewhere in a server
            await asyncio.sleep(0.001)
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await opened(greedy)
    assert refused.value.status == 429
    sockets.append(await opened(modest))
    for socket in sockets:
        await socket.close()


async def test_event_streams_of_one_user_leave_room_for_others(
    services: Services, greedy: Caller, modest: Caller
) -> None:
    run = await crawled(services.installation)
    services.hub.slots = FairLimit("streams", FEW)
    path = f"/api/runs/{run.id}/events?follow=true"
    with services.hub.slots.acquire("token:greedy"), services.hub.slots.acquire("token:greedy"):
        assert (await greedy.get(path)).expect(429).headers["Retry-After"] == "3"
        headers = {"Authorization": f"Bearer {modest.token}"}
        async with modest.session.get(modest.base + path, headers=headers) as answer:
            assert answer.status == 200
            assert await answer.content.readline()


async def test_waiting_previews_of_one_user_leave_room_for_others(
    services: Services, greedy: Caller, modest: Caller
) -> None:
    slots = services.previews.slots = FairLimit("previews", SlotLimits(total=2, waiting=2, retry_after_s=9.0))
    wish = {"url": "http://127.0.0.1:9/", "rules": "a"}  # fails when its turn has come
    async with slots.turn("token:greedy"):
        waiting = asyncio.create_task(greedy.post("/api/preview", wish))
        while not slots.waiting:  # noqa: ASYNC110 - it waits somewhere in a server
            await asyncio.sleep(0.001)
        refused = (await greedy.post("/api/preview", wish)).expect(429)
        assert refused.headers["Retry-After"] == "9"
        answered: Answer = await modest.post("/api/preview", wish)
        assert answered.status == 422
        assert not waiting.done()
    assert (await waiting).status == 422


async def test_queries_of_one_user_leave_room_for_others(
    services: Services, greedy: Caller, modest: Caller
) -> None:
    run = await crawled(services.installation)
    path = f"/api/results?run_id={run.id}"
    services.queries = FairLimit("queries", SlotLimits(total=2))
    async with services.queries.turn("token:greedy"):
        (await greedy.get(path)).expect(429)
        assert len((await modest.get(path)).expect(200).json["items"]) == len(TEA)
        (await greedy.get(f"/api/runs/{run.id}")).expect(200)  # a status is always answered
