"""Index 1 to 4: a shard serves only while the leading keeper vouches for it, in time that never goes back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from tests.unit.backends.redis.scenes import Scene, urls

from smartspider.core.errors import LeadershipLost, NotArmed
from smartspider.core.frontier.lease import Lease, SendWindow
from smartspider.core.frontier.updates import FrontierUpdate, HostRow
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.interfaces.frontier_index import LAPSE_S
from smartspider_testing.servers import RedisServer


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that may be killed."""
    with RedisServer(tmp_path / "redis") as server:
        yield server


async def by_hand(scene: Scene) -> tuple[int, int]:
    """A run and a worker; from now on nothing is renewed unless the test does it."""
    run = await scene.begin(urls(20), delay_s=10.0)
    worker = await scene.frontier.join(WorkerRegistration("w"))
    await scene.keeper.keep()
    scene.keeper.is_on = False
    return run, worker


async def state(scene: Scene) -> tuple[int, bool]:
    (found,) = await scene.index.shard_states()
    assert found is not None
    return found.epoch, found.is_armed


async def test_a_server_nobody_armed_refuses_everything(empty_redis: RedisServer) -> None:
    """Index 2: also after it was announced that it will be, and arming needs the announcement."""
    scene = Scene(empty_redis.url)
    scene.keeper.is_on = False
    run = scene.rows.add_run(urls(1))
    worker = await scene.frontier.join(WorkerRegistration("w"))
    with pytest.raises(NotArmed, match="begin first"):
        await scene.index.arm(0, 1, scene.clock.store_now())
    for _ in range(2):
        assert await state(scene) == (0, False)
        for call in (
            scene.frontier.lease(worker, 1, [run]),
            scene.frontier.offer(run, list(scene.rows.rows)),
            scene.frontier.reclaim(),
            scene.frontier.permit("a.example"),
        ):
            with pytest.raises(NotArmed):
                await call
        await scene.index.begin(0, 1)
    await scene.end()


async def test_arming_lapses_unless_it_is_renewed(scene: Scene) -> None:
    """Index 2: three seconds after the moment the leader was sure of its term, whenever that was heard."""
    run, worker = await by_hand(scene)
    (lease,) = await scene.take(worker, run)
    await scene.clock.advance(LAPSE_S - 0.1)
    await scene.keeper.turn()
    assert await scene.frontier.renew([lease]) == []
    await scene.clock.advance(0.2)
    await scene.keeper.turn()
    with pytest.raises(NotArmed, match="its arming lapsed"):
        await scene.frontier.renew([lease])
    assert await state(scene) == (1, False)
    await scene.index.arm(0, 1, scene.clock.store_now() - LAPSE_S + 1.0)
    assert await state(scene) == (1, True)
    await scene.clock.advance(1.1)
    await scene.keeper.turn()
    assert await state(scene) == (1, False)


async def test_an_empty_server_is_not_armed(scene: Scene) -> None:
    """Index 2: what it held is gone, so only the announcement of a full load arms it again."""
    run, worker = await by_hand(scene)
    await scene.raw("FLUSHALL")
    await scene.keeper.turn()
    with pytest.raises(NotArmed, match="its data is lost"):
        await scene.take(worker, run)
    with pytest.raises(NotArmed, match="begin first"):
        await scene.index.arm(0, 1, scene.clock.store_now())
    assert await state(scene) == (0, False)
    await scene.index.begin(0, 1)
    await scene.raw("FLUSHALL")
    with pytest.raises(NotArmed, match="begin first"):
        await scene.index.arm(0, 1, scene.clock.store_now())
    await scene.keeper.start(ago_s=0.0)
    await scene.clock.advance(10.1)
    await scene.keeper.renew()
    assert len(await scene.take(worker, run)) == 1


