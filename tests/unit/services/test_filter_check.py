"""URL filters are compared with the store, which is right; sets that disagree are dropped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.schema import prepare
from smartspider.core.requests.request import make_request
from smartspider.core.requests.scope import UrlScope
from smartspider.core.runs.plan import Plan
from smartspider.dedup.url_filter import FilterKey
from smartspider.services.dedup import check_filter, drop_finished
from smartspider.store.requests import SqlStoredUrls
from smartspider_testing.backends.memory_url_filter import MemoryUrlFilter
from smartspider_testing.backends.postgres import PostgresBackend
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts.backend import Backend
from smartspider_testing.contracts.url_filter import fingerprints
from smartspider_testing.servers import PostgresServer

ENTRIES = tuple(make_request(f"http://h.example/{number}", is_entry=True) for number in range(50))
STORED = [entry.fingerprint for entry in ENTRIES]


class Scene:
    """A run with fifty rows, and a set that says what it knows of it."""

    def __init__(self, backend: Backend, rows: SqlStoredUrls) -> None:
        self.backend, self.rows, self.seen = backend, rows, MemoryUrlFilter()

    async def begin(self) -> None:
        run = await self.backend.store.create_run(Plan("task", b"{}", "hash", ENTRIES, {}, UrlScope()))
        self.epoch = await self.rows.epoch()
        self.key = FilterKey("run", run.id, self.epoch)
        await self.seen.add(self.key, STORED)

    async def problems(self, *, repair: bool = False) -> list[str]:
        found = await check_filter(self.seen, self.rows, self.epoch, repair=repair)
        assert all(finding.is_repaired == repair for finding in found)
        return [finding.message for finding in found]


@pytest.fixture
async def on_sqlite(tmp_path: Path) -> AsyncIterator[Scene]:
    backend = SqliteBackend(tmp_path / "data", ManualClock())
    scene = Scene(backend, SqlStoredUrls(backend.database))
    await scene.begin()
    yield scene
    await backend.close()


@pytest.fixture
async def on_postgres(empty_database: str) -> AsyncIterator[Scene]:
    prepare(empty_database)
    backend = PostgresBackend(empty_database, ManualClock())
    scene = Scene(backend, SqlStoredUrls(backend.database))
    await scene.begin()
    yield scene
    await backend.close()


@pytest.fixture(params=["on_sqlite", pytest.param("on_postgres", marks=pytest.mark.servers)])
def scene(request: pytest.FixtureRequest) -> Scene:
    made: Scene = request.getfixturevalue(request.param)
    return made


async def test_a_set_that_agrees_is_left_alone(scene: Scene) -> None:
    assert await scene.problems(repair=True) == []
    assert await scene.seen.keys() == [scene.key]
    assert await scene.rows.stored(scene.key.id, [*STORED, *fingerprints(0, 5)]) == set(STORED)
    assert await scene.rows.stored(scene.key.id, []) == set()
    assert await scene.rows.totals([scene.key.id, 99]) == {scene.key.id: 50}


async def test_what_has_no_row_is_found_and_its_set_dropped(scene: Scene) -> None:
    await scene.seen.add(scene.key, fingerprints(0, 1))
    message = f"known URLs of run {scene.key.id}: 1 of 51 checked entries have no row"
    assert await scene.problems() == [message]
    assert await scene.seen.keys() == [scene.key]
    assert await scene.problems(repair=True) == [message]
    assert await scene.seen.keys() == []
    assert await scene.problems() == []


async def test_sets_of_other_epochs_and_runs_are_found(scene: Scene) -> None:
    await scene.seen.add(FilterKey("run", scene.key.id, "before"), STORED)
    await scene.seen.add(FilterKey("run", 99, scene.epoch), STORED)
    await scene.seen.add(FilterKey("task", 5, scene.epoch), STORED)
    problems = await scene.problems(repair=True)
    assert sorted(problem.partition(": ")[2] for problem in problems) == [
        "the run does not exist",
        "they belong to another epoch of the store",
    ]
    assert await scene.seen.keys() == [scene.key, FilterKey("task", 5, scene.epoch)]


async def test_runs_that_are_over_free_their_memory(on_sqlite: Scene) -> None:
    scene = on_sqlite
    over, task = FilterKey("run", 99, scene.epoch), FilterKey("task", 5, scene.epoch)
    old = FilterKey("task", 5, "before")
    for key in (over, task, old):
        await scene.seen.add(key, STORED)
    assert await drop_finished([scene.seen], {scene.key.id}, scene.epoch) == [over, old]
    assert await scene.seen.keys() == [scene.key, task]


async def test_databases_of_one_server_have_epochs_of_their_own(on_postgres: Scene) -> None:
    server, timeline, database = on_postgres.epoch.split("-")
    assert server.isdigit()
    assert timeline == "00000001"
    assert database.isdigit()


async def test_a_store_that_was_promoted_is_in_another_epoch(
    tmp_path_factory: pytest.TempPathFactory, postgres_template: Path
) -> None:
    """As a standby is that takes over, or a backup that is restored: its last commits may be missing."""
    folder = tmp_path_factory.mktemp("promoted")
    with PostgresServer(folder, template=postgres_template) as server:
        url = server.create_database("one")
        prepare(url)
        before = await _epoch_of(url)
        ((data,),) = server.execute("SHOW data_directory")
        server.stop()
        await asyncio.to_thread(Path(str(data), "standby.signal").touch)
        server.start()
        server.execute("SELECT pg_promote()")
        assert (await _epoch_of(url)) == before.replace("-00000001-", "-00000002-")


async def _epoch_of(url: str) -> str:
    database = PostgresDatabase(url, ManualClock(), size=1)
    try:
        return await SqlStoredUrls(database).epoch()
    finally:
        database.close()
