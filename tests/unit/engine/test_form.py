"""How a worker does by its own measure, and what it makes of how the others do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.engine.test_worker import Crew

from smartspider.core.errors import ConnectFailed
from smartspider.core.events import Event, WorkerEased, WorkerRestored
from smartspider.core.lease import Lease, Token, Window
from smartspider.core.placement import own_parts
from smartspider.core.request import make_request
from smartspider.core.verdict import Close, HostNews, Settlement
from smartspider.core.workers import Form
from smartspider.engine import attendance
from smartspider.engine.bus import LocalBus
from smartspider.engine.form import FADES, LAG_MAX_S, OwnForm
from smartspider.engine.peers import Peers
from smartspider.interfaces.worker_registry import Beat, Orders
from smartspider.telemetry.lines import sentence
from smartspider.wiring.folder import DataFolder, open_folder

BAD = Form(fault_share=0.8)


def settlement(*, is_fault: bool = False, elapsed_s: float = 0.5) -> Settlement:
    request = make_request("http://a.example/")
    lease = Lease(Token(1, 1), 1, 1, request, Window(0.0, 0.0, 0.0), 60.0)
    news = HostNews(is_unreachable=True) if is_fault else None
    return Settlement(lease, Close("done"), news, elapsed_s=elapsed_s)


def test_requests_without_an_answer_count_for_some_hundred_requests() -> None:
    form = OwnForm()
    form.settled([settlement(is_fault=True)] * 5, 0)
    assert 0.0 < form.look().fault_share < 0.05
    form.settled([settlement(is_fault=True)] * 5 * FADES, 0)
    assert form.look().fault_share > 0.95
    form.settled([settlement()] * 5 * FADES, 5 * FADES)
    found = form.look()
    assert (found.fault_share < 0.05, found.pages, found.request_s) == (True, 5 * FADES, 0.5)


def test_the_first_request_tells_how_long_one_takes() -> None:
    form = OwnForm()
    form.settled([settlement(elapsed_s=2.0)], 1)
    assert form.look().request_s == 2.0


def test_lateness_fades_and_a_machine_that_slept_is_not_slow_for_long() -> None:
    form = OwnForm()
    form.late(3_600.0)
    form.late(0.01)
    assert 0.0 < form.look().lag_s <= LAG_MAX_S / 2
    for _ in range(20):
        form.late(-1.0)
        found = form.look()
    assert found.lag_s < 0.01
    for _ in range(30):
        form.late(0.3)
        found = form.look()
    assert found.lag_s == pytest.approx(0.3, abs=0.01)


def watched(**more: Any) -> tuple[Peers, list[Event]]:
    events: list[Event] = []
    bus = LocalBus()
    bus.subscribe(events.append)
    return Peers(bus, **more), events


def test_it_is_said_once_when_a_worker_asks_for_less_and_once_when_that_is_over() -> None:
    peers, events = watched()
    well = {2: Form(), 3: Form()}
    for form in (Form(), BAD, Form(fault_share=0.5), BAD, Form(), Form()):
        peers.heed(1, {1: form, **well})
    assert events == [WorkerEased(0, 0.25, 0.8, 0.0), WorkerRestored(0)]
    assert "fills 25% of its slots" in sentence(events[0])
    assert "all its slots again" in sentence(events[1])


def test_one_slot_is_filled_at_least_unless_there_is_none() -> None:
    peers, _ = watched()
    assert [peers.places(slots) for slots in (0, 1, 16)] == [0, 1, 16]
    peers.heed(1, {1: BAD, 2: Form()})
    assert [peers.places(slots) for slots in (0, 1, 2, 16)] == [0, 1, 1, 4]


def test_hosts_are_divided_by_who_is_there_and_how_they_do() -> None:
    one, two = watched()[0], watched()[0]
    for peers, number in ((one, 1), (two, 2)):
        peers.heed(number, {1: Form(), 2: Form()})
    assert bytes(a ^ b for a, b in zip(one.own, two.own, strict=True)) == b"\xff" * 32
    before = one.own
    one.heed(1, {1: Form(pages=3), 2: Form(load=1.0)})
    assert one.own is before
    one.heed(1, {1: Form(), 2: BAD})
    assert int.from_bytes(one.own).bit_count() > int.from_bytes(before).bit_count()
    one.heed(1, {1: Form()})
    assert one.own == b""


def test_without_placement_no_host_is_ones_own() -> None:
    peers, _ = watched(is_placed=False)
    peers.heed(1, {1: BAD, 2: Form()})
    assert (peers.own, peers.share) == (b"", 0.25)


class Told:
    """A registry that tells of other workers, and a frontier that notes what is asked of it."""

    def __init__(self, folder: DataFolder) -> None:
        self._workers = folder.workers
        self._frontier = folder.frontier
        self.beats: list[Beat] = []
        self.asked: list[tuple[int, bytes]] = []
        self.form = BAD

    async def beat(self, worker_id: int, beat: Beat) -> Orders:
        self.beats.append(beat)
        orders = await self._workers.beat(worker_id, beat)
        return Orders(orders.slots, peers={worker_id: self.form, worker_id + 1: Form()})

    async def lease(self, worker_id: int, want: int, runs: Any, own: bytes = b"") -> Any:
        self.asked.append((want, own))
        return await self._frontier.lease(worker_id, want, runs, own)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._frontier, name)


async def test_a_worker_that_does_worse_asks_for_less_and_says_which_hosts_are_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attendance, "BEAT_S", 0.01)
    with open_folder(tmp_path / "data") as folder:
        told = Told(folder)
        paths = [f"/{number}" for number in range(40)]
        crew = Crew(msgspec.structs.replace(folder, frontier=told, workers=told), {}, *paths)
        crew.site.errors["/0"] = [ConnectFailed("refused")]
        crew.site.close(*paths)
        await crew.start(slots=16)
        working = asyncio.create_task(crew.finish())
        await crew.site.until(lambda: bool(told.beats and crew.site.fetched))
        for door in crew.site.doors.values():
            door.set()
        run = await working
    (own,) = {own for _, own in told.asked} - {b""}
    assert own == own_parts(1, {1: 0.25, 2: 1.0})
    assert max(want for want, asked in told.asked if asked) <= 4
    assert run.counters.done == 40


async def test_a_worker_tells_how_it_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attendance, "BEAT_S", 0.01)
    with open_folder(tmp_path / "data") as folder:
        told = Told(folder)
        told.form = Form()
        crew = Crew(msgspec.structs.replace(folder, frontier=told, workers=told), {}, "/a", "/b", "/last")
        crew.site.errors["/a"] = [ConnectFailed("refused")]
        crew.site.close("/last")
        await crew.start()
        working = asyncio.create_task(crew.finish())
        async with asyncio.timeout(20.0):
            while not told.beats or told.beats[-1].form.pages < 2:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.005)
        crew.site.doors["/last"].set()
        await working
    form = told.beats[-1].form
    assert (form.fault_share > 0.0, form.request_s > 0.0, form.load > 0.0) == (True, True, True)
