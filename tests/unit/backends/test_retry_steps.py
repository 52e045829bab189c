"""A retry that is interrupted or met by others, and knobs of a run that is older than they are."""

from __future__ import annotations

import msgspec
import pytest

from smartspider.core.errors import NotAllowed
from smartspider.core.runs.plan import RunLimits
from smartspider.core.runs.run import Run
from smartspider.core.runs.tuning import LimitTuning, Tuning
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.database import Connection
from smartspider.store.runs.reopen_failed import RetrySweep, step
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.contracts.actions import begin, closed, done, settle, take, take_one, urls


async def _failed(backend: SqliteBackend, count: int) -> tuple[Run, int]:
    run = await begin(backend, *urls(count))
    worker = await backend.frontier.join(WorkerRegistration("w"))
    for number, lease in enumerate(await take(backend, worker, run)):
        await settle(backend, closed(lease, "broken" if number % 3 == 0 else "dead"))
    return await backend.store.finish(run.id), worker


async def _write(backend: SqliteBackend, statement: str) -> None:
    await backend.database.write(lambda connection: connection.execute(statement))


class Killed(BaseException):
    pass


@pytest.mark.parametrize("times", [1, 2, 4])
async def test_a_retry_that_was_interrupted_leaves_a_run_that_goes_on(
    backend: SqliteBackend, times: int
) -> None:
    run, _ = await _failed(backend, 20)
    sweep = RetrySweep(run.id, "ann", batch=3)

    def die(connection: Connection) -> None:
        step(connection, sweep, backend.database.now())
        raise Killed

    for _ in range(times - 1):
        await backend.database.write(lambda connection: step(connection, sweep, backend.database.now()))
    with pytest.raises(Killed):
        await backend.database.write(die)
    await backend.reopen()
    assert await backend.store.fsck() == []
    found = await backend.store.get_run(run.id)
    assert (found.state, found.counters.open) == ("queued" if times > 1 else "failed", 3 * (times - 1))
    assert await backend.store.retry(run.id) == 20 - found.counters.open
    await backend.store.set_state(run.id, "running")
    worker = await backend.frontier.join(WorkerRegistration("w"))
    assert len(await take(backend, worker, run)) == 20


async def test_a_run_that_ends_while_it_is_retried_is_queued_again(backend: SqliteBackend) -> None:
    run, worker = await _failed(backend, 9)
    sweep = RetrySweep(run.id, "ann", batch=3)

    def make_step(connection: Connection) -> bool:
        return step(connection, sweep, backend.database.now())

    while await backend.database.write(make_step):
        if (await backend.store.get_run(run.id)).state == "queued":
            await backend.store.set_state(run.id, "running")
        await settle(backend, *(done(lease) for lease in await take(backend, worker, run)))
        await backend.store.finish(run.id)
        assert await backend.store.fsck() == []
    assert sweep.opened == 9
    assert (await backend.store.get_run(run.id)).counters.failed == 0


async def test_a_run_that_is_cancelled_while_it_is_retried_stays_so(backend: SqliteBackend) -> None:
    run, _ = await _failed(backend, 9)
    sweep = RetrySweep(run.id, "ann", batch=3)

    def make_step(connection: Connection) -> bool:
        return step(connection, sweep, backend.database.now())

    await backend.database.write(make_step)
    await backend.store.set_state(run.id, "cancelled")
    with pytest.raises(NotAllowed):
        await backend.database.write(make_step)
    assert await backend.store.fsck() == []


async def test_an_end_that_was_interrupted_comes_first(backend: SqliteBackend) -> None:
    run = await begin(backend, *urls(3))
    worker = await backend.frontier.join(WorkerRegistration("w"))
    await settle(backend, closed(await take_one(backend, worker, run), "dead"))
    await _write(backend, "UPDATE run SET state = 'completed'")
    assert await backend.store.retry(run.id) == 1
    counters = (await backend.store.get_run(run.id)).counters
    assert (counters.open, counters.skipped) == (1, 2)
    assert await backend.store.fsck() == []


async def test_what_lost_workers_is_retried_alone(backend: SqliteBackend) -> None:
    run, worker = await _failed(backend, 3)
    await _write(backend, "UPDATE url SET returns = 6, lone_returns = 3 WHERE url LIKE '%p1'")
    await backend.store.retry(run.id)
    await backend.store.set_state(run.id, "running")
    lease = await take_one(backend, worker, run)
    assert (lease.is_alone, lease.request.url[-2:]) == (True, "p1")
    await settle(backend, done(lease))
    assert len(await take(backend, worker, run)) == 2


async def test_a_run_from_before_knobs_were_kept_is_tuned_by_what_it_has(backend: SqliteBackend) -> None:
    run = await begin(backend, *urls(3), delay_s=2.0, concurrency=5, limits=RunLimits(max_items=9))
    await _write(backend, "UPDATE run SET knobs = NULL")
    await backend.store.tune(run.id, Tuning(delay_s=1.0, concurrency=6, limits=LimitTuning(max_items=8)))
    (event,) = [one for one in await backend.events.of_run(run.id) if one.name == "run.tuned"]
    assert msgspec.json.decode(event.data)["changed"] == {
        "concurrency": {"from": 5, "to": 6},
        "delay_s": {"from": 2.0, "to": 1.0},
        "max_items": {"from": 9, "to": 8},
    }
