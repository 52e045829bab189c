"""The local driver follows the figure in the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from smartspider.backends.sqlite.database import FILE
from smartspider.core.crews import Span
from smartspider.core.scaling import Figure
from smartspider.core.workers import WorkerCard
from smartspider.wiring import driver as driving
from smartspider.wiring.driver import Driver, told
from smartspider.wiring.folder import DataFolder, open_folder
from smartspider.wiring.settings import Settings
from smartspider.wiring.up import Staff

SETTINGS = Settings(scale_down_after="2s")


class Hands:
    """A staff that starts nothing."""

    def __init__(self, count: int) -> None:
        self.crew_numbers = list(range(count))
        self.crew_drained = 0
        self.is_crew_alone = True
        self.is_stopped = False

    def resize(self, count: int) -> None:
        self.crew_numbers = list(range(count))

    def stop(self) -> None:
        self.is_stopped = True


class Stage:
    """A data folder, a staff, and what was said."""

    def __init__(self, folder: DataFolder, path: Path, span: Span) -> None:
        self.folder = folder
        self.hands = Hands(span.least)
        self.said: list[str] = []
        self.driver = Driver(path, SETTINGS, cast("Staff", self.hands), span, self.said.append)

    async def decide(self, desired: int, at: float | None = None) -> None:
        term = await self.folder.leadership.take("tests", 60.0)
        assert term is not None
        now = self.folder.leadership.now()
        await self.folder.scaling.keep(term.epoch, Figure(desired, "why", now if at is None else at))

    async def follow(self) -> int:
        await self.driver._follow(self.folder)  # one look, without the pauses in between
        return len(self.hands.crew_numbers)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    with open_folder(tmp_path) as folder:
        yield Stage(folder, tmp_path, Span(1, 4))


async def test_it_starts_and_drains_what_is_wanted_within_its_span(stage: Stage) -> None:
    sizes = []
    for desired in (3, 9, 2, 0):
        await stage.decide(desired)
        sizes.append(await stage.follow())
    assert sizes == [3, 4, 2, 1]
    assert stage.said == [
        "3 workers are wanted (why): starting 2",
        "9 workers are wanted, 4 here (why): starting 1",
        "2 workers are wanted (why): draining 2",
        "0 workers are wanted, 1 here (why): draining 1",
    ]


async def test_workers_that_nobody_scales_are_counted_first(stage: Stage) -> None:
    await stage.folder.frontier.join(WorkerCard("fixed", "elsewhere", 1, "", 8))
    await stage.decide(3)
    assert await stage.follow() == 2


async def test_it_keeps_what_it_has_while_nobody_decides(stage: Stage) -> None:
    assert await stage.follow() == 1
    await stage.decide(4, at=stage.folder.leadership.now() - driving.OLD_S - 1.0)
    assert await stage.follow() == 1
    assert stage.said == []


async def test_who_was_drained_by_hand_is_not_replaced_and_the_last_ends_it(stage: Stage) -> None:
    stage.hands.crew_drained = 2
    await stage.decide(9)
    assert await stage.follow() == 2
    stage.hands.crew_drained = 4
    await stage.follow()
    assert stage.hands.is_stopped


async def test_a_server_goes_on_when_all_its_workers_were_drained(stage: Stage) -> None:
    stage.hands.is_crew_alone = False
    stage.hands.crew_drained = 4
    await stage.follow()
    assert not stage.hands.is_stopped


async def test_a_store_that_is_away_changes_nothing_and_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "PAUSE_S", 0.001)
    (tmp_path / FILE).write_bytes(b"not a database, and long enough to be looked at" * 30)
    hands, said, tries = Hands(2), list[str](), asyncio.Semaphore(0)
    driver = Driver(tmp_path, SETTINGS, cast("Staff", hands), Span(2, 4), said.append)
    tell = driver._tell_trouble

    def tried(message: str) -> None:
        tell(message)
        tries.release()

    monkeypatch.setattr(driver, "_tell_trouble", tried)
    async with _running(driver.run()):
        for _ in range(3):
            await tries.acquire()
    assert len(said) == 1
    assert said[0].startswith("how many workers are wanted is not known, 2 stay: ")
    assert len(hands.crew_numbers) == 2


def test_one_line_says_what_it_does() -> None:
    assert told(Figure(1, "little"), 1, -2) == "1 worker is wanted (little): draining 2"


@asynccontextmanager
async def _running(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