async def test_a_shard_that_forgot_everything_follows_store_time_back(scene: Scene) -> None:
    """Rule 21: the store came home from a wrong time, and another leader fills the shard."""
    run, worker = await by_hand(scene)
    (old,) = await scene.take(worker, run)
    scene.clock.return_home(300 * 86_400.0)
    scene.keeper.epoch += 1
    await scene.index.disarm(0, scene.keeper.epoch, forgets=True)
    await scene.keeper.start(ago_s=0.0)
    await scene.clock.advance(10.1)
    await scene.keeper.renew()
    (lease,) = await scene.take(worker, run)
    assert lease.token > old.token
    assert lease.deadline_at < scene.clock.store_now() + 3600.0


async def test_a_restarted_server_is_not_armed_and_its_tokens_grow(own_server: RedisServer) -> None:
    """Index 2, frontier 3: although all its data is there."""
    scene = Scene(own_server.url)
    await scene.keeper.start()
    run, worker = await by_hand(scene)
    (old,) = await scene.take(worker, run)
    own_server.restart()
    await scene.index.shard_states()
    assert await state(scene) == (0, False)
    with pytest.raises(NotArmed):
        await scene.frontier.renew([old])
    await scene.keeper.start(ago_s=0.0)
    assert await scene.frontier.renew([old]) == []
    await scene.clock.advance(60.0)
    await scene.keeper.renew()
    (new,) = await scene.take(worker, run)
    assert new.token > old.token
    assert new.token.counter - old.token.counter > 1000
    await scene.end()


@pytest.mark.servers
async def test_a_replica_that_took_over_is_not_armed(tmp_path: Path) -> None:
    """Index 2: the marker it copied names another process; nor is the old master when it comes back."""
    with (
        RedisServer(tmp_path / "one") as one,
        RedisServer(tmp_path / "two", replica_of=one) as two,
    ):
        two.wait_for_replica()
        scene = Scene(one.url)
        await scene.keeper.start()
        await by_hand(scene)
        two.wait_until("have the marker", lambda: two.command("EXISTS", f"{scene.shards.tag(0)}:term") == 1)
        two.command("REPLICAOF", "NO", "ONE")
        other = Scene(two.url)
        other.keeper.is_on = False
        assert await state(other) == (0, False)
        await other.keeper.start(ago_s=0.0)
        assert await state(other) == (1, True)
        one.command("REPLICAOF", "127.0.0.1", str(two.port))
        one.wait_for_replica()
        assert await state(scene) == (0, False)
        await scene.end()
        await other.end()


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0])
async def test_a_clock_that_jumps_never_shortens_a_gap(scene: Scene, jump_s: float) -> None:
    """Index 3, rule 21: the shard stops until the leader tells the time, and slots stay where they were."""
    run, worker = await by_hand(scene)
    (first,) = await scene.take(worker, run)
    scene.close(first)
    await scene.frontier.apply(FrontierUpdate(ended=[first]))
    await scene.clock.advance(1.0)
    await scene.keeper.turn(scene.clock.store_now() + jump_s)
    with pytest.raises(NotArmed):
        await scene.take(worker, run)
    second: list[Lease] = []
    for _ in range(40):
        await scene.index.arm(0, 1, scene.clock.store_now())
        if (await scene.index.shard_state(0)).is_armed:  # type: ignore[union-attr] # it answers
            second = second or await scene.take(worker, run)
        await scene.clock.advance(1.0)
        await scene.keeper.turn(scene.clock.store_now() + jump_s)
    assert second[0].window.not_before - first.window.not_after >= 10.0 - 1e-6


async def test_a_renewal_that_was_late_moves_no_slot(scene: Scene) -> None:
    """Index 3, rule 16: time goes on smoothly, or hosts wait as after arming anew."""
    run, worker = await by_hand(scene)
    (last,) = await scene.take(worker, run)
    gaps = []
    for late_s in (0.0, 0.4, 3.0, 0.0, 2.0, 0.1, 0.0, 0.0, 3.5, 0.0) * 12:
        await scene.index.arm(0, 1, scene.clock.store_now() - late_s)
        scene.close(last)
        if (await scene.index.shard_state(0)).is_armed:  # type: ignore[union-attr] # it answers
            await scene.frontier.apply(FrontierUpdate(ended=[last]))
            for lease in await scene.take(worker, run):
                gaps.append(lease.window.not_before - last.window.not_after)
                last = lease
        await scene.clock.advance(0.7)
        await scene.keeper.turn()
    assert len(gaps) >= 2
    assert min(gaps) >= 10.0 - 1e-6


