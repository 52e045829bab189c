"""Requests of a worker that its supervisor kills: the blamed one and the others."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from smartspider.core.events import Event, PageBuried, WorkerKilled
from smartspider.core.frontier.lease import Lease
from smartspider.core.runs.run import Run
from smartspider.core.workers import activity
from smartspider.core.workers.activity import PARSE, ActivityRecord
from smartspider.core.workers.watch import Drain, Kill, KillCause
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.engine.runtime import LocalBus
from smartspider.installation.data_folder import DataFolder
from smartspider.installation.settings import Settings
from smartspider.store.logs.terms import LogFilter
from smartspider.wiring.opening import open_folder
from smartspider.wiring.processes.losses import Supervision, has_ending_run, report_loss
from smartspider_testing.contracts.actions import plan_of

REASON = "unreadable: took more than 20 s in parse"


async def leased(folder: DataFolder, *paths: str) -> tuple[Run, int, list[Lease]]:
    """A run whose requests one worker holds."""
    run = await folder.store.create_run(plan_of(*paths))
    run = await folder.store.set_state(run.id, "running")
    worker_id = await folder.frontier.join(WorkerRegistration("victim"))
    return run, worker_id, (await folder.frontier.lease(worker_id, 10, [run.id])).leases


def kill(
    lease: Lease, worker_id: int, *, cause: KillCause = "stall", stage: int = PARSE, limit: float = 20.0
) -> Kill:
    """The worker was killed while it read the answer to this request."""
    return Kill(cause, doing(lease, worker_id, stage), limit)


def doing(lease: Lease, worker_id: int, stage: int = PARSE) -> ActivityRecord:
    now, token = time.monotonic(), lease.token
    where = (lease.url_id, token.epoch, token.counter, lease.visit, lease.attempts)
    return ActivityRecord(now, worker_id, now, *where, lease.is_alone, stage)


async def states(folder: DataFolder, run: Run, leases: list[Lease]) -> list[tuple[str, int, int, str]]:
    found = [(await folder.store.find_urls(one.request.fingerprint, run.id))[0] for one in leases]
    return [(one.state, one.attempts, one.returns, one.reason or "") for one in found]


class Heard:
    """A bus and what it published."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.bus = LocalBus()
        self.bus.subscribe(self.events.append)


async def test_exactly_the_request_that_was_read_is_tried_alone_and_then_given_up(folder: DataFolder) -> None:
    run, worker_id, leases = await leased(folder, "beside", "costly", "other")
    text = await report_loss(folder, kill(leases[1], worker_id), "worker 1", Heard().bus)
    assert "costly took more than 20 s in parse; it is tried once more, alone" in text
    assert [one[:2] for one in await states(folder, run, leases)] == [("open", 0)] * 3
    assert [one[2] for one in await states(folder, run, [leases[0], leases[2]])] == [0, 0]
    assert not await folder.workers.find()
    again = await folder.frontier.join(WorkerRegistration("again"))
    (alone,) = (await folder.frontier.lease(again, 10, [run.id])).leases
    assert (alone.url_id, alone.is_alone) == (leases[1].url_id, True)
    heard = Heard()
    assert "it is given up" in await report_loss(folder, kill(alone, again), "worker 2", heard.bus)
    ((state, _, _, reason),) = await states(folder, run, [alone])
    assert (state, reason) == ("broken", REASON)
    buried, killed = heard.events
    assert isinstance(buried, PageBuried)
    assert isinstance(killed, WorkerKilled)
    assert (killed.run_id, killed.url, killed.cause) == (run.id, alone.request.url, "stall")
    last = await folder.frontier.join(WorkerRegistration("last"))
    assert len((await folder.frontier.lease(last, 10, [run.id])).leases) == 2


async def test_a_page_that_was_stored_meanwhile_is_not_blamed(folder: DataFolder) -> None:
    from smartspider_testing.contracts.actions import done

    run, worker_id, leases = await leased(folder, "quick")
    await folder.ledger.settle([done(leases[0])])
    await report_loss(folder, kill(leases[0], worker_id), "worker 0", Heard().bus)
    assert [one[0] for one in await states(folder, run, leases)] == ["done"]


