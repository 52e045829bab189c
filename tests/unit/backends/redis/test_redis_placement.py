"""Placement is a hint: a worker takes its own hosts first, and nothing is left lying for others."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from tests.unit.backends.redis.scenes import Scene, url, urls

from smartspider.core.frontier.lease import LeaseBatch
from smartspider.core.frontier.updates import FrontierUpdate
from smartspider.core.workers.host_assignment import PARTITIONS, owned_partitions, partition_of
from smartspider.core.workers.worker import WorkerRegistration

HOSTS = [f"h{number}.example{number}.com" for number in range(60)]
GRACE_S = 0.1


def mask_of(hosts: Iterable[str]) -> bytes:
    """The parts of these hosts."""
    mask = bytearray(PARTITIONS // 8)
    for host in hosts:
        mask[partition_of(host) // 8] |= 1 << partition_of(host) % 8
    return bytes(mask)


def is_own(mask: bytes, host: str) -> bool:
    return bool(mask[partition_of(host) // 8] >> partition_of(host) % 8 & 1)


def others(host: str) -> bytes:
    """All parts but that of a host."""
    return bytes(255 - byte for byte in mask_of([host]))


async def two_workers(scene: Scene) -> tuple[int, int]:
    return await scene.frontier.join(WorkerRegistration("one")), await scene.frontier.join(
        WorkerRegistration("two")
    )


def hosts_of(batch: LeaseBatch) -> set[str]:
    return {lease.request.host for lease in batch.leases}


async def end(scene: Scene, batch: LeaseBatch) -> None:
    """What was leased is stored."""
    scene.close(*batch.leases)
    await scene.frontier.apply(FrontierUpdate(ended=batch.leases))


async def test_python_and_lua_agree_on_what_is_a_workers_own(scene: Scene) -> None:
    run = await scene.begin([url("x", host=host) for host in HOSTS])
    one, two = await two_workers(scene)
    masks = {worker: owned_partitions(worker, {one: 1.0, two: 1.0}) for worker in (one, two)}
    own = {worker: {host for host in HOSTS if is_own(mask, host)} for worker, mask in masks.items()}
    assert own[one] | own[two] == set(HOSTS)
    assert not own[one] & own[two]
    batch = await scene.frontier.lease(one, len(own[one]), [run], masks[one])
    assert hosts_of(batch) == own[one]
    rest = await scene.frontier.lease(two, len(HOSTS), [run], masks[two])
    assert hosts_of(rest) == own[two]
    assert await scene.frontier.check([run]) == []


async def test_own_hosts_are_found_behind_many_others(scene: Scene) -> None:
    """The more workers there are, the further a worker looks."""
    hosts = [f"h{number}.example{number}.com" for number in range(200)]
    weights = dict.fromkeys(range(1, 9), 1.0)
    mask = owned_partitions(3, weights)
    own = [host for host in hosts if is_own(mask, host)]
    run = await scene.begin([url("x", host=host) for host in hosts if host not in own])
    for host in own:
        scene.rows.add(run, url("x", host=host, priority=0))
    await scene.frontier.offer(run, list(scene.rows.rows))
    batch = await scene.frontier.lease(3, len(own), [run], mask)
    assert hosts_of(batch) == set(own)


async def test_a_hint_never_goes_before_a_priority(scene: Scene) -> None:
    """Frontier 2: one's own come first among equals only."""
    mask = owned_partitions(1, {1: 1.0, 2: 1.0})
    pages = [url("x", host=host, priority=number // 15) for number, host in enumerate(HOSTS)]
    run = await scene.begin(pages)
    taken = []
    for _ in HOSTS:
        (lease,) = (await scene.frontier.lease(1, 1, [run], mask)).leases
        taken.append((lease.request.priority, is_own(mask, lease.request.host)))
    assert taken == sorted(taken, reverse=True)
    assert len(set(taken)) == 8


async def test_what_is_left_of_the_hand_is_filled_at_once_where_a_host_has_no_delay(scene: Scene) -> None:
    run = await scene.begin(urls(5))
    one, _ = await two_workers(scene)
    batch = await scene.frontier.lease(one, 64, [run], others("a.example"))
    assert len(batch.leases) == 5


async def test_a_host_that_nobody_was_at_is_taken_by_whoever_comes_first(scene: Scene) -> None:
    run = await scene.begin(urls(5), delay_s=2.0)
    one, _ = await two_workers(scene)
    batch = await scene.frontier.lease(one, 64, [run], others("a.example"))
    assert len(batch.leases) == 1


async def test_a_slot_of_a_host_with_a_delay_is_its_owners_for_a_moment(scene: Scene) -> None:
    run = await scene.begin(urls(9), delay_s=2.0)
    owner, thief = await two_workers(scene)
    mine, not_mine = mask_of(["a.example"]), others("a.example")
    first = await scene.frontier.lease(owner, 8, [run], mine)
    await end(scene, first)
    told = await scene.frontier.lease(thief, 8, [run], not_mine)
    owners = await scene.frontier.lease(owner, 8, [run], mine)
    assert told.leases == owners.leases == []
    assert told.next_at is not None
    assert owners.next_at is not None
    assert round(told.next_at - owners.next_at, 2) == GRACE_S
    await scene.clock.advance(owners.next_at - owners.now)
    early = await scene.frontier.lease(thief, 8, [run], not_mine)
    assert early.leases == []
    assert early.next_at is not None
    assert 0.0 < early.next_at - early.now <= GRACE_S + 0.001
    again = await scene.frontier.lease(owner, 8, [run], mine)
    assert len(again.leases) == 1
    assert await scene.frontier.check([run]) == []


async def test_an_owner_that_never_asks_leaves_nothing_lying(scene: Scene) -> None:
    """A tenth of the delay later somebody else takes it, as often as there is anything."""
    run = await scene.begin(
        [url(f"p{page}", host=host) for host in HOSTS[:5] for page in range(4)], delay_s=0.5
    )
    _, thief = await two_workers(scene)
    own = bytes(255 - byte for byte in mask_of(HOSTS[:5]))
    began_at = scene.clock.monotonic()
    got = 0
    while scene.rows.open_rows(run):
        batch = await scene.frontier.lease(thief, 8, [run], own)
        got += len(batch.leases)
        await end(scene, batch)
        if not batch.leases:
            assert batch.next_at is not None
            await scene.clock.advance(max(batch.next_at - batch.now, 0.001))
    assert got == 20
    windows_s = 0.025
    assert scene.clock.monotonic() - began_at <= 3 * (0.5 * 1.1 + windows_s) + 0.1


async def test_a_worker_comes_back_for_its_own_lane_behind_many_others(scene: Scene) -> None:
    """However many lanes of others open before: it is there when its own does."""
    last = HOSTS[-1]
    before = [host for host in HOSTS if partition_of(host) != partition_of(last)]
    pages = [url(f"p{page}", host=host) for host in (*before, last) for page in range(2)]
    run = await scene.begin(pages, delay_s=5.0)
    owner, other = await two_workers(scene)
    for host in before:
        await end(scene, await scene.frontier.lease(other, 1, [run], mask_of([host])))
    await scene.clock.advance(0.05)
    first = await scene.frontier.lease(owner, 1, [run], mask_of([last]))
    opens_at = first.leases[0].window.not_after + 5.0
    await end(scene, first)
    batch = await scene.frontier.lease(owner, 1, [run], mask_of([last]))
    while hosts_of(batch) != {last}:
        await end(scene, batch)
        assert batch.leases or batch.next_at is not None
        await scene.clock.advance(max((batch.next_at or 0.0) - batch.now, 0.0 if batch.leases else 0.001))
        batch = await scene.frontier.lease(owner, 1, [run], mask_of([last]))
    assert scene.clock.monotonic() - opens_at <= 0.002


async def test_no_gap_is_shorter_whoever_takes_the_slots(scene: Scene) -> None:
    run = await scene.begin(urls(12), delay_s=0.5)
    workers = await two_workers(scene)
    masks = (mask_of(["a.example"]), others("a.example"))
    windows = []
    turn = 0
    while scene.rows.open_rows(run):
        turn += 1
        which = turn % 3 == 0
        batch = await scene.frontier.lease(workers[which], 8, [run], masks[which])
        windows += [lease.window for lease in batch.leases]
        await end(scene, batch)
        await scene.clock.advance(0.07)
    assert len(windows) == 12
    assert all(later.not_before - one.not_after >= 0.5 - 1e-6 for one, later in pairwise(windows))


async def test_runs_share_a_hand_by_their_weights_with_a_hint_as_without(scene: Scene) -> None:
    """Frontier 11."""
    pages = [url(f"p{page}", host=host) for host in HOSTS[:20] for page in range(10)]
    light = await scene.begin(pages, weight=1, per_host=20, concurrency=1000)
    heavy = await scene.begin(pages, weight=3, per_host=20, concurrency=1000)
    one, two = await two_workers(scene)
    batch = await scene.frontier.lease(one, 80, [light, heavy], owned_partitions(one, {one: 1.0, two: 1.0}))
    counts = [sum(lease.run_id == run for lease in batch.leases) for run in (light, heavy)]
    assert counts == [20, 60]
