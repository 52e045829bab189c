"""`interfaces/ledger.py`, and what never is done by a frontier that may be wrong."""

from __future__ import annotations

import asyncio
import logging

import pytest
from tests.unit.backends.redis.scenes import Scene, place_of, url, urls

from smartspider.core.errors import FrontierUnavailable
from smartspider.core.frontier.lease import SendWindow
from smartspider.core.frontier.updates import FrontierUpdate, HostRow, QueuePosition
from smartspider.core.workers.worker import WorkerRegistration

HOST = "a.example"


async def begun(scene: Scene, count: int = 5, **knobs: float) -> tuple[int, int]:
    return await scene.begin(urls(count), **knobs), await scene.frontier.join(WorkerRegistration("w"))


async def stale(scene: Scene) -> int:
    return int(await scene.raw("HGET", f"{scene.shards.tag(0)}:st", "stale") or 0)


async def test_a_closed_row_is_never_handed_out_whatever_the_frontier_believes(scene: Scene) -> None:
    """Ids are looked up; those of closed rows are forgotten, and the next come in their place."""
    run, worker = await begun(scene, 6)
    for url_id in list(scene.rows.rows)[:5]:
        scene.rows.rows[url_id].state = "done"
    (lease,) = await scene.take(worker, run, want=2)
    assert lease.request.url.endswith("p5")
    assert (await scene.index.counts(0, [run]))[run].leased == 1


async def test_who_meets_a_closed_row_offers_what_it_led_to(scene: Scene) -> None:
    """Rule 2: whoever closed it died before he offered its children."""
    run, dead = await begun(scene, 1)
    (lease,) = await scene.take(dead, run)
    child = scene.rows.add(run, url("child"))
    assert child is not None
    scene.rows.parents[child] = lease.url_id
    scene.rows.rows[lease.url_id].state = "done"
    await scene.frontier.release([lease])
    worker = await scene.frontier.join(WorkerRegistration("w2"))
    (found,) = await scene.take(worker, run)
    assert found.url_id == child


async def test_a_slot_that_was_taken_for_a_closed_row_is_given_back(scene: Scene) -> None:
    """A thousand closed rows do not cost a thousand delays."""
    run, worker = await begun(scene, 6, delay_s=10.0)
    for url_id in list(scene.rows.rows)[:5]:
        scene.rows.rows[url_id].state = "done"
    (lease,) = await scene.take(worker, run)
    assert lease.request.url.endswith("p5")
    assert lease.window.not_before == pytest.approx(scene.clock.monotonic())


async def test_what_cannot_be_looked_up_is_given_back(scene: Scene) -> None:
    """The store is down for a moment: nothing is lost, nothing is counted."""
    run, worker = await begun(scene)
    scene.rows.is_down = True
    with pytest.raises(ConnectionError):
        await scene.take(worker, run)
    scene.rows.is_down = False
    assert len(await scene.take(worker, run)) == 5


async def test_stale_acks_are_refused_and_counted(scene: Scene) -> None:
    """Rule 6: the new holder keeps its lease."""
    run, slow = await begun(scene, 1)
    fast = await scene.frontier.join(WorkerRegistration("fast"))
    (old,) = await scene.take(slow, run)
    scene.rows.dead.add(slow)
    await scene.frontier.reclaim()
    (new,) = await scene.take(fast, run)
    before = await stale(scene)
    await scene.frontier.apply(FrontierUpdate(ended=[old], released=[old], postponed=[(old, place_of(old))]))
    assert await stale(scene) == before + 3
    assert await scene.frontier.held([old, new]) == {new.token}


