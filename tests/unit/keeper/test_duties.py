"""The duties about runs, what is kept, and health."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.unit.keeper.conftest import Harness

from smartspider.core.errors import NotAllowed, SettingInvalid
from smartspider.core.idempotency import IdempotencyClaim
from smartspider.core.logs import LogLine
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.installation.retention import Retention, parse_retention
from smartspider.interfaces.leadership import Term
from smartspider.keeper.health import CheckHealth
from smartspider.keeper.retention import DeleteExpired, DeleteOldRuns, RunSweep, TrimEvents, TrimLogs
from smartspider.keeper.runs import SOON_S, USUAL_S, CompleteRuns, ReclaimLeases, ReplayOpenRows
from smartspider.services.runs.start import newest_plan
from smartspider.store.logs.terms import LogFilter

TERM = Term("tests", 1, 1e12)
DAY_S = 86_400.0


async def made(harness: Harness, name: str = "shop") -> int:
    plan = await newest_plan(harness.installation, await harness.backend.tasks.get(name))
    return (await harness.backend.store.create_run(plan, version=1)).id


async def test_leases_of_a_dead_worker_are_taken_back(harness: Harness) -> None:
    await harness.task()
    run_id = await made(harness)
    await harness.backend.store.set_state(run_id, "running")
    other = await harness.backend.another()
    worker = await other.frontier.join(WorkerRegistration("w"))
    assert (await other.frontier.lease(worker, 1, [run_id])).leases
    await other.lose(worker)
    await ReclaimLeases(harness.backend.frontier).do(TERM)
    assert (await harness.backend.store.get_run(run_id)).in_flight == 0


async def test_a_run_that_was_asked_to_stop_ends_without_a_worker(harness: Harness) -> None:
    await harness.task()
    run_id = await made(harness)
    await harness.backend.store.set_state(run_id, "running")
    await harness.backend.store.set_state(run_id, "stopping", "by hand")
    await CompleteRuns(harness.backend.store, harness.backend.database.now).do(TERM)
    assert (await harness.backend.store.get_run(run_id)).state == "stopped"


async def test_a_run_ends_when_its_time_is_over_without_a_worker(harness: Harness) -> None:
    await harness.task(limits={"max_duration_s": 60})
    run_id = await made(harness)
    await harness.backend.store.set_state(run_id, "running")
    duty = CompleteRuns(harness.backend.store, harness.backend.database.now)
    await harness.pass_time(10.0)
    await duty.do(TERM)
    assert duty.every_s == USUAL_S
    await harness.pass_time(49.0)
    await duty.do(TERM)
    assert duty.every_s == SOON_S, "it is looked for when it is near"
    assert (await harness.backend.store.get_run(run_id)).state == "running"
    await harness.pass_time(1.0)
    await duty.do(TERM)
    run = await harness.backend.store.get_run(run_id)
    assert (run.state, run.reason) == ("completed", "limit: max_duration_s 60 reached")
    await duty.do(TERM)
    assert duty.every_s == USUAL_S


async def test_open_rows_that_are_not_queued_are_offered(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    from smartspider.backends.sqlite.frontier import SqliteReplay

    await harness.task()
    run_id = await made(harness)
    replay = SqliteReplay(harness.backend.database)
    duty = ReplayOpenRows(harness.backend.store, harness.backend.frontier, replay)
    assert await replay.is_whole(run_id)
    await duty.do(TERM)
    assert caplog.text == ""

    def lose(connection: object) -> None:
        connection.execute("DELETE FROM queue")  # type: ignore[attr-defined]
        connection.execute("UPDATE lane SET queued = 0")  # type: ignore[attr-defined]

    await harness.backend.database.write(lose)
    assert not await replay.is_whole(run_id)
    with caplog.at_level(logging.WARNING):
        await duty.do(TERM)
    assert "2 open requests were not queued" in caplog.text
    assert await replay.is_whole(run_id)


async def sweep(harness: Harness, kept: Retention) -> list[int]:
    async def forget(run_id: int) -> None:
        await harness.backend.store.delete_run(run_id, actor="system")

    walk = RunSweep(harness.backend.store, harness.clock, kept, forget)
    while await walk.step():
        pass
    return [run.id for run in reversed(await harness.backend.store.find_runs())]


async def test_by_default_runs_are_kept_however_old_up_to_ten_thousand_of_a_task(harness: Harness) -> None:
    await harness.task()
    for _ in range(3):
        await harness.end_run(await made(harness))
    await harness.pass_time(1000 * DAY_S)
    assert await sweep(harness, Retention()) == [1, 2, 3]
    assert Retention().runs_per_task == 10_000


async def test_a_run_that_later_ones_compare_with_is_kept(harness: Harness) -> None:
    await harness.task(
        "deduplicated", dedup={"items": ["n"], "scope": "task"}, selectors={"fields": {"n": "b"}}
    )
    await harness.task("plain")
    for name in ("deduplicated", "plain"):
        for items in (1, 1, 2, 2):
            await harness.end_run(await made(harness, name), items=items)
    assert await sweep(harness, Retention(runs_per_task=1)) == [1, 3, 4, 8]


async def test_old_runs_go_but_the_newest_of_each_task_and_what_is_not_over(harness: Harness) -> None:
    await harness.task()
    await harness.task("other")
    ids = [await made(harness) for _ in range(4)] + [await made(harness, "other")]
    for run_id in (*ids[1:3], ids[4]):
        await harness.end_run(run_id)  # 1 and 4 stay unfinished
    await harness.pass_time(31 * DAY_S)
    assert await sweep(harness, Retention(run_age_s=30 * DAY_S)) == [1, 3, 4, 5]
    gone = [one for one in await harness.backend.audit.entries() if one.action == "run.deleted"]
    assert [(one.actor, one.subject) for one in gone] == [("system", "run:2")]


async def test_so_many_runs_of_each_task_are_kept(harness: Harness) -> None:
    for name in ("shop", "other"):
        await harness.task(name)
        for _ in range(4):
            await harness.end_run(await made(harness, name))
    assert await sweep(harness, Retention(runs_per_task=2)) == [3, 4, 7, 8]


async def test_the_newest_completed_run_is_kept_for_comparison(harness: Harness) -> None:
    await harness.task()
    for state in ("completed", "completed", "cancelled", "cancelled"):
        run_id = await made(harness)
        if state == "completed":
            await harness.end_run(run_id)
        else:
            await harness.backend.store.set_state(run_id, "cancelled")
    assert await sweep(harness, Retention(runs_per_task=1)) == [2, 4]


async def test_a_run_that_cannot_be_forgotten_now_is_left(harness: Harness) -> None:
    await harness.task()
    for _ in range(3):
        await harness.end_run(await made(harness))

    async def forget(run_id: int) -> None:
        raise NotAllowed(f"run {run_id} is worked on")

    walk = RunSweep(harness.backend.store, harness.clock, Retention(runs_per_task=1), forget)
    assert await walk.step()
    assert not await walk.step()


async def test_retention_walks_once_an_hour(harness: Harness) -> None:
    class Steps:
        count = 0

        async def step(self) -> bool:
            self.count += 1
            return self.count % 3 != 0

    steps = Steps()
    duty = DeleteOldRuns(steps, harness.clock)  # type: ignore[arg-type]
    for _ in range(10):
        await duty.do(TERM)
    assert steps.count == 3
    await harness.clock.advance(3600.0)
    await duty.do(TERM)
    assert steps.count == 4


async def test_events_of_a_run_are_trimmed_while_it_lives_and_once_more(harness: Harness) -> None:
    from smartspider.store.events import EventFeed

    events = EventFeed(harness.backend.database)
    await harness.task()
    run_id = await made(harness)
    for _ in range(10):
        for state in ("running", "paused", "queued"):
            await harness.backend.store.set_state(run_id, state)
    duty = TrimEvents(events, harness.backend.store, Retention(events_per_run=5))
    await duty.do(TERM)
    assert len(await events.of_run(run_id)) == 5
    await harness.backend.store.set_state(run_id, "cancelled")
    assert len(await events.of_run(run_id)) > 5
    await duty.do(TERM)
    assert len(await events.of_run(run_id)) == 5


async def test_logs_are_kept_within_their_size_and_age(harness: Harness) -> None:
    logs = harness.backend.logs
    text = "x" * 1000
    await logs.add([LogLine(harness.clock.now(), 20, "test", text, "w")] * 1000)
    duty = TrimLogs(logs, harness.clock, Retention(log_bytes=1_500_000, log_age_s=DAY_S))
    await duty.do(TERM)
    assert 0 < await logs.size() <= 1_500_000
    await harness.pass_time(DAY_S + 1)
    await logs.add([LogLine(harness.clock.now(), 20, "test", "new", "w")])
    await duty.do(TERM)
    page = await logs.after(LogFilter(), after=0)
    assert [one.line.text for one in page.lines] == ["new"]


async def test_sweeping_forgets_what_is_over(harness: Harness) -> None:
    one = harness.installation
    await one.idempotency.claim("ann", "key", b"asked")
    await harness.pass_time(2 * DAY_S)
    await DeleteExpired(one.users, one.idempotency, one.notifications, harness.clock, Retention()).do(TERM)
    assert isinstance(await one.idempotency.claim("ann", "key", b"another"), IdempotencyClaim)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (("1GB,30d", "10000"), Retention()),
        (("", ""), Retention(None, None, None, None)),
        (("500 MB", "90d"), Retention(500_000_000, None, 90 * DAY_S, None)),
        (("7d", "20"), Retention(None, 7 * DAY_S, None, 20)),
        (("2GB", "2w,5"), Retention(2 * 10**9, None, 14 * DAY_S, 5)),
    ],
)
def test_settings_say_what_is_kept(settings: tuple[str, str], expected: Retention) -> None:
    assert parse_retention(*settings) == expected


@pytest.mark.parametrize(
    "settings",
    [("1 potato", ""), ("1GB,2GB", ""), ("1KB", ""), ("", "some"), ("", "0"), ("", "-1d")],
)
def test_a_setting_that_means_nothing_is_refused(settings: tuple[str, str]) -> None:
    with pytest.raises(SettingInvalid):
        parse_retention(*settings)


class Usage(NamedTuple):
    total: int
    used: int
    free: int


async def test_health_tells_what_is_new_and_what_is_over(
    harness: Harness, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from smartspider.backends.sqlite.worker_locks import sqlite_workers

    free = 10**12
    # the disk is the machine's
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Usage(2 * 10**12, 0, free))
    workers = sqlite_workers(harness.backend.database)
    store_clock = harness.installation.store_clock
    duty = CheckHealth(tmp_path, workers, store_clock, harness.backend.database.now)
    worker = await harness.backend.frontier.join(WorkerRegistration("slow"))
    with caplog.at_level(logging.INFO):
        await duty.do(TERM)
        assert caplog.text == ""
        free = 1000
        await harness.pass_time(100.0)
        harness.clock.wind(-3600.0)
        await duty.do(TERM)
        await duty.do(TERM)
        assert caplog.text.count("MB free") == 1
        assert caplog.text.count("slow has been silent for 100 s") == 1
        assert caplog.text.count("60 minutes behind") == 1
        free = 10**12
        await harness.backend.frontier.leave(worker)
        harness.clock.wind(3600.0)
        await duty.do(TERM)
    assert duty.findings == {}
    assert "disk is healthy again" in caplog.text
