"""Workers of a server as the wiring makes them: real pages over loopback, and a real process."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from smartspider.core.runs.run import Run
from smartspider.core.runs.tuning import Tuning
from smartspider.installation.data_folder import DataFolder, run_lock
from smartspider.installation.settings import Settings
from smartspider.services.plans import run_plan
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.wiring.preview.task_preview import preview_task
from smartspider.wiring.processes.worker_process import fleet_command
from smartspider.wiring.worker import JobFactory, build_bus, fleet_worker
from smartspider_testing.sites.scripted import ScriptableSite
from smartspider_testing.waiting import WAIT_S

GRAPH: dict[str, Iterable[str]] = {"/": ["/a", "/b"], "/a": ["/c"], "/b": [], "/c": []}


@pytest.fixture
async def site() -> AsyncIterator[ScriptableSite]:
    async with ScriptableSite() as site:
        yield site.link(GRAPH)


def task_of(site: ScriptableSite, **more: Any) -> dict[str, Any]:
    return {
        "name": "links",
        "entry_urls": [site.url("/")],
        "selectors": {"fields": {"url": {"type": "meta", "expr": "url"}}},
        "follow": [{"selector": "a"}],
        "politeness": {"delay_s": 0, "robots": "ignore"},
        **more,
    }


async def queue_run(folder: DataFolder, site: ScriptableSite, **more: Any) -> Run:
    return await folder.store.create_run(compile_task(parse_task(task_of(site, **more))))


@asynccontextmanager
async def fleet_at_work(folder: DataFolder, settings: Settings) -> AsyncIterator[None]:
    server = msgspec.structs.replace(folder, settings=settings)
    worker = fleet_worker(JobFactory(server, build_bus()), number=0, slots=4)
    working = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await working


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not await is_so():  # noqa: ASYNC110 - nobody tells when another process has written
            await asyncio.sleep(0.01)


async def over(folder: DataFolder, run: Run) -> Run:
    async def is_over() -> bool:
        return (await folder.store.get_run(run.id)).finished_at is not None

    await until(is_over)
    return await folder.store.get_run(run.id)


async def test_a_server_crawls_a_private_address_that_its_settings_open(
    folder: DataFolder, site: ScriptableSite
) -> None:
    run = await queue_run(folder, site)
    async with fleet_at_work(folder, Settings(allow_private=f"127.0.0.1:{site.port}")):
        ended = await over(folder, run)
    assert (ended.state, ended.counters.done, ended.counters.items) == ("completed", 4, 4)


async def test_the_entries_of_a_task_open_nothing_on_a_server(
    folder: DataFolder, site: ScriptableSite
) -> None:
    run = await queue_run(folder, site)
    async with fleet_at_work(folder, Settings()):
        ended = await over(folder, run)
    assert ended.state == "failed"
    assert "SMARTSPIDER_ALLOW_PRIVATE" in ended.reason
    assert site.requests() == []


async def test_a_preview_on_a_server_opens_nothing_either(site: ScriptableSite) -> None:
    plan = compile_task(parse_task(task_of(site)))
    seen = await preview_task(plan, Settings(), limit=2, is_server=True)
    assert seen.pages == []
    assert site.requests() == []
    assert len((await preview_task(plan, Settings(), limit=2)).pages) == 2


async def test_a_run_that_a_command_crawls_is_not_the_servers(
    folder: DataFolder, site: ScriptableSite
) -> None:
    mine = await queue_run(folder, site)
    with run_lock(folder.path, mine.id):
        async with fleet_at_work(folder, Settings(allow_private="1")):
            other = await queue_run(folder, site, name="other")
            assert (await over(folder, other)).state == "completed"
            assert (await folder.store.get_run(mine.id)).state == "queued"


async def test_the_plan_of_a_run_has_its_knobs_as_they_are_turned(
    folder: DataFolder, site: ScriptableSite
) -> None:
    run = await queue_run(folder, site, concurrency=3)
    await folder.store.tune(run.id, Tuning(concurrency=7, delay_s=2.5))
    plan = run_plan(await folder.store.get_run(run.id))
    assert (plan.concurrency, plan.politeness.delay_s) == (7, 2.5)
    assert run_plan(run).concurrency == 3


@pytest.mark.parametrize("how", ["term", "stdin"])
async def test_a_fleet_process_works_and_leaves_in_good_order(
    folder: DataFolder, site: ScriptableSite, how: str
) -> None:
    run = await queue_run(folder, site)
    process = await asyncio.create_subprocess_exec(
        *fleet_command(folder.path, 3, 8),
        stdin=asyncio.subprocess.PIPE,
        env={**os.environ, "SMARTSPIDER_ALLOW_PRIVATE": "1"},
    )
    assert process.stdin is not None
    try:
        assert (await over(folder, run)).counters.done == 4
        (worker,) = await folder.workers.find()
        assert (worker.name, worker.pid, worker.slots) == (f"worker 3 (pid {process.pid})", process.pid, 8)
        if how == "term":
            process.send_signal(signal.SIGTERM)
        else:
            process.stdin.close()
        async with asyncio.timeout(WAIT_S):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert await folder.workers.find() == []
