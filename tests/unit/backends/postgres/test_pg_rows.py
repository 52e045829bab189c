"""What a frontier apart from the store is told: open rows, runs, hosts and workers."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.backends.postgres.leases import leases, started

from smartspider.backends.postgres.ledger import PostgresLedger
from smartspider.backends.postgres.open_rows import PostgresOpenRows
from smartspider.backends.postgres.workers import (
    LOST_S,
    REMEMBER_S,
    PostgresMembership,
    PostgresWorkerRegistry,
)
from smartspider.core.errors import LeadershipLost
from smartspider.core.events import LeasesReturned
from smartspider.core.frontier.updates import HostRow, QueuePosition, ReturnedLease, RunControl, RunLoad
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.interfaces.robots_cache import RobotsAnswer
from smartspider.interfaces.worker_registry import HeartbeatReply, HeartbeatReport
from smartspider.store.frontier_updates import BURY_AFTER, CRASHED, SUSPECT_AFTER
from smartspider_testing.backends.postgres import PostgresBackend
from smartspider_testing.contracts.actions import HOST, done, failed, plan_of, url, urls


@pytest.fixture
def rows(backend: PostgresBackend) -> PostgresOpenRows:
    return PostgresOpenRows(backend.database)


@pytest.fixture
def presence(backend: PostgresBackend) -> PostgresMembership:
    return PostgresMembership(backend.database)


async def test_requests_are_told_while_they_are_open(
    backend: PostgresBackend, rows: PostgresOpenRows
) -> None:
    """Open rows 1."""
    run = await started(backend, plan_of("one", "two"))
    one, two = await leases(backend.database, run)
    await PostgresLedger(backend.database).settle([done(one, url("child", priority=3))], None)
    found = await rows.requests([one.url_id, two.url_id, two.url_id + 1, 77])
    assert sorted(found) == [two.url_id, two.url_id + 1]
    child = found[two.url_id + 1].request
    assert (child.url, child.parent, child.priority, child.is_entry) == (
        *(f"http://{HOST}/child", f"http://{HOST}/one", 3),
        False,
    )
    await backend.store.set_state(run.id, "cancelled")
    assert await rows.requests([two.url_id]) == {}
    assert await rows.places([two.url_id]) == []


async def test_the_head_of_a_lane_is_its_best_rows(backend: PostgresBackend, rows: PostgresOpenRows) -> None:
    """Open rows 3: by priority, first found first among equals; what waits keeps no place in it."""
    entries = [url("low"), url("high", priority=5), url("also low"), url("far", host="b.example")]
    run = await started(backend, plan_of(*entries))
    low, high, also, far = [lease.url_id for lease in await leases(backend.database, run)]
    assert [place.url_id for place in await rows.heads(run.id, [HOST], 10)] == [high, low, also]
    assert [place.url_id for place in await rows.heads(run.id, [HOST], 2)] == [high, low]
    first = (await leases(backend.database, run))[1]
    await PostgresLedger(backend.database).settle([failed(first, delay_s=30.0)], None)
    due_at = backend.database.now() + 30.0
    assert await rows.heads(run.id, [HOST], 2) == [
        *(QueuePosition(low, HOST, 0), QueuePosition(also, HOST, 0)),
        QueuePosition(high, HOST, -5, due_at),
    ]
    await backend.clock.advance(31.0)
    assert [place.url_id for place in await rows.heads(run.id, [HOST], 2)] == [high, low]
    assert await rows.lanes(run.id) == [HOST, "b.example"]
    assert await rows.lanes(run.id, limit=1) == [HOST]
    assert await rows.lanes(run.id, after=HOST) == ["b.example"]
    assert await rows.lanes(run.id, after="b.example") == []
    both = await rows.heads(run.id, ["b.example", HOST, "nobody.example"], 2)
    assert [place.url_id for place in both] == [high, low, far]
    assert [place.url_id for place in await rows.heads(run.id, ["b.example"], 9)] == [far]


async def test_places_are_listed_by_a_cursor(backend: PostgresBackend, rows: PostgresOpenRows) -> None:
    """Open rows 2."""
    run = await started(backend, plan_of(*urls(7)))
    seen: list[int] = []
    while batch := await rows.places_after(run.id, after=seen[-1] if seen else 0, limit=3):
        seen += [place.url_id for place in batch]
    assert seen == [lease.url_id for lease in await leases(backend.database, run)]


async def test_runs_that_are_over_have_no_control(backend: PostgresBackend, rows: PostgresOpenRows) -> None:
    """Open rows: all others have, oldest first."""
    first, second = [await started(backend, plan_of(name=name, concurrency=9)) for name in ("one", "two")]
    assert await rows.controls() == [
        RunControl(run.id, "running", 1, 9, 0.0, 64, None) for run in (first, second)
    ]
    await backend.store.set_state(first.id, "cancelled")
    assert [control.run_id for control in await rows.controls()] == [second.id]


async def test_holds_are_kept_and_never_shortened(backend: PostgresBackend, rows: PostgresOpenRows) -> None:
    """Holds 1: hosts with nothing to say are not told."""
    await started(backend, plan_of(url("x"), url("x", host="quiet.example")))
    now = backend.database.now()
    assert (await rows.hold_host(HOST, 60.0, "429")).held_until == now + 60.0
    assert (await rows.hold_host(HOST, 5.0, "again")).held_until == now + 60.0
    slow = await rows.slow_host("slow.example", 3.0)
    assert slow == HostRow("slow.example", "slow.example", operator_s=3.0, changed_at=slow.changed_at)
    assert [host.name for host in await rows.hosts()] == [HOST, "slow.example"]
    assert [host.name for host in await rows.hosts(after=HOST)] == ["slow.example"]
    assert (await rows.resume_host(HOST)).held_until == 0.0


async def test_gates_that_changed_are_told_in_that_order(
    backend: PostgresBackend, rows: PostgresOpenRows
) -> None:
    """Open rows: each change is later than the one before it, whoever made it."""
    await started(backend, plan_of(url("x"), url("x", host="quiet.example")))
    assert await rows.hosts_changed() == []
    first = await rows.hold_host(HOST, 60.0, "429")
    robots = RobotsAnswer(f"http://{HOST}", 200, b"", 0.0, 9.0)
    await backend.robots.put_robots(robots, host="slow.example", crawl_delay_s=7.0)
    told = await rows.hosts_changed()
    assert [(host.name, host.robots_s) for host in told] == [(HOST, 0.0), ("slow.example", 7.0)]
    assert await rows.hosts_changed(after=first.changed_at) == told[1:]
    assert [host.name for host in await rows.hosts_changed(limit=1)] == [HOST]
    assert (await rows.resume_host(HOST)).changed_at > told[1].changed_at
    assert [host.name for host in await rows.hosts_changed()] == ["slow.example", HOST]


def back(url_id: int, worker_id: int, *, is_alone: bool = False, counts: bool = True) -> ReturnedLease:
    return ReturnedLease(url_id, HOST, worker_id, is_alone, counts)


async def test_a_request_that_keeps_losing_workers_is_set_apart_then_buried(
    backend: PostgresBackend, rows: PostgresOpenRows, presence: PostgresMembership
) -> None:
    """Open rows 4, rule 7."""
    run = await started(backend)
    worker = await presence.join(WorkerRegistration("w1"))
    (lease,) = await leases(backend.database, run)
    for number in range(1, SUSPECT_AFTER + 1):
        places, told = await rows.count_returns([back(lease.url_id, worker)])
        assert places == [QueuePosition(lease.url_id, HOST, 0, is_alone=number >= SUSPECT_AFTER)]
        assert told == [LeasesReturned(run.id, 1, "w1")]
    for _ in range(BURY_AFTER):
        places, _ = await rows.count_returns([back(lease.url_id, worker, is_alone=True)])
    assert places == []
    (failure,) = await backend.store.failures(run.id)
    assert (failure.state, failure.reason) == ("dead", CRASHED)
    counters = (await backend.store.get_run(run.id)).counters
    assert (counters.dead, counters.returns) == (1, SUSPECT_AFTER + BURY_AFTER)
    assert await backend.store.fsck() == []


async def test_what_says_nothing_about_a_request_is_not_counted_on_it(
    backend: PostgresBackend, rows: PostgresOpenRows, presence: PostgresMembership
) -> None:
    """Rule 7: after an epoch change, and of a worker that left in good order."""
    run = await started(backend)
    left = await presence.join(WorkerRegistration("w1"))
    await presence.leave(left)
    (lease,) = await leases(backend.database, run)
    for _ in range(4):
        await rows.count_returns([back(lease.url_id, 99, counts=False)])
        places, _ = await rows.count_returns([back(lease.url_id, left)])
    assert places == [QueuePosition(lease.url_id, HOST, 0)]
    assert (await rows.requests([lease.url_id]))[lease.url_id].returns == 0


async def test_the_process_that_is_armed_last_is_noted_by_the_leader(
    backend: PostgresBackend, rows: PostgresOpenRows
) -> None:
    assert await rows.armed_process(3) == ""
    await backend.leadership.take("one", 10.0)
    await rows.record_arming(3, "first", epoch=1)
    await rows.record_arming(3, "second", epoch=1)
    await rows.record_arming(4, "other", epoch=1)
    assert await rows.armed_process(3) == "second"
    await backend.leadership.resign("one")
    await backend.leadership.take("two", 10.0)
    with pytest.raises(LeadershipLost):
        await rows.record_arming(3, "third", epoch=1)
    assert await rows.armed_process(3) == "second"


async def test_a_silent_worker_is_lost(
    backend: PostgresBackend, rows: PostgresOpenRows, presence: PostgresMembership
) -> None:
    """Open rows: told for a while, then forgotten; its next beat hears that nobody knows it."""
    registry = PostgresWorkerRegistry(backend.database)
    silent, loud = [await presence.join(WorkerRegistration(name, slots=4)) for name in ("silent", "loud")]
    beat = HeartbeatReport(None, 1.0, 1)
    await backend.clock.advance(LOST_S - 1.0)
    orders = await registry.beat(loud, beat)
    assert orders == HeartbeatReply(4, peers=orders.peers)
    assert sorted(orders.peers) == [silent, loud]
    assert await rows.lost_workers() == []
    await backend.clock.advance(2.0)
    assert [worker.is_alive for worker in await registry.find()] == [False, True]
    assert await rows.lost_workers() == [silent]
    assert [worker.id for worker in await registry.find()] == [loud]
    assert (await registry.beat(silent, beat)).is_unknown
    await presence.leave(loud)
    assert sorted(await rows.lost_workers()) == [silent, loud]
    await backend.clock.advance(REMEMBER_S + 1.0)
    await rows.lost_workers()
    assert await rows.lost_workers() == []


async def test_what_a_worker_holds_is_shown_from_its_last_beat(
    backend: PostgresBackend, presence: PostgresMembership
) -> None:
    """Worker registry 1: with its hosts, its runs, and in the story of a request."""
    registry = PostgresWorkerRegistry(backend.database)
    worker, other = [await presence.join(WorkerRegistration(name)) for name in ("w", "other")]
    run = await started(backend, plan_of(*urls(3)))
    held = await leases(backend.database, run)
    await registry.beat(worker, HeartbeatReport(4, 0.0, 0, held[:2]))
    await registry.beat(other, HeartbeatReport(4, 0.0, 0, held[1:2]))
    assert [(one.held, one.hosts, one.runs) for one in await registry.find()] == [(1, [HOST], [run.id])] * 2
    (record,) = await backend.store.find_urls(held[1].request.fingerprint, run.id)
    assert record.place == "leased by other"
    await registry.beat(worker, HeartbeatReport(4, 0.0, 0, []))
    assert [one.held for one in await registry.find()] == [0, 1]
    await presence.leave(other)
    (record,) = await backend.store.find_urls(held[1].request.fingerprint, run.id)
    assert record.place == "queued"


async def test_a_lease_knows_the_visit_it_is_for(backend: PostgresBackend, rows: PostgresOpenRows) -> None:
    """RunStore 10: what an earlier visit brings late changes nothing, whoever holds the row."""
    run = await started(backend, plan_of("one", "two"))
    one, _ = await leases(backend.database, run)
    ledger = PostgresLedger(backend.database)
    bury = msgspec.structs.replace(
        done(one), verdict=msgspec.structs.replace(done(one).verdict, state="dead")
    )
    await ledger.settle([bury], None)
    await backend.store.retry(run.id)
    assert (await rows.requests([one.url_id]))[one.url_id].visit == 1
    report, moves = await ledger.settle([bury, failed(one)], None)
    assert (report.late, moves.released) == (2, [one, one])
    assert (await backend.store.get_run(run.id)).counters.dead == 0


async def test_what_an_old_leader_counted_is_refused(
    backend: PostgresBackend, rows: PostgresOpenRows
) -> None:
    """Rule 8: by it a run that was resumed since would seem to hold nothing, and end."""
    run = await started(backend)
    old = await backend.leadership.take("one", 5.0)
    await backend.leadership.resign("one")
    new = await backend.leadership.take("two", 5.0)
    assert old is not None
    assert new is not None
    load = RunLoad(run.id, "running", leased=1, queued=0, waiting=0)
    with pytest.raises(LeadershipLost):
        await rows.store_loads([load], epoch=old.epoch)
    await rows.store_loads([load], epoch=new.epoch)


async def test_a_robots_file_without_a_delay_is_no_news_of_its_host(
    backend: PostgresBackend, rows: PostgresOpenRows
) -> None:
    """A broad crawl reads one for each host; one that had a delay and has none any more is told."""
    told = []
    for delay_s in (None, 7.0, None, None):
        answer = RobotsAnswer(f"http://{HOST}", 200, b"", 1.0, 2.0)
        await backend.robots.put_robots(answer, host=HOST, crawl_delay_s=delay_s)
        told.append([(host.robots_s, host.changed_at > 0.0) for host in await rows.hosts_changed()])
    assert told == [[], [(7.0, True)], [(0.0, True)], [(0.0, True)]]
