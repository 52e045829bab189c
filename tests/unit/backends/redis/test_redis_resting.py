"""Index 9: hosts that nobody asks for are let go, and come back as if they had never been."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.backends.redis.scenes import Scene, url, urls

from smartspider.core.frontier.lease import Lease, SendWindow
from smartspider.core.frontier.updates import FrontierUpdate
from smartspider.core.workers.worker import WorkerRegistration

HOST = "a.example"
LONG_S = 130.0
"""After this a host is let go."""


async def crawl(scene: Scene, worker: int, *runs: int) -> list[Lease]:
    """Fetch all that may leave now."""
    leases = await scene.take(worker, *runs)
    scene.close(*leases)
    await scene.frontier.apply(FrontierUpdate(ended=leases))
    return leases


async def offer(scene: Scene, run: int, path: str, host: str = HOST, *, priority: int = 0) -> None:
    """One more row."""
    url_id = scene.rows.add(run, url(path, host=host, priority=priority))
    assert url_id is not None
    await scene.frontier.offer(run, [url_id])


@pytest.fixture
async def worker(scene: Scene) -> int:
    return await scene.frontier.join(WorkerRegistration("w"))


async def test_hosts_that_nobody_asks_for_leave_nothing_behind(scene: Scene, worker: int) -> None:
    """Not so soon after a request, and not while the run may come back to them any moment."""
    hosts = [f"h{number}.example" for number in range(1200)]
    run = await scene.begin([url("x", host=host) for host in hosts], concurrency=2000)
    while await crawl(scene, worker, run):
        pass
    assert await scene.let_go() == 0
    await scene.clock.advance(LONG_S)
    assert await scene.let_go() == len(hosts)
    assert await scene.kept() == set()
    assert await scene.frontier.check([run]) == []
    await offer(scene, run, "again", hosts[7])
    assert [lease.request.host for lease in await crawl(scene, worker, run)] == [hosts[7]]
    scene.rows.change(run, state="completed")
    await scene.clock.advance(LONG_S)
    await scene.let_go()
    assert await scene.kept() == set()
    assert [key for key in await scene.raw("KEYS", "*") if b":r" in key] == []


async def test_what_a_run_left_and_what_only_passed_by_goes_as_well(scene: Scene, worker: int) -> None:
    """A lease that outlives its run, a hop to a host of nobody, a row that says nothing any more."""
    run = await scene.begin(urls(1))
    (lease,) = await scene.take(worker, run)
    scene.rows.change(run, state="cancelled")
    assert isinstance(await scene.frontier.permit("hop.example"), SendWindow)
    await scene.frontier.slow_host("once.example", 5.0)
    await scene.frontier.slow_host("once.example", 0.0)
    await scene.clock.advance(LONG_S)
    await scene.frontier.renew([lease])
    assert await scene.let_go() == 2
    assert await scene.kept() == {f"{kind}:{HOST}" for kind in ("h", "f", "fd")}
    await scene.frontier.apply(FrontierUpdate(ended=[lease]))
    assert await scene.let_go() == 1
    assert await scene.kept() == set()


@pytest.mark.parametrize("what", ["queued", "in flight", "cut", "delay", "held", "on trial", "told just now"])
async def test_a_host_is_kept_with_whatever_would_be_lost(scene: Scene, worker: int, what: str) -> None:
    """Rule 18: what the store says of a host is told once, so it stays."""
    run = await scene.begin(urls(1))
    await crawl(scene, worker, run)
    await scene.clock.advance(LONG_S)
    now = scene.clock.store_now()
    if what in ("queued", "in flight"):
        await offer(scene, run, "more")
        if what == "in flight":
            await scene.take(worker, run)
            await scene.clock.advance(LONG_S)
    elif what == "cut":
        await scene.index.replay(0, 1, run, [], tails={HOST: True})
    else:
        values: dict[str, dict[str, float]] = {
            "delay": {"robots_s": 5.0},
            "held": {"held_until": now + 500.0},
            "on trial": {"openings": 1},
            "told just now": {"changed_at": now},
        }
        row = msgspec.structs.replace(scene.rows.set_gate(HOST), **values[what])
        await scene.frontier.apply(FrontierUpdate(hosts=[row]))
    assert await scene.let_go() == 0
    assert f"h:{HOST}" in await scene.kept()


async def test_a_longer_delay_counts_from_slots_that_are_forgotten(scene: Scene, worker: int) -> None:
    """Rule 16: whoever sets it, and however long after."""
    run = await scene.begin(urls(1))
    await crawl(scene, worker, run)
    await scene.clock.advance(LONG_S)
    assert await scene.let_go() == 1
    slow = await scene.begin(urls(2), delay_s=1000.0)
    assert await crawl(scene, worker, slow) == []
    await scene.clock.advance(999.0 - LONG_S)
    assert await crawl(scene, worker, slow) == []
    await scene.clock.advance(2.0)
    assert len(await crawl(scene, worker, slow)) == 1


async def test_a_host_does_not_wait_for_those_that_go_meanwhile(scene: Scene, worker: int) -> None:
    """Only what was forgotten before it was asked for may have been its own slot."""
    run = await scene.begin([url("x", host=f"h{number}.example") for number in range(30)], concurrency=1)
    await crawl(scene, worker, run)
    await scene.clock.advance(LONG_S)
    assert await scene.let_go() == 1
    await scene.frontier.slow_host("new.example", 1000.0)
    await offer(scene, run, "x", "new.example", priority=9)
    order = []
    for _ in range(12):
        order += [lease.request.host for lease in await crawl(scene, worker, run)]
        await scene.clock.advance(LONG_S)
        await scene.let_go()
    assert order.index("new.example") == 7  # 1000 s after the first of all


async def test_a_run_keeps_its_say_where_it_was(scene: Scene, worker: int) -> None:
    """Frontier 4: the strictest run wins until it is over, also where it asks for nothing for now."""
    strict = await scene.begin([url("x"), url("x", host="b.example")], delay_s=10.0, per_host=1)
    while scene.rows.open_rows(strict):
        await crawl(scene, worker, strict)
        await scene.clock.advance(20.0)
    await scene.clock.advance(LONG_S)
    assert await scene.let_go() == 2
    easy = await scene.begin(urls(3) + urls(3, host="c.example"))
    delays = {lease.request.host: lease.window.delay_s for lease in await scene.take(worker, easy)}
    assert delays == {HOST: 10.0, "c.example": 0.0}
    scene.rows.change(strict, state="completed")
    await scene.frontier.slow_host("b.example", 1.0)
    await offer(scene, easy, "late", "b.example")
    await scene.clock.advance(1.0)
    assert sorted(lease.window.delay_s for lease in await scene.take(worker, easy)) == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("is_suspect", [False, True])
async def test_what_waits_finds_its_host_again(scene: Scene, worker: int, *, is_suspect: bool) -> None:
    """Rule 19: with its domain, which has a cap of its own."""
    hosts = ("a.shop.co.uk", "b.shop.co.uk")
    run = await scene.begin([url("x", host=host) for host in hosts], per_domain=1, delay_s=1.0)
    for _ in hosts:
        for lease in await scene.take(worker, run):
            row = scene.rows.rows[lease.url_id]
            row.returns, row.due_at = 3 * is_suspect, scene.clock.store_now() + 500.0
            await scene.frontier.apply(FrontierUpdate(postponed=[(lease, row.place)]))
        await scene.clock.advance(5.0)
    await scene.clock.advance(300.0)
    assert await scene.let_go() == 2
    await scene.clock.advance(300.0)
    assert len(await scene.take(worker, run)) == 1
    assert await scene.raw("SCARD", f"{scene.shards.tag(0)}:fd:shop.co.uk") == 1
    other = await scene.frontier.join(WorkerRegistration("other"))
    assert await scene.take(other, run) == []
    assert await scene.frontier.check([run]) == []
