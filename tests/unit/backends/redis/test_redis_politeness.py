"""Index 9 at random: what was promised to hosts is told apart from the frontier, which lets them go."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from tests.unit.backends.redis.scenes import Scene, url

from smartspider.core.frontier.lease import Lease, SendWindow
from smartspider.core.frontier.updates import FrontierUpdate
from smartspider.core.requests.domains import registrable_domain
from smartspider.core.workers.worker import WorkerRegistration

HOSTS = ("a.shop.co.uk", "b.shop.co.uk", "c.example", "d.example", "e.example")


class Politeness:
    """A crawl at random, and what every host may expect of it."""

    def __init__(self, scene: Scene, seed: int) -> None:
        self.scene = scene
        self.dice = random.Random(seed)
        self.asked: dict[str, set[int]] = {host: set() for host in HOSTS}
        self.last: dict[str, float] = {}
        self.held: list[Lease] = []
        self.count = 0

    def says(self, host: str, knob: str) -> list[float]:
        runs = (self.scene.rows.runs[run] for run in self.asked[host])
        found = [getattr(run, knob) for run in runs if run.state in ("running", "paused")]
        return [value for value in found if value is not None]

    def slot(self, host: str, window: SendWindow, least_s: float = 0.0) -> None:
        gate = self.scene.rows.gate(host)
        delay_s = max([*self.says(host, "delay_s"), gate.operator_s, least_s])
        if delay_s and host in self.last:
            assert window.not_before >= self.last[host] + delay_s - 1e-6
        if gate.held_until:
            store = window.not_before - self.scene.clock.monotonic() + self.scene.clock.store_now()
            assert store >= gate.held_until - 1e-3
        self.last[host] = max(self.last.get(host, 0.0), window.not_after)

    def took(self, leases: Sequence[Lease]) -> None:
        for lease in leases:
            host = lease.request.host
            self.held.append(lease)
            self.slot(host, lease.window)
            flying = [one.request.host for one in self.held]
            assert flying.count(host) <= min(self.says(host, "per_host"))
            siblings = [one for one in flying if registrable_domain(one) == registrable_domain(host)]
            assert len(siblings) <= min(self.says(host, "per_domain"), default=99)

    async def add(self, run: int) -> None:
        host = self.dice.choice(HOSTS)
        self.count += 1
        url_id = self.scene.rows.add(run, url(f"x{self.count}", host=host))
        assert url_id is not None
        self.asked[host].add(run)
        await self.scene.frontier.offer(run, [url_id])

    async def end(self, lease: Lease) -> None:
        self.held.remove(lease)
        if self.dice.random() < 0.3 and lease.run_id in self.running:
            row = self.scene.rows.rows[lease.url_id]
            row.due_at = self.scene.clock.store_now() + self.dice.choice((1.0, 200.0, 600.0))
            await self.scene.frontier.apply(FrontierUpdate(postponed=[(lease, row.place)]))
            return
        self.scene.close(lease)
        await self.scene.frontier.apply(FrontierUpdate(ended=[lease]))

    @property
    def running(self) -> list[int]:
        return [run.run_id for run in self.scene.rows.runs.values() if run.state == "running"]

    async def begin(self) -> None:
        dice = self.dice
        await self.scene.begin(
            [],
            delay_s=dice.choice((0.0, 0.0, 0.5, 5.0, 250.0)),
            per_host=dice.choice((1, 2, 9)),
            per_domain=dice.choice((None, None, 1, 2)),
        )

    async def step(self, worker: int) -> None:
        dice, scene = self.dice, self.scene
        act = dice.randrange(12)
        if not self.running or (act == 0 and len(self.running) < 3):
            await self.begin()
        elif act == 1 and dice.random() < 0.3:
            scene.rows.change(dice.choice(self.running), state="completed")
            await scene.keeper.keep()
        elif act in (2, 3):
            await self.add(dice.choice(self.running))
        elif act in (4, 5):
            self.took(await scene.take(worker, *self.running, want=dice.choice((1, 9))))
        elif act in (6, 7, 8) and self.held:
            for lease in dice.sample(self.held, dice.randint(1, len(self.held))):
                await self.end(lease)
        elif act == 9:
            await self.knob(dice.choice(HOSTS))
        elif act == 10:
            host, least_s = dice.choice(HOSTS), dice.choice((0.0, 3.0, 400.0))
            window = await scene.frontier.permit(host, least_s)
            if isinstance(window, SendWindow):
                self.slot(host, window, least_s)
        else:
            await scene.clock.advance(dice.choice((0.2, 3.0, 50.0, 130.0, 400.0)))
            await scene.frontier.renew(self.held)

    async def knob(self, host: str) -> None:
        act = self.dice.randrange(5)
        if act == 0:
            await self.scene.frontier.hold_host(host, self.dice.choice((5.0, 700.0)), "asked")
        elif act == 1:
            await self.scene.frontier.slow_host(host, self.dice.choice((0.0, 2.0, 600.0)))
        else:
            await self.scene.frontier.resume_host(host)
            await self.scene.frontier.slow_host(host, 0.0)


@pytest.mark.parametrize("seed", range(4))
async def test_no_gap_is_shorter_and_nothing_is_lost_because_hosts_go(scene: Scene, seed: int) -> None:
    """Rules 16 to 19, whatever is done in whatever order, with hosts let go after every step."""
    crowd = Politeness(scene, seed)
    worker = await scene.frontier.join(WorkerRegistration("w"))
    gone = 0
    for _ in range(500):
        await crowd.step(worker)
        gone += await scene.let_go()
    assert gone > 15
    assert await scene.frontier.check(crowd.running) == []
    for host in HOSTS:
        await scene.frontier.resume_host(host)
        await scene.frontier.slow_host(host, 0.0)
    for _ in range(400):
        crowd.dice = random.Random(1)
        for lease in list(crowd.held):
            crowd.held.remove(lease)
            scene.close(lease)
            await scene.frontier.apply(FrontierUpdate(ended=[lease]))
        if not any(scene.rows.open_rows(run) for run in crowd.running):
            break
        await scene.clock.advance(260.0)
        await scene.let_go()
        crowd.took(await scene.take(worker, *crowd.running))
    assert not any(scene.rows.open_rows(run) for run in crowd.running)
    await scene.clock.advance(400.0)
    await scene.let_go()
    assert await scene.kept() == set()
