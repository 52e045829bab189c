"""Worker processes, played by tiny real ones."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from smartspider.core.errors import SmartSpiderError, StoreUnavailable
from smartspider.engine import supervisor as supervision
from smartspider.engine.supervisor import EARLY_S, MAX_EARLY_DEATHS, STORE_UNAVAILABLE, Supervisor
from smartspider_testing.clock import ManualClock
from smartspider_testing.waiting import WAIT_S


class Stable:
    """Starts processes that do what the test says, and hears of their deaths."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.scripts: dict[int, list[str]] = {}
        self.started: list[Process] = []
        self.deaths: list[tuple[int, int]] = []
        self.leavers: list[int] = []
        self.lives_s = 0.0
        self.spawned = asyncio.Event()
        self.died = asyncio.Event()

    async def spawn(self, number: int) -> Process:
        script = self.scripts[number].pop(0)
        process = await asyncio.create_subprocess_exec("/bin/sh", "-c", script)
        self.started.append(process)
        self.spawned.set()
        await self.clock.advance(self.lives_s)
        return process

    def on_end(self, number: int, code: int) -> None:
        if code == 0:
            self.leavers.append(number)
            return
        self.deaths.append((number, code))
        self.died.set()

    def supervisor(self, *, is_lasting: bool = False, **scripts: list[str]) -> Supervisor:
        self.scripts = {int(name[1:]): list(script) for name, script in scripts.items()}
        return Supervisor(
            *(self.spawn, len(scripts), self.clock, self.on_end), is_lasting=is_lasting, first_pause_s=0.0001
        )

    def elastic(self, count: int, **scripts: list[str]) -> Supervisor:
        self.scripts = {int(name[1:]): list(script) for name, script in scripts.items()}
        return Supervisor(self.spawn, count, self.clock, self.on_end, is_lasting=True, is_elastic=True)

    async def until_started(self, count: int) -> None:
        while len(self.started) < count:
            self.spawned.clear()
            await self.spawned.wait()


@pytest.fixture
async def stable() -> AsyncIterator[Stable]:
    stable = Stable()
    yield stable
    for process in stable.started:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_workers_that_end_in_good_order_are_not_started_again(stable: Stable) -> None:
    await stable.supervisor(w0=["exit 0"], w1=["exit 0"]).run()
    assert len(stable.started) == 2
    assert sorted(stable.leavers) == [0, 1]
    assert stable.deaths == []


async def test_a_dead_worker_is_started_again(stable: Stable) -> None:
    await stable.supervisor(w0=["exit 3", "kill -9 $$", "exit 0"], w1=["exit 0"]).run()
    assert stable.deaths == [(0, 3), (0, -9)]
    assert len(stable.started) == 4


async def test_too_many_deaths_right_after_the_start_are_given_up(stable: Stable) -> None:
    with pytest.raises(SmartSpiderError, match=rf"worker 0 died {MAX_EARLY_DEATHS} times") as caught:
        await stable.supervisor(w0=["exit 1"] * 99).run()
    assert len(stable.deaths) == MAX_EARLY_DEATHS
    assert "doctor" in caught.value.hint


async def test_a_worker_that_lived_for_a_while_may_die_as_often_as_it_likes(stable: Stable) -> None:
    stable.lives_s = EARLY_S
    deaths = MAX_EARLY_DEATHS + 3
    await stable.supervisor(w0=[*(["exit 1"] * deaths), "exit 0"]).run()
    assert len(stable.deaths) == deaths


async def test_a_data_folder_that_can_not_be_used_ends_all_at_once(stable: Stable) -> None:
    supervisor = stable.supervisor(w0=[f"exit {STORE_UNAVAILABLE}"], w1=["exec sleep 60"])
    with pytest.raises(StoreUnavailable, match="worker 0"):
        await supervisor.run()
    assert stable.deaths == []


async def test_stopping_asks_every_worker_to_leave_and_starts_none_again(stable: Stable) -> None:
    supervisor = stable.supervisor(w0=["exec sleep 60"], w1=["trap 'kill $!; exit 7' TERM; sleep 60 & wait"])
    running = asyncio.create_task(supervisor.run())
    await stable.until_started(2)
    supervisor.stop()
    await running
    assert all(process.returncode for process in stable.started)
    assert len(stable.started) == 2
    assert stable.deaths == []


