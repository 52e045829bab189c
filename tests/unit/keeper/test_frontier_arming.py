"""Vouching for shards: when they serve, and when nobody is to be believed any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.unit.backends.redis.scenes import url, urls
from tests.unit.keeper.leading import ClusterHarness, Leader

from smartspider.core.errors import LeadershipLost, NotArmed
from smartspider.core.frontier.lease import Lease
from smartspider.interfaces.frontier_index import LAPSE_S
from smartspider.keeper.frontier.arming import CHECK_S, OTHER_HISTORY
from smartspider.wiring.checks import rebuild
from smartspider_testing.servers import RedisServer


async def test_a_shard_is_armed_when_no_other_process_can_serve_and_has_all_it_needs(
    cluster: ClusterHarness,
) -> None:
    """Rule 6: whoever led before may have armed a process that this leader does not see."""
    run_id = cluster.rows.add_run(urls(3))
    await cluster.rows.hold_host("b.example", 60.0, "Retry-After")
    leader = Leader(cluster, "one")
    await leader.lead()
    await leader.tend()
    for _ in range(int(LAPSE_S / 0.5)):
        with pytest.raises(NotArmed):
            await cluster.take(run_id)
        await leader.pass_time(0.5)
    await leader.pass_time(0.5)
    assert len(await cluster.take(run_id)) == 3
    assert cluster.rows.asked["hosts"] >= 2  # once more just before it serves


async def test_the_first_leader_there_ever_was_waits_for_nobody(cluster: ClusterHarness) -> None:
    run_id = cluster.rows.add_run(urls(3))
    cluster.row.epoch = 0
    leader = Leader(cluster, "one")
    await leader.lead()
    await leader.tend()
    assert len(await cluster.take(run_id)) == 3


async def test_a_shard_is_renewed_seldom_and_looked_at_often(cluster: ClusterHarness, leader: Leader) -> None:
    (duty,) = leader.arming
    assert duty.every_s == 1.0
    await cluster.raw("FLUSHALL", "SYNC")
    cluster.rows.frozen_at = "hosts"
    loading = asyncio.create_task(leader.arm())
    await cluster.rows.reached.wait()
    assert duty.every_s < 0.5
    cluster.rows.thawed.set()
    await loading
    assert duty.every_s == 1.0


async def test_nothing_is_handed_out_once_nobody_leads(cluster: ClusterHarness, leader: Leader) -> None:
    run_id = cluster.rows.add_run(urls(3))
    await leader.tend()
    assert len(await cluster.take(run_id, want=1)) == 1
    await cluster.clock.advance(LAPSE_S + 0.1)
    with pytest.raises(NotArmed):
        await cluster.take(run_id)
    await leader.tend()  # the same leader and the same process: nothing was missed
    assert len(await cluster.take(run_id)) == 2


async def test_what_was_wiped_is_loaded_and_serves_at_once(cluster: ClusterHarness, leader: Leader) -> None:
    """Its process is the one that was armed, so no other can serve; a hold is still a hold."""
    run_id = cluster.rows.add_run([*urls(3), url("x", host="held.example")])
    await cluster.frontier.hold_host("held.example", 600.0, "Retry-After")
    await leader.tend()
    await cluster.raw("FLUSHALL", "SYNC")
    with pytest.raises(NotArmed):
        await cluster.take(run_id)
    await leader.tend()
    assert {lease.request.host for lease in await cluster.take(run_id)} == {"a.example"}


async def test_a_server_that_was_restarted_waits_for_its_predecessor_to_lapse(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server:
        cluster = ClusterHarness(server.url)
        leader = Leader(cluster, "one")
        run_id = cluster.rows.add_run(urls(3))
        await leader.lead()
        await leader.tend()
        await leader.pass_time(LAPSE_S + 1)
        server.kill()
        await leader.tend()
        assert leader.state.armed == {}
        server.start()
        await leader.tend()  # another process: it is loaded, and waits
        with pytest.raises(NotArmed):
            await cluster.take(run_id)
        await leader.pass_time(LAPSE_S - 1)
        with pytest.raises(NotArmed):
            await cluster.take(run_id)
        await leader.pass_time(2)
        assert len(await cluster.take(run_id)) == 3
        await cluster.close()


async def test_a_new_leader_goes_on_with_what_serves(cluster: ClusterHarness, leader: Leader) -> None:
    """Its epoch is raised at once: nobody waits, and the old leader is refused."""
    run_id = cluster.rows.add_run(urls(3))
    await leader.tend()
    (first,) = await cluster.take(run_id, want=1)
    other = Leader(cluster, "two")
    await other.lead()
    await other.tend()
    second = await cluster.take(run_id)
    assert len(second) == 2
    assert second[0].token > first.token
    assert await cluster.frontier.held([first]) == {first.token}
    with pytest.raises(LeadershipLost):
        await leader.tend()
    with pytest.raises(LeadershipLost):
        await cluster.index.arm(0, leader.term.epoch, cluster.clock.store_now())


async def test_a_new_leader_waits_for_nobody_when_the_process_that_was_armed_last_is_there(
    cluster: ClusterHarness, leader: Leader
) -> None:
    """A leader died and the arming lapsed: no other process can serve, so nobody is waited for."""
    run_id = cluster.rows.add_run(urls(3))
    await leader.tend()
    await cluster.clock.advance(LAPSE_S + 1)
    with pytest.raises(NotArmed):
        await cluster.take(run_id)
    other = Leader(cluster, "two")
    await other.lead()
    await other.tend()
    assert len(await cluster.take(run_id)) == 3


async def test_the_same_process_without_its_data_is_loaded_and_serves_at_once(
    cluster: ClusterHarness, leader: Leader
) -> None:
    run_id = cluster.rows.add_run(urls(3))
    await leader.tend()
    await cluster.clock.advance(LAPSE_S + 1)
    await cluster.raw("FLUSHALL")
    other = Leader(cluster, "two")
    await other.lead()
    await other.tend()
    assert len(await cluster.take(run_id)) == 3


async def test_a_new_leader_waits_when_another_process_was_armed_last(
    cluster: ClusterHarness, leader: Leader
) -> None:
    """It may be alive and out of sight."""
    run_id = cluster.rows.add_run(urls(3))
    await leader.tend()
    await cluster.clock.advance(LAPSE_S + 1)
    cluster.rows.armed[0] = "another"
    other = Leader(cluster, "two")
    await other.lead()
    await other.tend()
    await other.pass_time(LAPSE_S - 0.5)
    with pytest.raises(NotArmed):
        await cluster.take(run_id)
    assert cluster.rows.armed[0] == "another"  # noted only when the wait is over
    await other.pass_time(1.5)
    assert len(await cluster.take(run_id)) == 3
    assert cluster.rows.armed[0] != "another"


async def test_an_arming_that_was_long_on_its_way_is_as_old_as_it_is_late(cluster: ClusterHarness) -> None:
    """Whoever sent it may have been frozen since, and another process may serve by now."""
    run_id = cluster.rows.add_run(urls(1))
    await cluster.turn()
    told = cluster.clock.store_now()
    await cluster.index.begin(0, 9, told)
    await cluster.clock.advance(LAPSE_S + 1)
    await cluster.turn()
    await cluster.index.arm(0, 9, told)
    with pytest.raises(NotArmed):
        await cluster.take(run_id)
    await cluster.index.arm(0, 9, cluster.clock.store_now())
    assert await cluster.take(run_id) == []  # it serves, and knows of no run


async def test_a_renewal_without_an_answer_is_waited_for_as_well(
    cluster: ClusterHarness, leader: Leader
) -> None:
    """It may have come to the old process, which serves for longer then."""
    renewed_at = cluster.clock.store_now()
    await leader.pass_time(1.0)
    cluster.index.is_cut = True
    await cluster.clock.advance(1.0)
    await leader.arm()
    (duty,) = leader.arming
    assert duty.available_at("another") >= renewed_at + 2.0 + LAPSE_S


async def test_who_cannot_reach_the_store_renews_nothing(cluster: ClusterHarness, leader: Leader) -> None:
    run_id = cluster.rows.add_run(urls(1))
    await leader.tend()
    await cluster.clock.advance(LAPSE_S / 2)
    cluster.row.epoch += 1  # somebody else leads by now, as the store has it
    with pytest.raises(LeadershipLost):
        await leader.arm()
    await cluster.clock.advance(LAPSE_S / 2 + 0.1)
    with pytest.raises(NotArmed):
        await cluster.take(run_id)


@pytest.mark.parametrize("place", ["controls", "hosts", "places_after"])
async def test_a_leader_that_was_frozen_while_arming_writes_nothing_after(
    cluster: ClusterHarness, place: str
) -> None:
    """SIGSTOP after it read and before it writes; another one leads when it goes on."""
    run_id = cluster.rows.add_run(urls(5))
    old, new = Leader(cluster, "old"), Leader(cluster, "new")
    await old.lead()
    cluster.rows.frozen_at = place
    freezing = asyncio.create_task(old.arm())
    await cluster.rows.reached.wait()
    await new.lead()
    await new.tend()
    await new.pass_time(LAPSE_S + 1)
    cluster.rows.change(run_id, state="cancelled")
    later = cluster.rows.add_run(urls(2))
    await new.tend()
    cluster.rows.thawed.set()
    with pytest.raises(LeadershipLost):
        await freezing
    assert len(await cluster.take(run_id, later)) == 2


@pytest.mark.parametrize(("duty", "place"), [("telling", "controls"), ("filling", "heads")])
async def test_a_leader_that_was_frozen_in_a_duty_writes_nothing_after(
    cluster: ClusterHarness, leader: Leader, duty: str, place: str
) -> None:
    """Neither drops a run that is there by now, nor fills in what is over."""
    gone, run_id = (
        cluster.rows.add_run(urls(1, host="g.example")),
        cluster.rows.add_run(urls(3 * cluster.cap)),
    )
    await leader.tend()
    assert len(await cluster.take(run_id, want=cluster.cap - 1)) == cluster.cap - 1
    await leader.counting.do(leader.term)
    cluster.rows.change(gone, state="completed")
    cluster.rows.frozen_at = place
    freezing = asyncio.create_task(getattr(leader, duty).do(leader.term))
    await cluster.rows.reached.wait()
    other = Leader(cluster, "two")
    await other.lead()
    fresh = cluster.rows.add_run(urls(2, host="f.example"))
    await other.tend()
    cluster.rows.thawed.set()
    with pytest.raises(LeadershipLost):
        await freezing
    assert len(await cluster.take(fresh)) == 2


async def test_a_shard_that_is_away_keeps_no_duty_from_its_work(tmp_path: Path) -> None:
    """It is told once, and once more when it is back; what nobody could offer meanwhile is offered."""
    with RedisServer(tmp_path) as server:
        cluster = ClusterHarness(server.url)
        leader = Leader(cluster, "one")
        await leader.lead()
        await leader.tend()
        await leader.pass_time(LAPSE_S + 1)
        run_id = cluster.rows.add_run(urls(2))
        await leader.tend()
        server.kill()
        await leader.pass_time(2)
        assert cluster.rows.add(run_id, url("meanwhile")) is not None
        server.start()
        await leader.pass_time(LAPSE_S + 1)
        assert len(await cluster.take(run_id)) == 3
        await cluster.close()


async def test_who_may_have_given_up_offering_is_not_relied_on(
    cluster: ClusterHarness, leader: Leader
) -> None:
    """As when the line was cut: the same process goes on at once, and open rows are offered again."""
    run_id = cluster.rows.add_run(urls(2))
    await leader.tend()
    cluster.index.is_cut = True
    await leader.arm()
    assert leader.state.armed == {}
    cluster.index.is_cut = False
    cluster.rows.add(run_id, url("meanwhile"))
    await leader.arm()
    await leader.filling.do(leader.term)
    assert len(await cluster.take(run_id)) == 3


async def test_rebuilding_is_done_by_the_keeper_that_leads(cluster: ClusterHarness, leader: Leader) -> None:
    run_id = cluster.rows.add_run(urls(3))
    await leader.tend()
    building = asyncio.create_task(rebuild(leader.remote, [], cluster.clock, owner="by hand"))
    await cluster.clock.until_asleep()
    with pytest.raises(NotArmed):
        await cluster.take(run_id)
    await leader.tend()
    await cluster.clock.advance(1.0)
    assert await building == 1
    await leader.tend()
    assert len(await cluster.take(run_id)) == 3


async def test_rebuilding_without_a_keeper_takes_the_lead_and_gives_it_up(cluster: ClusterHarness) -> None:
    run_id = cluster.rows.add_run(urls(3))
    hand = Leader(cluster, "by hand")
    await cluster.turn()
    building = asyncio.create_task(rebuild(hand.remote, list(hand.arming), cluster.clock, owner="by hand"))
    while not building.done():
        await asyncio.wait([building], timeout=0.02)
        await cluster.clock.advance(0.25)
        await cluster.turn()
    assert await building == 1
    assert await cluster.row.current() is None
    assert len(await cluster.take(run_id)) == 3


@pytest.mark.parametrize("ahead_s", [0.0, 0.5])
async def test_slots_that_nobody_remembers_are_waited_for(
    cluster: ClusterHarness, leader: Leader, ahead_s: float
) -> None:
    """Index 4: a slot that was given before all was forgotten may still be used afterwards."""
    run_id = cluster.rows.add_run(urls(2), delay_s=10.0)
    await leader.pass_time(15.0)
    cluster.frontier.latency.ahead_s = ahead_s
    (first,) = await cluster.take(run_id)
    cluster.frontier.latency.ahead_s = 0.0
    await cluster.raw("FLUSHALL", "SYNC")
    await leader.tend()
    second: list[Lease] = []
    while not second:
        await leader.pass_time(0.25, step_s=0.25)
        second = await cluster.take(run_id)
    assert second[0].window.not_before >= first.window.not_after + 10.0 - 1e-6


async def test_slots_are_given_further_ahead_only_after_the_leader_said_so(
    cluster: ClusterHarness, leader: Leader
) -> None:
    """Index 4: so the leader knows how long to wait when they are forgotten."""
    run_id = cluster.rows.add_run(urls(5), delay_s=1.0)
    await leader.pass_time(5.0)
    ends: list[float] = []
    while len(ends) < 3:
        cluster.frontier.latency.ahead_s = 2.0
        ends += [lease.window.not_after - cluster.clock.monotonic() for lease in await cluster.take(run_id)]
        await leader.pass_time(1.0)
    assert ends[0] <= 0.3 + 1e-6
    assert ends[-1] >= 2.0
    (duty,) = leader.arming
    assert duty.last_slot_at >= cluster.clock.store_now() + 1.0


class Served(NamedTuple):
    """A server of one's own, whose settings may be changed; it serves a run with three requests."""

    server: RedisServer
    cluster: ClusterHarness
    leader: Leader
    run_id: int

    def set(self, name: str, value: str) -> None:
        self.server.command("CONFIG", "SET", name, value)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    with RedisServer(tmp_path) as server:
        cluster = ClusterHarness(server.url)
        leader = Leader(cluster, "one")
        run_id = cluster.rows.add_run(urls(3))
        await leader.lead()
        await leader.tend()
        await leader.pass_time(LAPSE_S + 1)
        yield Served(server, cluster, leader, run_id)
        await cluster.close()


