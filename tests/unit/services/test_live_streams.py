"""Live streams at the moments when an event could be missed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from smartspider.core.runs.run import Run
from smartspider.installation.data_folder import DataFolder
from smartspider.services.live.hub import KEEPALIVE, HubLimits, LiveHub, StreamMessage, hub_limits
from smartspider.services.live.streams import END, StreamOptions, follow_run
from smartspider.wiring.opening import open_folder
from smartspider_testing.contracts.actions import plan_of
from smartspider_testing.waiting import WAIT_S


class Before:
    """Something that does something else first, once."""

    def __init__(self, inner: object, method: str, act: Callable[[], Awaitable[Any]], after: int = 0) -> None:
        self._inner, self._method, self._act, self._left = inner, method, act, after

    def __getattr__(self, name: str) -> Any:
        own = getattr(self._inner, name)
        if name != self._method:
            return own

        async def called(*args: Any, **more: Any) -> Any:
            self._left -= 1
            if self._left == -1:
                await self._act()
            return await own(*args, **more)

        return called


@pytest.fixture
async def folder(tmp_path: Path) -> AsyncIterator[DataFolder]:
    with open_folder(tmp_path) as opened:
        yield opened


async def running(folder: DataFolder) -> Run:
    run = await folder.store.create_run(plan_of("one"))
    return await folder.store.set_state(run.id, "running")


async def received(
    folder: DataFolder, hub: LiveHub, run_id: int, count: int | None = None
) -> list[StreamMessage]:
    found: list[StreamMessage] = []
    async with asyncio.timeout(WAIT_S), aclosing(follow_run(folder, hub, run_id)) as messages:
        async for message in messages:
            if message is not KEEPALIVE:
                found.append(message)
            if len(found) == count:
                break
    return found


async def test_what_happens_before_the_first_look_is_not_missed(folder: DataFolder) -> None:
    """The reader has read the store; then something happens; only then the hub begins to poll."""
    run = await running(folder)
    known = len(await folder.events.of_run(run.id))
    feed = cast("Any", Before(folder.events, "last_id", lambda: folder.store.set_state(run.id, "paused")))
    hub = LiveHub(feed, folder.logs)
    messages = await received(folder, hub, run.id, known + 1)
    assert [message.number for message in messages] == list(range(1, known + 2))
    await hub.close()


async def test_a_run_that_ends_while_it_is_looked_at_is_told_to_the_end(folder: DataFolder) -> None:
    """The reader has all there was; the run ends; only then its state is read."""
    run = await running(folder)
    store = cast(
        "Any", Before(folder.store, "get_run", lambda: folder.store.set_state(run.id, "cancelled"), after=1)
    )
    hub = LiveHub(folder.events, folder.logs)
    messages = await received(msgspec.structs.replace(folder, store=store), hub, run.id)
    count = len(await folder.events.of_run(run.id))
    assert [message.number for message in messages] == [*range(1, count + 1), None]
    assert messages[-1].name == END
    await hub.close()


async def test_a_quiet_stream_sends_keepalives(folder: DataFolder) -> None:
    run = await running(folder)
    hub = LiveHub(folder.events, folder.logs, HubLimits(keepalive_s=0.01))
    known = len(await folder.events.of_run(run.id))
    async with (
        asyncio.timeout(WAIT_S),
        aclosing(follow_run(folder, hub, run.id, StreamOptions(after=known))) as messages,
    ):
        async for message in messages:
            if message is KEEPALIVE:
                break
    await hub.close()


async def test_the_queue_of_a_subscriber_is_bounded(folder: DataFolder) -> None:
    hub = LiveHub(folder.events, folder.logs)
    with hub.subscribe_run(1, "ann") as subscriber:
        for number in range(10_000):
            subscriber.put(StreamMessage(number, 1, "a.b", "{}"))
        assert len(subscriber.take().messages) < 1000
    await hub.close()


@pytest.mark.parametrize(("connections", "expected"), [(10_000, (4_000, 2_000)), (900, (360, 180))])
def test_streams_leave_connections_for_other_calls(connections: int, expected: tuple[int, int]) -> None:
    slots = hub_limits(connections).slots
    assert (slots.total, slots.reserve) == expected