async def test_a_worker_that_is_just_being_started_is_stopped_too(stable: Stable) -> None:
    supervisor = stable.supervisor(w0=["exec sleep 60"])
    running = asyncio.create_task(supervisor.run())
    await asyncio.sleep(0)
    supervisor.stop()
    async with asyncio.timeout(WAIT_S):
        await running
    assert [process.returncode for process in stable.started] == [-15]


async def test_a_server_never_gives_up_and_pauses_between_early_deaths(
    stable: Stable,
) -> None:
    dying = ["exit 1"] * (MAX_EARLY_DEATHS + 3)
    await stable.supervisor(is_lasting=True, w0=[*dying, "exit 0"]).run()
    assert len(stable.deaths) == len(dying)


async def test_a_server_that_loses_its_store_waits_for_it(
    stable: Stable,
) -> None:
    stable.lives_s = supervision.SETTLED_S
    await stable.supervisor(is_lasting=True, w0=[f"exit {STORE_UNAVAILABLE}"] * 3 + ["exit 0"]).run()
    assert stable.deaths == [(0, STORE_UNAVAILABLE)] * 3


async def test_a_server_whose_store_can_not_be_used_from_the_first_ends_and_says_so(stable: Stable) -> None:
    with pytest.raises(StoreUnavailable):
        await stable.supervisor(is_lasting=True, w0=[f"exit {STORE_UNAVAILABLE}"]).run()


async def test_a_server_that_is_stopped_in_a_pause_stops_at_once(stable: Stable) -> None:
    supervisor = stable.supervisor(is_lasting=True, w0=["exit 1"] * 2, w1=["sleep 60"])
    task = asyncio.create_task(supervisor.run())
    await stable.until_started(2)
    await stable.died.wait()
    supervisor.stop()
    await task
    assert len(stable.deaths) <= 2


async def test_more_workers_come_and_one_that_is_let_go_is_not_started_again(stable: Stable) -> None:
    supervisor = stable.elastic(0, w0=["exec sleep 60"], w1=["exec sleep 60"])
    running = asyncio.create_task(supervisor.run())
    await asyncio.sleep(0)
    supervisor.add(0)
    supervisor.add(1)
    await stable.until_started(2)
    supervisor.release(1)
    assert await stable.started[1].wait() == -15
    supervisor.release(0)
    assert await stable.started[0].wait() == -15
    assert not running.done()
    supervisor.stop()
    await running
    assert (stable.deaths, stable.leavers) == ([], [])


async def test_one_that_is_leaving_is_not_asked_twice(stable: Stable, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    told = f"trap 'echo asked >> {marks}' TERM; echo ready >> {marks}"
    slow = f"{told}; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"
    supervisor = stable.elastic(1, w0=[slow])
    running = asyncio.create_task(supervisor.run())
    await _until(marks.exists)
    supervisor.release(0)
    await _until(lambda: "asked" in marks.read_text())
    supervisor.stop()
    (tmp_path / "go").touch()
    await running
    assert marks.read_text().split() == ["ready", "asked"]


async def test_one_that_is_let_go_while_it_pauses_stays_away(stable: Stable) -> None:
    supervisor = stable.elastic(1, w0=["exit 1"])
    running = asyncio.create_task(supervisor.run())
    await stable.died.wait()
    supervisor.release(0)
    await asyncio.sleep(0)
    supervisor.stop()
    async with asyncio.timeout(WAIT_S):
        await running
    assert len(stable.started) == 1


async def test_nobody_comes_while_all_are_leaving(stable: Stable) -> None:
    supervisor = stable.elastic(0)
    running = asyncio.create_task(supervisor.run())
    await asyncio.sleep(0)
    supervisor.stop()
    supervisor.add(7)
    await running
    assert stable.started == []


async def _until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not is_true():  # noqa: ASYNC110 - a file is no event
            await asyncio.sleep(0.01)