async def test_an_ack_never_overtakes_an_offer(scene: Scene) -> None:
    """Moves 1: while memory is full nothing can be offered, so nothing is acked; then both are."""
    run, worker = await begun(scene, 1)
    (lease,) = await scene.take(worker, run)
    child = scene.rows.add(run, url("child"))
    assert child is not None
    scene.close(lease)
    await scene.raw("CONFIG", "SET", "maxmemory", "1")
    try:
        moves = FrontierUpdate(offered=[QueuePosition(child, HOST, 0)], ended=[lease])
        carrying = asyncio.create_task(scene.frontier.apply(moves))
        await scene.clock.until_asleep()
        assert await scene.frontier.held([lease]) == {lease.token}
    finally:
        await scene.raw("CONFIG", "SET", "maxmemory", "0")
    await scene.clock.advance(0.1)
    await carrying
    assert await scene.frontier.held([lease]) == set()
    assert [one.url_id for one in await scene.take(worker, run)] == [child]


async def test_nothing_is_acked_when_its_offers_were_given_up(scene: Scene) -> None:
    """Moves 1 and 2: the lease runs out, and the keeper offers what is open."""
    run, worker = await begun(scene, 1)
    (lease,) = await scene.take(worker, run)
    child = scene.rows.add(run, url("child"))
    assert child is not None
    await scene.raw("CONFIG", "SET", "maxmemory", "1")
    try:
        moves = FrontierUpdate(offered=[QueuePosition(child, HOST, 0)], ended=[lease])
        carrying = asyncio.create_task(scene.frontier.apply(moves))
        while not carrying.done():
            await scene.clock.advance(scene.clock.next_wake_s or 0.0)
            await asyncio.sleep(0.001)
    finally:
        await scene.raw("CONFIG", "SET", "maxmemory", "0")
    assert await scene.frontier.held([lease]) == {lease.token}


async def test_what_ends_or_is_taken_away_works_when_memory_is_full(scene: Scene) -> None:
    """Offering and leasing do not: they would make it worse."""
    run, worker = await begun(scene, 6)
    gone = await scene.begin(urls(3, host="b.example"))
    acked, released, postponed, renewed, lost = await scene.take(worker, run, want=5)
    await scene.raw("CONFIG", "SET", "maxmemory", "1")
    try:
        with pytest.raises(FrontierUnavailable, match="memory"):
            await scene.take(worker, run)
        with pytest.raises(FrontierUnavailable):
            await scene.frontier.offer(run, list(scene.rows.rows))
        await scene.frontier.apply(
            FrontierUpdate(
                hosts=[HostRow(HOST, HOST)],
                ended=[acked],
                released=[released],
                postponed=[(postponed, place_of(postponed, scene.clock.store_now() + 9.0))],
            )
        )
        assert await scene.frontier.renew([renewed]) == []
        scene.rows.change(gone, state="cancelled")
        scene.rows.dead.add(worker)
        assert [event.count for event in await scene.frontier.reclaim()] == [2]
        assert isinstance(await scene.frontier.permit("new.example"), SendWindow)
    finally:
        await scene.raw("CONFIG", "SET", "maxmemory", "0")
    scene.close(acked)
    await scene.clock.advance(10.0)
    assert {one.url_id for one in await scene.take(worker, run)} == {
        one.id for one in scene.rows.open_rows(run)
    }
    assert lost.url_id in scene.rows.rows


async def test_moves_wait_for_the_keeper(scene: Scene) -> None:
    """Moves 2: a server that is not armed is told again a moment later."""
    run, worker = await begun(scene, 1)
    (lease,) = await scene.take(worker, run)
    scene.close(lease)
    scene.keeper.is_on = False
    await scene.index.begin(0, 1)
    carrying = asyncio.create_task(scene.frontier.apply(FrontierUpdate(ended=[lease])))
    await scene.clock.until_asleep()
    scene.keeper.is_on = True
    await scene.keeper.start(ago_s=0.0)
    await scene.clock.advance(0.1)
    await carrying
    assert await scene.frontier.held([lease]) == set()


