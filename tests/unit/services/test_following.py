"""Following at the moments when something could slip through."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import pytest

from smartspider.core.runs import Run
from smartspider.services.following import BEAT, END, Ground, Told, Wanted, follow_run
from smartspider.wiring.folder import DataFolder, open_folder
from smartspider.wiring.hub import Hub
from smartspider_testing.contracts.acts import plan_of


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


async def told(ground: Ground, run_id: int, count: int | None = None) -> list[Told]:
    found: list[Told] = []
    async with asyncio.timeout(5.0), aclosing(follow_run(ground, run_id)) as messages:
        async for message in messages:
            if message is not BEAT:
                found.append(message)
            if len(found) == count:
                break
    return found


async def test_what_happens_before_the_first_look_is_not_missed(folder: DataFolder) -> None:
    """The watcher has read the store; then something happens; only then the hub begins to look."""
    run = await running(folder)
    known = len(await folder.events.of_run(run.id))
    feed = cast("Any", Before(folder.events, "last_id", lambda: folder.store.set_state(run.id, "paused")))
    hub = Hub(feed, folder.logs)
    ground = Ground(folder.store, folder.events, hub, folder.clock)
    messages = await told(ground, run.id, known + 1)
    assert [message.number for message in messages] == list(range(1, known + 2))
    await hub.close()


async def test_a_run_that_ends_while_it_is_looked_at_is_told_to_the_end(folder: DataFolder) -> None:
    """The watcher has all there was; the run ends; only then its state is read."""
    run = await running(folder)
    store = cast(
        "Any", Before(folder.store, "get_run", lambda: folder.store.set_state(run.id, "cancelled"), after=1)
    )
    hub = Hub(folder.events, folder.logs)
    messages = await told(Ground(store, folder.events, hub, folder.clock), run.id)
    count = len(await folder.events.of_run(run.id))
    assert [message.number for message in messages] == [*range(1, count + 1), None]
    assert messages[-1].name == END
    await hub.close()


async def test_a_quiet_stream_beats(folder: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smartspider.services.following.BEAT_S", 0.01)
    run = await running(folder)
    hub = Hub(folder.events, folder.logs)
    ground = Ground(folder.store, folder.events, hub, folder.clock)
    known = len(await folder.events.of_run(run.id))
    async with asyncio.timeout(5.0), aclosing(follow_run(ground, run.id, Wanted(after=known))) as messages:
        async for message in messages:
            if message is BEAT:
                break
    await hub.close()


async def test_what_waits_for_a_watcher_is_bounded(folder: DataFolder) -> None:
    hub = Hub(folder.events, folder.logs)
    with hub.of_run(1) as watcher:
        for number in range(10_000):
            watcher.hear(Told(number, 1, "a.b", "{}"))
        assert len(watcher.take().messages) < 1000
    await hub.close()