async def test_a_server_that_begins_to_throw_keys_away_is_refused_within_a_minute(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """Gates may be among the keys: what it holds is forgotten, and loaded again when it is set up well."""
    served.set("maxmemory-policy", "allkeys-lru")
    await served.leader.pass_time(CHECK_S)
    with pytest.raises(NotArmed):
        await served.cluster.take(served.run_id)
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "maxmemory-policy allkeys-lru" in line
    assert "CONFIG SET maxmemory-policy noeviction" in line
    lost = f"{served.cluster.shards.tag(0)}:lost"
    served.server.command("SET", lost, "1")
    other = Leader(served.cluster, "two")  # knows nothing of that
    served.set("maxmemory-policy", "noeviction")
    await other.lead()
    await other.tend()
    await other.pass_time(LAPSE_S + 1)
    assert served.server.command("EXISTS", lost) == 0, "nothing of before is there"
    assert len(await served.cluster.take(served.run_id)) == 3


async def test_a_leader_that_began_with_a_server_that_throws_keys_away_believes_nothing_in_it(
    served: Served,
) -> None:
    cluster = served.cluster
    lost = f"{cluster.shards.tag(0)}:lost"
    served.server.command("SET", lost, "1")
    served.set("maxmemory-policy", "allkeys-lru")
    later = ClusterHarness(served.server.url)
    later.rows, later.row, later.clock = cluster.rows, cluster.row, cluster.clock
    other = Leader(later, "two")
    await other.lead()
    await other.pass_time(1)
    served.set("maxmemory-policy", "noeviction")
    await other.pass_time(LAPSE_S + 1)
    assert served.server.command("EXISTS", lost) == 0
    assert len(await cluster.take(served.run_id)) == 3
    await later.close()


async def test_a_server_that_no_longer_keeps_its_data_serves_and_that_is_told(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """As after a failover to a replica that was set up otherwise: nothing is lost by that."""
    served.set("appendonly", "no")
    await served.leader.pass_time(2 * CHECK_S, 1.0)
    assert len(await served.cluster.take(served.run_id)) == 3
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert line.startswith("frontier shard 0 is serving, but ")
    assert "appendonly no" in line
    assert "CONFIG SET appendonly yes" in line


@pytest.mark.parametrize("leads", ["the same", "another"])
async def test_where_the_store_has_another_history_the_frontier_is_filled_anew(
    cluster: ClusterHarness, leader: Leader, caplog: pytest.LogCaptureFixture, leads: str
) -> None:
    """A standby took over that lacked commits: ids are given a second time, and must not meet what is queued
    for the first.
    """
    run_id = cluster.rows.add_run(urls(4))
    await leader.tend()
    (held,) = await cluster.take(run_id, want=1)
    for row, again in zip(cluster.rows.open_rows(run_id), urls(4, host="b.example"), strict=True):
        row.request = again
    await cluster.frontier.hold_host("a.example", 600.0, "nothing of the first may be handed out")
    cluster.history = "second"
    if leads == "another":
        leader = Leader(cluster, "two")
        await leader.lead()
    await leader.pass_time(LAPSE_S + 1)
    assert await cluster.frontier.held([held]) == set()
    assert [lease.request.host for lease in await cluster.take(run_id)] == ["b.example"] * 4
    assert caplog.text.count(OTHER_HISTORY) == 1
    caplog.clear()
    await leader.pass_time(3)
    assert caplog.text == ""


async def test_a_leader_that_reads_the_same_history_goes_on(cluster: ClusterHarness, leader: Leader) -> None:
    """Also one that has never seen this frontier: nothing is forgotten without a reason."""
    run_id = cluster.rows.add_run(urls(2))
    await leader.tend()
    (held,) = await cluster.take(run_id, want=1)
    other = Leader(cluster, "two")
    await other.lead()
    await other.tend()
    assert await cluster.frontier.held([held]) == {held.token}
