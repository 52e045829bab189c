"""The local driver applies the scaling decision in the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from smartspider.backends.sqlite.database import FILE
from smartspider.core.workers.scaling import ScalingDecision, ScalingOptions
from smartspider.core.workers.worker import WorkerRange, WorkerRegistration
from smartspider.installation.data_folder import DataFolder
from smartspider.installation.settings import Settings
from smartspider.wiring.opening import open_folder
from smartspider.wiring.processes.driver import STALE_S, Driver, describe_change
from smartspider.wiring.processes.process_group import ProcessGroup

SETTINGS = Settings(scaling=ScalingOptions(stabilization_s=2.0))


class FakeGroup:
    """A process group that starts nothing."""

    def __init__(self, count: int) -> None:
        self.elastic_numbers = list(range(count))
        self.drained = 0
        self.is_only_elastic = True
        self.is_stopped = False

    def resize(self, count: int) -> None:
        self.elastic_numbers = list(range(count))

    def stop(self) -> None:
        self.is_stopped = True


class Stage:
    """A data folder, a process group, and the reports of the driver."""

    def __init__(self, folder: DataFolder, path: Path, span: WorkerRange) -> None:
        self.folder = folder
        self.group = FakeGroup(span.minimum)
        self.said: list[str] = []
        self.driver = Driver(path, SETTINGS, cast("ProcessGroup", self.group), span, self.said.append)

    async def decide(self, desired: int, at: float | None = None) -> None:
        term = await self.folder.leadership.take("tests", 60.0)
        assert term is not None
        now = self.folder.leadership.now()
        await self.folder.scaling.save(term.epoch, ScalingDecision(desired, "why", now if at is None else at))

    async def follow(self) -> int:
        await self.driver.apply_decision(self.folder)
        return len(self.group.elastic_numbers)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    with open_folder(tmp_path) as folder:
        yield Stage(folder, tmp_path, WorkerRange(1, 4))


async def test_it_starts_and_drains_what_is_wanted_within_its_span(stage: Stage) -> None:
    sizes = []
    for desired in (3, 9, 2, 0):
        await stage.decide(desired)
        sizes.append(await stage.follow())
    assert sizes == [3, 4, 2, 1]
    assert stage.said == [
        "3 workers are desired (why): starting 2",
        "9 workers are desired, 4 here (why): starting 1",
        "2 workers are desired (why): draining 2",
        "0 workers are desired, 1 here (why): draining 1",
    ]


async def test_workers_that_nobody_scales_are_counted_first(stage: Stage) -> None:
    await stage.folder.frontier.join(WorkerRegistration("fixed", "elsewhere", 1, "", 8))
    await stage.decide(3)
    assert await stage.follow() == 2


async def test_it_keeps_what_it_has_while_nobody_decides(stage: Stage) -> None:
    assert await stage.follow() == 1
    await stage.decide(4, at=stage.folder.leadership.now() - STALE_S - 1.0)
    assert await stage.follow() == 1
    assert stage.said == []


async def test_who_was_drained_by_hand_is_not_replaced_and_the_last_ends_it(stage: Stage) -> None:
    stage.group.drained = 2
    await stage.decide(9)
    assert await stage.follow() == 2
    stage.group.drained = 4
    await stage.follow()
    assert stage.group.is_stopped


async def test_a_server_goes_on_when_all_its_workers_were_drained(stage: Stage) -> None:
    stage.group.is_only_elastic = False
    stage.group.drained = 4
    await stage.follow()
    assert not stage.group.is_stopped


async def test_a_store_that_is_away_changes_nothing_and_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"not a database, and long enough to be looked at" * 30)
    group, said = FakeGroup(2), list[str]()
    attempts = asyncio.Semaphore(0)

    class CountingDriver(Driver):
        def _report_error(self, message: str) -> None:
            super()._report_error(message)
            attempts.release()

    driver = CountingDriver(
        tmp_path, SETTINGS, cast("ProcessGroup", group), WorkerRange(2, 4), said.append, pause_s=0.001
    )
    async with _running(driver.run()):
        for _ in range(3):
            await attempts.acquire()
    assert len(said) == 1
    assert "keeping 2: " in said[0]
    assert len(group.elastic_numbers) == 2


def test_one_line_says_what_it_does() -> None:
    assert describe_change(ScalingDecision(1, "little"), 1, -2) == "1 worker is desired (little): draining 2"


@asynccontextmanager
async def _running(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
