"""The live socket, watched by a client whose connection breaks."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from tests.unit.api.asking import ADMIN_TOKEN
from tests.unit.api.watching import new_run, until
from tests.unit.client.breaking import IMPATIENT, Wire

from smartspider.api.limits import ApiLimits
from smartspider.client import Client, LiveMessage, LiveStream, SyncClient
from smartspider.core import errors
from smartspider.core.logs import LogLine
from smartspider.operations.services import Services
from smartspider_testing.waiting import WAIT_S

CUTS = 20


async def first(live: LiveStream, kind: str) -> LiveMessage:
    async with asyncio.timeout(WAIT_S), aclosing(live.messages()) as messages:
        async for message in messages:
            if message.type == kind:
                return message
    raise AssertionError


async def test_a_connection_that_is_cut_loses_and_doubles_nothing(
    services: Services, far: Client, cut: Wire
) -> None:
    run = await new_run(services)
    numbers: list[int] = []
    texts: list[str] = []
    begun = 0
    live = far.live()
    await live.watch("shop", "run", run_id=str(run.id), after=0)
    await live.watch("lines", "logs", after="0", level="info")
    await live.watch("machines", "nodes")

    async def follow() -> None:
        nonlocal begun
        async for message in live:
            begun += (message.id, message.type) == ("machines", "ready")
            data: Any = message.data or {}
            numbers.extend(event["id"] for event in data.get("events", ()))
            texts.extend(one["text"] for one in data.get("lines", ()))

    following = asyncio.create_task(follow())
    for number in range(CUTS):
        await until(lambda: begun > number)  # noqa: B023 - called at once
        for state in ("paused", "running"):
            await services.installation.store.set_state(run.id, state)
        await services.installation.logs.add([LogLine(1.0, 20, "x", f"{number}")])
        if number % 2:  # else it is cut before they have arrived
            await until(lambda: f"{number}" in texts)  # noqa: B023 - called at once
        cut.cut()
    events = await services.installation.events.of_run(run.id)
    async with asyncio.timeout(WAIT_S):
        await until(lambda: following.done() or (len(numbers) >= len(events) and len(texts) >= CUTS))
    await asyncio.sleep(0.3)  # a double would arrive now
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    assert numbers == [event.number for event in events]
    assert texts == [str(number) for number in range(CUTS)]


async def test_a_watch_that_ends_is_heard_of_no_more(client: Client, services: Services) -> None:
    run = await new_run(services)
    live = client.live()
    await live.watch("a", "run", run_id=str(run.id), after=0)
    async with asyncio.timeout(WAIT_S), aclosing(live.messages()) as messages:
        assert (await anext(messages)).type == "ready"
        assert (await anext(messages)).id == "a"
        await live.unwatch("a")
        await live.unwatch("a")
        await live.watch("a", "nodes")
        ready = await anext(messages)
        assert (ready.type, ready.topic) == ("ready", "nodes")
        assert "items" in (await anext(messages)).data


async def test_what_is_wrong_with_a_watch_is_told_and_the_others_go_on(client: Client) -> None:
    live = client.live()
    await live.watch("a", "news")
    await live.watch("b", "runs")
    with pytest.raises(errors.Conflict):
        await live.watch("b", "nodes")
    message = await first(live, "error")
    assert (message.id, message.data["code"]) == ("a", "not_found")
    assert (await first(live, "data")).id == "b"
    await live.watch("a", "nodes")


@pytest.mark.parametrize("limits", [ApiLimits(recheck_s=0.02)])
async def test_one_whose_token_is_revoked_is_told_so(url: str, client: Client) -> None:
    made = await client.create_token("eye", role="viewer")
    async with Client(url, made.token, retry=IMPATIENT) as viewer:
        live = viewer.live()
        await live.watch("a", "runs")
        await first(live, "ready")
        messages = live.messages()
        await anext(messages)
        await client.revoke_token(made.id)
        with pytest.raises(errors.NotSignedIn):
            async for _ in messages:
                pass


async def test_a_script_watches_without_asyncio(url: str) -> None:
    def script() -> tuple[str, Any]:
        with SyncClient(url, ADMIN_TOKEN) as client:
            live = client.live()
            live.watch("a", "runs")
            ready, data, *_ = (message for _, message in zip(range(2), live.messages(), strict=False))
            return ready.type, data.data

    assert await asyncio.to_thread(script) == ("ready", {"items": [], "next": None})