async def test_moves_are_given_up_after_a_lease_time(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """Moves 2: quietly, with a warning; from then on one try each until the shard answers again."""
    run, worker = await begun(scene, 1)
    (lease,) = await scene.take(worker, run)
    scene.keeper.is_on = False
    await scene.index.begin(0, 1)
    began_at = scene.clock.monotonic()
    with caplog.at_level(logging.WARNING):
        carrying = asyncio.create_task(scene.frontier.apply(FrontierUpdate(ended=[lease])))
        while not carrying.done():
            await scene.clock.advance(scene.clock.next_wake_s or 0.0)
            await asyncio.sleep(0.001)
    assert 55.0 <= scene.clock.monotonic() - began_at <= 60.0
    assert "not updated yet" in caplog.text
    await scene.frontier.apply(FrontierUpdate(ended=[lease]))
    scene.keeper.is_on = True
    await scene.keeper.start(ago_s=0.0)
    await scene.frontier.apply(FrontierUpdate(ended=[lease]))
    assert await scene.frontier.held([lease]) == set()


async def test_who_turns_a_knob_does_not_wait_for_a_frontier_that_is_away(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """Frontier 9: it is kept in the store, from where the keeper tells it."""
    await begun(scene, 1)
    scene.keeper.is_on = False
    await scene.index.begin(0, 1)
    began_at = scene.clock.monotonic()
    holding = asyncio.create_task(scene.frontier.hold_host(HOST, 60.0, "by hand"))
    while not holding.done():
        await scene.clock.advance(scene.clock.next_wake_s or 0.0)
        await asyncio.sleep(0.001)
    assert scene.clock.monotonic() - began_at <= 2.0
    assert scene.rows.gates[HOST].held_until > scene.clock.store_now()
    assert "the keeper does it" in caplog.text


async def test_an_offer_for_a_run_that_is_gone_is_no_error(scene: Scene) -> None:
    """Rule 9: and leaves nothing behind."""
    await scene.frontier.apply(FrontierUpdate(offered=[QueuePosition(99 << 40 | 1, HOST, 0)]))
    assert await scene.raw("EXISTS", f"{scene.shards.tag(0)}:r:99:q:{HOST}") == 0


async def test_a_row_of_a_host_never_shortens_a_hold(scene: Scene) -> None:
    """Frontier 9: rows come in any order; only resuming lifts a hold."""
    run, worker = await begun(scene)
    until = scene.clock.store_now() + 60.0
    await scene.frontier.apply(FrontierUpdate(hosts=[HostRow(HOST, HOST, held_until=until)]))
    await scene.frontier.apply(
        FrontierUpdate(hosts=[HostRow(HOST, HOST), HostRow(HOST, HOST, held_until=until - 9)])
    )
    await scene.index.set_hosts(0, 1, [HostRow(HOST, HOST)])
    assert await scene.take(worker, run) == []
    await scene.clock.advance(59.0)
    assert await scene.take(worker, run) == []
    await scene.frontier.resume_host(HOST)
    assert len(await scene.take(worker, run)) == 5


async def test_what_was_taken_back_is_told_until_it_is_queued_and_counted_once(scene: Scene) -> None:
    """Frontier 8: whoever took it back may have died before the store heard of it, or after."""
    run, worker = await begun(scene, 1)
    (lease,) = await scene.take(worker, run)
    scene.rows.dead.add(worker)
    await scene.shards.call(0, "reclaim", 500, worker)
    assert await scene.frontier.reclaim() == []
    assert await scene.frontier.offer(run, list(scene.rows.rows)) == 0
    await scene.clock.advance(31.0)
    assert [event.count for event in await scene.frontier.reclaim()] == [1]
    assert scene.rows.rows[lease.url_id].returns == 0
    assert len(await scene.take(await scene.frontier.join(WorkerRegistration("next")), run)) == 1


async def test_a_suspect_is_tried_by_one_who_holds_nothing(scene: Scene) -> None:
    """Frontier 10: as an offer says it."""
    run, worker = await begun(scene, 1)
    (busy,) = await scene.take(worker, run)
    lone = scene.rows.add(run, url("lone"))
    assert lone is not None
    await scene.frontier.apply(FrontierUpdate(offered=[QueuePosition(lone, HOST, 0, is_alone=True)]))
    assert await scene.take(worker, run) == []
    await scene.frontier.apply(FrontierUpdate(ended=[busy]))
    (lease,) = await scene.take(worker, run)
    assert (lease.url_id, lease.is_alone) == (lone, True)
