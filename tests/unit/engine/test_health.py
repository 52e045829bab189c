"""How a worker does by its own measure, and what it makes of how the others do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.engine.test_worker import Crew

from smartspider.core.errors import ConnectFailed
from smartspider.core.events import Event, WorkerRestored, WorkerThrottled
from smartspider.core.frontier.lease import FencingToken, Lease, SendWindow
from smartspider.core.frontier.verdict import Close, HostNews, News, Settlement
from smartspider.core.requests.request import make_request
from smartspider.core.runs.run import HTTP_ONLY
from smartspider.core.workers.host_assignment import owned_partitions
from smartspider.core.workers.worker import WorkerHealth
from smartspider.engine.context import WorkerOptions
from smartspider.engine.heartbeat import DECAY, LAG_MAX_S, HealthMeter, Peers
from smartspider.engine.runtime import LocalBus
from smartspider.installation.data_folder import DataFolder
from smartspider.interfaces.worker_registry import HeartbeatReply, HeartbeatReport
from smartspider.telemetry.subscribers import sentence
from smartspider.wiring.opening import open_folder
from smartspider_testing.waiting import WAIT_S

BAD = WorkerHealth(fault_share=0.8)


def settlement(*, is_fault: bool = False, elapsed_s: float = 0.5) -> Settlement:
    request = make_request("http://a.example/")
    lease = Lease(FencingToken(1, 1), 1, 1, request, SendWindow(0.0, 0.0, 0.0), 60.0)
    news = (HostNews(is_unreachable=True),) if is_fault else ()
    return Settlement(lease, Close("done"), news, elapsed_s=elapsed_s)


def test_requests_without_an_answer_count_for_some_hundred_requests() -> None:
    meter = HealthMeter()
    meter.record_settled([settlement(is_fault=True)] * 5, 0)
    assert 0.0 < meter.measure().fault_share < 0.05
    meter.record_settled([settlement(is_fault=True)] * 5 * DECAY, 0)
    assert meter.measure().fault_share > 0.95
    meter.record_settled([settlement()] * 5 * DECAY, 5 * DECAY)
    found = meter.measure()
    assert (found.fault_share < 0.05, found.pages, found.request_s) == (True, 5 * DECAY, 0.5)


def test_news_of_another_subject_says_nothing_about_hosts() -> None:
    class IdentityNews(News, frozen=True):
        is_unreachable: bool = True

    meter = HealthMeter()
    refused = msgspec.structs.replace(settlement(), news=(IdentityNews(reason="signed out"),))
    meter.record_settled([refused] * 5 * DECAY, 0)
    assert (refused.host_news, meter.measure().fault_share) == (None, 0.0)


def test_the_first_request_tells_how_long_one_takes() -> None:
    meter = HealthMeter()
    meter.record_settled([settlement(elapsed_s=2.0)], 1)
    assert meter.measure().request_s == 2.0


def test_lateness_fades_and_a_machine_that_slept_is_not_slow_for_long() -> None:
    meter = HealthMeter()
    meter.record_lag(3_600.0)
    meter.record_lag(0.01)
    assert 0.0 < meter.measure().lag_s <= LAG_MAX_S / 2
    for _ in range(20):
        meter.record_lag(-1.0)
        found = meter.measure()
    assert found.lag_s < 0.01
    for _ in range(30):
        meter.record_lag(0.3)
        found = meter.measure()
    assert found.lag_s == pytest.approx(0.3, abs=0.01)


def watched() -> tuple[Peers, list[Event]]:
    events: list[Event] = []
    bus = LocalBus()
    bus.subscribe(events.append)
    return Peers(bus), events


def test_it_is_said_once_when_a_worker_asks_for_less_and_once_when_that_is_over() -> None:
    peers, events = watched()
    well = {2: WorkerHealth(), 3: WorkerHealth()}
    for health in (WorkerHealth(), BAD, WorkerHealth(fault_share=0.5), BAD, WorkerHealth(), WorkerHealth()):
        peers.update(1, {1: health, **well})
    assert events == [WorkerThrottled(0, 0.25, 0.8, 0.0), WorkerRestored(0)]
    assert "fills 25% of its slots" in sentence(events[0])
    assert "all its slots again" in sentence(events[1])


def test_one_slot_is_filled_at_least_unless_there_is_none() -> None:
    peers, _ = watched()
    assert [peers.usable_slots(slots) for slots in (0, 1, 16)] == [0, 1, 16]
    peers.update(1, {1: BAD, 2: WorkerHealth()})
    assert [peers.usable_slots(slots) for slots in (0, 1, 2, 16)] == [0, 1, 1, 4]


def test_hosts_are_divided_by_who_is_there_and_how_they_do() -> None:
    one, two = watched()[0], watched()[0]
    for peers, number in ((one, 1), (two, 2)):
        peers.update(number, {1: WorkerHealth(), 2: WorkerHealth()})
    assert bytes(a ^ b for a, b in zip(one.own, two.own, strict=True)) == b"\xff" * 32
    before = one.own
    one.update(1, {1: WorkerHealth(pages=3), 2: WorkerHealth(load=1.0)})
    assert one.own is before
    one.update(1, {1: WorkerHealth(), 2: BAD})
    assert int.from_bytes(one.own).bit_count() > int.from_bytes(before).bit_count()
    one.update(1, {1: WorkerHealth()})
    assert one.own == b""


QUICK = WorkerOptions(beat_s=0.01, refresh_s=0.01)


class Told:
    """A registry that tells of other workers, and a frontier that notes what is asked of it."""

    def __init__(self, folder: DataFolder) -> None:
        self._workers = folder.workers
        self._frontier = folder.frontier
        self.beats: list[HeartbeatReport] = []
        self.asked: list[tuple[int, bytes]] = []
        self.health = BAD

    async def beat(self, worker_id: int, beat: HeartbeatReport) -> HeartbeatReply:
        self.beats.append(beat)
        orders = await self._workers.beat(worker_id, beat)
        return HeartbeatReply(orders.slots, peers={worker_id: self.health, worker_id + 1: WorkerHealth()})

    async def lease(
        self,
        worker_id: int,
        want: int,
        runs: Any,
        own: bytes = b"",
        capabilities: frozenset[str] = HTTP_ONLY,
        *,
        ahead_s: float = 0.0,
    ) -> Any:
        self.asked.append((want, own))
        return await self._frontier.lease(worker_id, want, runs, own, capabilities, ahead_s=ahead_s)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._frontier, name)


async def test_a_worker_that_does_worse_asks_for_less_and_says_which_hosts_are_its_own(
    tmp_path: Path,
) -> None:
    with open_folder(tmp_path / "data") as folder:
        told = Told(folder)
        paths = [f"/{number}" for number in range(40)]
        crew = Crew(msgspec.structs.replace(folder, frontier=told, workers=told), {}, *paths)
        crew.options = QUICK
        crew.site.errors["/0"] = [ConnectFailed("refused")]
        crew.site.close(*paths)
        await crew.start(slots=16)
        working = asyncio.create_task(crew.finish())
        await crew.site.until(lambda: bool(told.beats and crew.site.fetched))
        for door in crew.site.doors.values():
            door.set()
        run = await working
    (own,) = {own for _, own in told.asked} - {b""}
    assert own == owned_partitions(1, {1: 0.25, 2: 1.0})
    assert max(want for want, asked in told.asked if asked) <= 4
    assert run.counters.done == 40


async def test_a_worker_tells_how_it_does(tmp_path: Path) -> None:
    with open_folder(tmp_path / "data") as folder:
        told = Told(folder)
        told.health = WorkerHealth()
        crew = Crew(msgspec.structs.replace(folder, frontier=told, workers=told), {}, "/a", "/b", "/last")
        crew.options = QUICK
        crew.site.errors["/a"] = [ConnectFailed("refused")]
        crew.site.close("/last")
        await crew.start()
        working = asyncio.create_task(crew.finish())
        async with asyncio.timeout(WAIT_S):
            while not told.beats or told.beats[-1].health.pages < 2:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.005)
        crew.site.doors["/last"].set()
        await working
    health = told.beats[-1].health
    assert (health.fault_share > 0.0, health.request_s > 0.0, health.load > 0.0) == (True, True, True)
