"""Store time of a data folder: steady whatever the wall clock does, and the same for every process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from smartspider.backends.sqlite.store_clock import SqliteStoreClock
from smartspider.core.clock_doubt import BELIEVED_AFTER_S, LONG_BELIEVED_AFTER_S
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts.actions import (
    begin,
    failed,
    plan_of,
    reclaim,
    settle,
    take,
    take_one,
    url,
    urls,
)

DAY_S = 86_400.0


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[SqliteBackend]:
    backend = SqliteBackend(tmp_path, ManualClock())
    await backend.store.create_run(plan_of("first", name="first"))
    yield backend
    await backend.close()


async def look(backend: SqliteBackend) -> None:
    """Write something, which is when a process looks at the wall clock."""
    await backend.database.write(lambda _connection: None)


async def actions(backend: SqliteBackend) -> list[str]:
    return [one.action for one in await backend.audit.entries() if one.action.startswith("clock.")]


@pytest.mark.parametrize("jump_s", [300 * DAY_S, -DAY_S])
async def test_a_jump_that_goes_away_again_changes_nothing(backend: SqliteBackend, jump_s: float) -> None:
    start = backend.database.now()
    backend.clock.wind(jump_s)
    await look(backend)
    await backend.clock.advance(40.0)
    other = await backend.another()
    assert backend.database.now() == other.database.now() == start + 40.0
    run = await other.store.create_run(plan_of("one"))
    assert run.created_at == start + 40.0
    assert await actions(backend) == ["clock.doubted"]
    status = await SqliteStoreClock(backend.database).status()
    assert status.doubt is not None
    assert (status.doubt.ahead_s, status.doubt.since) == (jump_s, start)
    backend.clock.wind(-jump_s)
    await look(backend)
    assert backend.database.now() == backend.clock.now()
    assert (await SqliteStoreClock(backend.database).status()).doubt is None
    assert await actions(backend) == ["clock.agreed", "clock.doubted"]


@pytest.mark.parametrize(
    ("jump_s", "wait_s"), [(DAY_S, BELIEVED_AFTER_S), (300 * DAY_S, LONG_BELIEVED_AFTER_S)]
)
async def test_a_jump_that_lasts_is_followed(backend: SqliteBackend, jump_s: float, wait_s: float) -> None:
    backend.clock.wind(jump_s)
    await look(backend)
    await backend.clock.advance(wait_s - 1.0)
    await look(backend)
    assert backend.database.now() == backend.clock.now() - jump_s
    await backend.clock.advance(1.0)
    await look(backend)
    assert backend.database.now() == backend.clock.now()
    assert await actions(backend) == ["clock.followed", "clock.doubted"]


async def test_store_time_comes_home_from_the_future(tmp_path: Path) -> None:
    """Rule 21: after a start with a wrong clock, with all that waits, and leases that are worked on."""
    clock = ManualClock()
    backend = SqliteBackend(tmp_path, clock)
    clock.wind(300 * DAY_S)
    run = await begin(backend, *urls(4), url("x", host="b.example"), delay_s=10.0)
    worker = await backend.frontier.join(WorkerRegistration("w"))
    leases = await take(backend, worker, run)
    await settle(backend, failed(leases[0], delay_s=100.0))
    await backend.leadership.take("one", 10.0)
    clock.wind(-300 * DAY_S)
    await look(backend)
    await clock.advance(BELIEVED_AFTER_S)
    other = await backend.another()
    await look(other)
    assert other.database.now() == clock.now()
    await look(backend)
    assert backend.database.now() == clock.now()
    await clock.advance(61.0)
    await reclaim(backend)
    assert len(await take(backend, worker, run)) > 0
    term = await backend.leadership.take("two", 10.0)
    assert term is not None
    assert (await backend.store.get_run(run.id)).counters.open == 5
    assert await backend.store.fsck() == []
    await backend.close()


async def test_an_admin_confirms_the_clock(backend: SqliteBackend) -> None:
    clock = SqliteStoreClock(backend.database)
    backend.clock.wind(300 * DAY_S)
    await look(backend)
    status = await clock.confirm("ann")
    assert status.doubt is None
    assert backend.database.now() == backend.clock.now()
    newest = (await backend.audit.entries())[0]
    assert (newest.actor, newest.action) == ("ann", "clock.followed")
    await clock.confirm("ann")
    assert await actions(backend) == ["clock.followed", "clock.doubted"]


async def test_a_folder_from_another_machine_has_the_time_of_this_one(tmp_path: Path) -> None:
    """Also if that machine has run for longer."""
    there = SqliteBackend(tmp_path, ManualClock(monotonic=100.0, boot="there"))
    await begin(there, "one")
    await there.close()
    here = SqliteBackend(tmp_path, ManualClock(there.clock.now() + 60.0, monotonic=2e7, boot="here"))
    assert here.database.now() == here.clock.now()
    await look(here)
    assert here.database.now() == here.clock.now()
    await here.close()


async def test_a_machine_that_starts_with_an_old_clock_goes_on_from_the_last_moment(tmp_path: Path) -> None:
    before = SqliteBackend(tmp_path, ManualClock(boot="one"))
    await before.frontier.join(WorkerRegistration("w"))
    await before.close()
    last = before.clock.now()
    after = SqliteBackend(tmp_path, ManualClock(last - 90 * DAY_S, monotonic=5.0, boot="two"))
    await look(after)
    assert after.database.now() == last
    after.clock.wind(90 * DAY_S)
    await after.clock.advance(20.0)
    await look(after)
    assert after.database.now() == last + 20.0
    await after.close()


async def test_store_time_never_goes_back_while_the_process_lives(backend: SqliteBackend) -> None:
    start = backend.database.now()
    backend.clock.wind(-3600.0)
    assert backend.database.now() == start
    await backend.clock.advance(10.0)
    assert backend.database.now() == start + 10.0
    backend.clock.wind(3630.0)
    await backend.store.create_run(plan_of())
    ahead = backend.database.now()
    assert ahead == backend.clock.now() == start + 40.0
    backend.clock.wind(-3630.0)
    await backend.store.create_run(plan_of())
    assert backend.database.now() == ahead


async def test_store_time_does_not_go_back_for_a_process_that_comes_later(backend: SqliteBackend) -> None:
    """It sees the same moments, so it neither waits for gates of the future nor has its leases taken."""
    run = await begin(backend, *urls(3), delay_s=1.0)
    worker = await backend.frontier.join(WorkerRegistration("old"))
    await take_one(backend, worker, run)
    backend.clock.wind(-7200.0)
    later = await backend.another()
    newcomer = await later.frontier.join(WorkerRegistration("new"))
    assert await take(later, newcomer, run) == []
    await backend.clock.advance(1.1)
    lease = await take_one(later, newcomer, run)
    assert later.database.now() == backend.database.now()
    assert await reclaim(backend) == {}
    assert await later.frontier.renew([lease]) == []


async def test_a_machine_that_slept_shortens_nothing(backend: SqliteBackend) -> None:
    """Leases, slots, holds and retries keep the time they had left."""
    run = await begin(backend, *urls(4), url("x", host="b.example"), delay_s=10.0)
    worker = await backend.frontier.join(WorkerRegistration("w"))
    leases = await take(backend, worker, run)
    await settle(backend, failed(leases[0], delay_s=100.0))
    await backend.frontier.hold_host("b.example", 50.0, "Retry-After")
    backend.clock.suspend(86_400.0)
    assert await reclaim(backend) == {}
    assert await take(backend, worker, run) == []
    assert backend.database.now() == backend.clock.now()
    await backend.clock.advance(9.9)
    assert await take(backend, worker, run) == []
    await backend.clock.advance(0.2)
    assert len(await take(backend, worker, run)) == 1


async def test_after_a_restart_of_the_machine_store_time_is_wall_time(tmp_path: Path) -> None:
    """The monotonic clock begins anew; what was held is held until the moment it was, not longer."""
    before = SqliteBackend(tmp_path, ManualClock(monotonic=500_000.0))
    run = await begin(before, "one")
    await before.frontier.join(WorkerRegistration("w"))
    await before.frontier.hold_host("a.example", 3600.0, "Retry-After")
    await before.close()
    after = SqliteBackend(tmp_path, ManualClock(now=before.clock.now() + 3000.0, monotonic=10.0))
    worker = await after.frontier.join(WorkerRegistration("w"))
    assert after.database.now() == after.clock.now()
    await after.clock.advance(599.0)
    assert await take(after, worker, run) == []
    await after.clock.advance(2.0)
    assert len(await take(after, worker, run)) == 1
    await after.close()