async def test_time_that_has_to_leap_makes_hosts_wait(scene: Scene) -> None:
    """Index 3 and 4: it fell behind with a late renewal; what it skips is nobody's gap."""
    run, worker = await by_hand(scene)
    scene.rows.change(run, delay_s=1.0)
    await scene.keeper.set_controls(0)
    await scene.clock.advance(LAPSE_S - 0.5)
    await scene.keeper.turn()
    await scene.index.arm(0, 1, scene.clock.store_now() - LAPSE_S + 1.0)
    (first,) = await scene.take(worker, run)
    scene.close(first)
    await scene.frontier.apply(FrontierUpdate(ended=[first]))
    second: list[Lease] = []
    while not second:
        await scene.clock.advance(0.3)
        await scene.keeper.renew()
        second = await scene.take(worker, run)
    assert second[0].window.not_before - first.window.not_after >= 1.0 - 1e-6


async def test_no_host_is_handed_out_before_one_delay_after_arming_anew(scene: Scene) -> None:
    """Index 4: its last slot may be lost with the data; hosts without delay do not wait."""
    run, worker = await by_hand(scene)
    free = scene.rows.add_run(urls(2, host="free.example"))
    (first,) = await scene.take(worker, run)
    await scene.raw("FLUSHALL")
    await scene.keeper.start(ago_s=0.0)
    assert [lease.run_id for lease in await scene.take(worker, run, free)] == [free, free]
    await scene.clock.advance(10.0)
    await scene.keeper.renew()
    assert await scene.take(worker, run) == []
    await scene.clock.advance(0.1)
    await scene.keeper.renew()
    (second,) = await scene.take(worker, run)
    assert second.window.not_before - first.window.not_after >= 10.0 - 1e-6


async def test_a_leader_that_is_over_is_refused(scene: Scene) -> None:
    """Index 1: every call that carries an epoch, also when a newer one was only announced."""
    await by_hand(scene)
    await scene.index.arm(0, 2, scene.clock.store_now())
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: scene.index.begin(0, 1),
        lambda: scene.index.arm(0, 1, scene.clock.store_now()),
        lambda: scene.index.set_controls(0, 1, []),
        lambda: scene.index.set_hosts(0, 1, [HostRow("a.example", "a.example")]),
        lambda: scene.index.replay(0, 1, 1, []),
    ]
    for epoch in (2, 3):
        for call in calls:
            with pytest.raises(LeadershipLost, match=f"1 has ended, {epoch} leads"):
                await call()
        await scene.index.begin(0, 3)
    assert [control.run_id for control in await scene.rows.controls()] == [1]


async def test_a_new_leader_goes_on_with_what_is_there(scene: Scene) -> None:
    """Index 2: same process, same data: nobody waits, and leases of before count nothing when they return."""
    run, worker = await by_hand(scene)
    (lease,) = await scene.take(worker, run)
    scene.keeper.epoch = 2
    await scene.keeper.renew()
    assert await state(scene) == (2, True)
    assert await scene.frontier.renew([lease]) == []
    scene.rows.dead.add(worker)
    assert [event.count for event in await scene.frontier.reclaim()] == [1]
    assert scene.rows.rows[lease.url_id].returns == 0


async def test_time_is_kept_for_a_server_that_takes_over(scene: Scene) -> None:
    """Index 3: also when the store tells an earlier one."""
    await by_hand(scene)
    last = float(await scene.raw("HGET", f"{scene.shards.tag(0)}:term", "now"))
    await scene.index.begin(0, 1)
    await scene.index.arm(0, 1, scene.clock.store_now() - 3.0)
    assert isinstance(await scene.frontier.permit("new.example"), SendWindow)
    assert float(await scene.raw("HGET", f"{scene.shards.tag(0)}:h:new.example", "sent")) >= last