async def test_a_late_report_does_not_touch_the_new_holder(folder: DataFolder) -> None:
    run, worker_id, leases = await leased(folder, "costly")
    await folder.frontier.release(leases)
    holder = await folder.frontier.join(WorkerRegistration("holder"))
    (held,) = (await folder.frontier.lease(holder, 1, [run.id])).leases
    await report_loss(folder, kill(leases[0], worker_id), "worker 0", Heard().bus)
    assert await folder.frontier.renew([held]) == []


async def test_without_a_culprit_the_requests_return_like_those_of_a_dead_worker(folder: DataFolder) -> None:
    run, worker_id, leases = await leased(folder, "a", "b")
    await report_loss(folder, kill(leases[0], worker_id, stage=activity.NONE), "worker 0", Heard().bus)
    assert [one.id for one in await folder.workers.find()] == [worker_id]
    assert [one[2] for one in await states(folder, run, leases)] == [0, 0]


async def test_a_worker_killed_because_of_a_stop_counts_against_no_request(folder: DataFolder) -> None:
    run, worker_id, leases = await leased(folder, "a", "b")
    await report_loss(folder, kill(leases[0], worker_id, cause="stop", limit=3.0), "worker 0", Heard().bus)
    assert await states(folder, run, leases) == [("open", 0, 0, "")] * 2
    assert not await folder.workers.find()


async def test_a_run_whose_rules_cannot_be_compiled_fails(folder: DataFolder) -> None:
    run, worker_id, leases = await leased(folder, "a")
    activity.begin_run(run.id)
    record = msgspec.structs.replace(activity.current(), worker_id=worker_id)
    activity.end()
    await report_loss(folder, Kill("stall", record, 20.0), "worker 0", Heard().bus)
    ended = await folder.store.get_run(run.id)
    assert ended.state == "failed"
    assert "took more than 20 s in compile" in ended.reason
    assert [one[2] for one in await states(folder, run, leases)] == [0]


async def test_memory_is_named_as_the_setting_is_written(folder: DataFolder) -> None:
    _, worker_id, leases = await leased(folder, "fat")
    text = await report_loss(
        folder, kill(leases[0], worker_id, cause="memory", limit=2e9), "worker 0", Heard().bus
    )
    assert "fat needed more than 2GB in parse" in text


@pytest.mark.parametrize(("state", "is_ending"), [("stopping", True), ("cancelled", True), ("paused", False)])
async def test_a_run_that_ends_makes_its_holder_unwanted(
    folder: DataFolder, state: str, *, is_ending: bool
) -> None:
    run, worker_id, _ = await leased(folder, "a")
    assert not await has_ending_run(folder, worker_id)
    await folder.store.set_state(run.id, state)  # type: ignore[arg-type] # one of its states
    assert await has_ending_run(folder, worker_id) == is_ending


async def test_a_supervisor_logs_and_counts_what_it_does(tmp_path: Path) -> None:
    supervision = Supervision(tmp_path, Settings())
    with open_folder(tmp_path) as folder:
        run, worker_id, leases = await leased(folder, "costly")
        await supervision.report_drain(Drain(doing(leases[0], worker_id)), "worker 3")
        await supervision.report(kill(leases[0], worker_id), "worker 3")
        sums = await folder.metrics.sums()
        lines = {stored.line.event for stored in (await folder.logs.before(LogFilter(run_id=run.id))).lines}
        names = [one.name for one in await folder.events.of_run(run.id)]
    assert sums["smartspider_worker_kills_total", (("cause", "stall"),)] == 1
    assert {"worker.drained", "fetch.retried", "worker.killed"} <= lines
    assert "worker.killed" in names


async def test_an_unusable_store_does_not_save_a_worker(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("no folder")
    supervision = Supervision(place, Settings())
    record = ActivityRecord(1.0, 1, 1.0, 5, 1, 1, 0, 0, is_alone=False, stage=PARSE)
    assert "was killed" in await supervision.report(Kill("stall", record, 20.0), "worker 0")
    assert not await supervision.is_unwanted(1)
