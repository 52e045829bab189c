"""A data folder on a manual clock; a remote frontier with its leader."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest
from tests.unit.keeper.leading import ClusterHarness, Leader

from smartspider.backends.sqlite.frontier import SqlitePermits, SqliteReplay
from smartspider.backends.sqlite.store import SqliteHealth
from smartspider.backends.sqlite.store_clock import SqliteStoreClock
from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.pages.extraction import Item
from smartspider.core.schedules import ScheduleRecord
from smartspider.core.tasks import TaskRecord
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.installation.database_clock import DatabaseClock
from smartspider.installation.installation import Installation
from smartspider.installation.settings import Settings
from smartspider.interfaces.frontier_index import LAPSE_S
from smartspider.keeper.frontier.filling import FillSizes
from smartspider.services.runs.start import newest_plan
from smartspider.services.schedules.schedules import sync_task_schedule
from smartspider.store.nodes.leadership import SqlLeadership
from smartspider.store.requests import SqlStoredUrls
from smartspider.taskfile.load import parse_schedule, parse_task
from smartspider.taskfile.model.task import task_spec
from smartspider.taskfile.timing import next_time
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.servers import RedisServer

ENTRIES = ["http://a.example/", "http://a.example/2"]
POLITE = {"delay_s": 0}
START = datetime.fromisoformat("2026-01-01T00:00:00Z").timestamp()


def installation_of(backend: SqliteBackend, settings: Settings = Settings(allow_private="1")) -> Installation:
    """The data folder of a backend as an installation, on the backend's clock."""
    database, health = backend.database, SqliteHealth(backend.database)
    return Installation(
        path=backend.folder,
        settings=settings,
        database=database,
        store=backend.store,
        frontier=backend.frontier,
        ledger=backend.ledger,
        workers=backend.workers,
        check_writable=health.check_writable,
        check_room=health.check_room,
        permits=SqlitePermits(database),
        leadership=SqlLeadership(database),
        demand=backend.demand,
        stored_urls=SqlStoredUrls(database),
        replay=SqliteReplay(database),
        clock=DatabaseClock(database, backend.clock),
        store_clock=SqliteStoreClock(database),
    )


class Harness:
    """What the tests about schedules do over and over."""

    def __init__(self, backend: SqliteBackend) -> None:
        self.backend = backend
        self.clock = backend.clock
        self.installation = installation_of(backend)
        self.epoch = 0

    async def lead(self) -> int:
        term = await self.backend.leadership.take("tests", 1e9)
        assert term is not None
        self.epoch = term.epoch
        return term.epoch

    async def task(self, name: str = "shop", **more: object) -> TaskRecord:
        spec = task_spec(parse_task({"name": name, "entry_urls": ENTRIES, "politeness": POLITE, **more}))
        task = await self.backend.tasks.create(spec, actor="ann")
        await sync_task_schedule(self.installation, task.id, actor="ann")
        return task

    async def change(self, task: TaskRecord, **more: object) -> None:
        spec = task_spec(parse_task({"name": task.name, "entry_urls": ENTRIES, "politeness": POLITE, **more}))
        await self.backend.tasks.change(task.id, spec, actor="bob")
        await sync_task_schedule(self.installation, task.id, actor="bob")

    async def schedule(self, task: TaskRecord, **knobs: object) -> ScheduleRecord:
        rule = parse_schedule(
            {"every_s": 3600.0, **knobs} if "cron" not in knobs and "at" not in knobs else knobs
        )
        return await self.backend.schedules.add(
            task.id, rule, actor="ann", next_fire_at=next_time(rule, self.clock.now())
        )

    async def pass_time(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        await self.lead()  # a write, by which this process learns what time it is

    async def states(self) -> list[str]:
        return [run.state for run in reversed(await self.backend.store.find_runs())]

    async def end_run(self, run_id: int, *, failed: int = 0, items: int = 0) -> None:
        """Work on a run until it is over; so many of its two pages fail for good."""
        store, frontier = self.backend.store, self.backend.frontier
        run = await store.set_state(run_id, "running")
        dedup = (await newest_plan(self.installation, await self.backend.tasks.get(run.task_id))).items
        worker = await frontier.join(WorkerRegistration("w"))
        while leases := (await frontier.lease(worker, 2, [run_id])).leases:
            for lease in leases:
                found = [Item({"n": number}) for number in range(items)]
                keys = [dedup.keys_of(one) for one in found] if dedup.keys else []
                good = Close("done", "", 200, items=found, keys=keys)
                verdict = Close("dead", "http: 500", 500) if failed > 0 else good
                items, failed = 0, failed - 1
                await self.backend.ledger.settle([Settlement(lease, verdict)])
        await store.finish(run_id)
        await frontier.leave(worker)


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[Harness]:
    backend = SqliteBackend(tmp_path, ManualClock(START))
    harness = Harness(backend)
    await harness.lead()
    yield harness
    assert await backend.store.fsck() == []
    await backend.close()


@pytest.fixture
async def cluster(empty_redis: RedisServer) -> AsyncIterator[ClusterHarness]:
    cluster = ClusterHarness(empty_redis.url)
    yield cluster
    await cluster.close()


async def leading(cluster: ClusterHarness, sizes: FillSizes = FillSizes()) -> Leader:
    """A leader that has led for a while."""
    leader = Leader(cluster, "one", sizes)
    await leader.lead()
    await leader.tend()
    await leader.pass_time(LAPSE_S + 1)
    return leader


@pytest.fixture
async def leader(cluster: ClusterHarness) -> Leader:
    return await leading(cluster)
