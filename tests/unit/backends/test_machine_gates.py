"""Gates that crawls with data folders of their own share on one machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import apsw
import pytest

from smartspider.backends.sqlite.gates import machine_gates
from smartspider.backends.sqlite.gates.claims import CLAIM_S
from smartspider.backends.sqlite.gates.crawl_lock import CrawlLock, crawl_lives
from smartspider.backends.sqlite.gates.machine_gates import MachineGates
from smartspider.core.frontier.verdict import PreviousSend
from smartspider.store.hosts.gates import GateState
from smartspider_testing.clock import ManualClock

HOST, DOMAIN = "www.h.example", "h.example"


class Crawl:
    """A crawl with one host, in a data folder that has sent nothing before."""

    def __init__(self, gates: MachineGates, clock: ManualClock) -> None:
        self.gates, self.clock = gates, clock
        self.in_flight = 0

    def gate(self, delay_s: float = 1.0, host: str = HOST, **more: Any) -> GateState:
        sources = {"robots_s": 0.0, "adaptive_s": 0.0, "operator_s": 0.0, "openings": 0, "held_until": 0.0}
        own = {**sources, "per_host": 4, "per_domain": None, **more}
        return GateState(1, sent_until=0.0, turn=0.0, run_s=delay_s, domain=DOMAIN, host=host, **own)

    def ask(self, delay_s: float = 1.0, **more: Any) -> GateState:
        """Claim a gate without taking a slot."""
        gate = self.gates.claim(self.gate(delay_s, **more), self.in_flight)
        self.gates.commit()
        return gate

    def take(self, delay_s: float = 1.0, **more: Any) -> float | None:
        """Take a slot if the gate is open now; return when it begins."""
        gate = self.gates.claim(self.gate(delay_s, **more), self.in_flight)
        now = self.clock.monotonic()
        if gate.opens_at > now or gate.elsewhere.in_flight + self.in_flight >= gate.limit:
            self.gates.commit()
            return None
        self.gates.reserve(gate, now if gate.delay_s > 0.0 else None, 1)
        self.in_flight += 1
        self.gates.commit()
        return now

    def settle(self, delay_s: float = 1.0, **more: Any) -> None:
        """End a request."""
        self.in_flight -= 1
        self.gates.publish(self.gate(delay_s, **more), self.in_flight, is_idle=not self.in_flight)
        self.gates.commit()


NewCrawl = Callable[[str], Crawl]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(now=5_000.0, monotonic=100.0)


@pytest.fixture
def new_crawl(tmp_path: Path, clock: ManualClock) -> Iterator[NewCrawl]:
    with ExitStack() as stack:

        def start(name: str) -> Crawl:
            gates = MachineGates(tmp_path / "state", name, clock)
            stack.callback(gates.close)
            return Crawl(gates, clock)

        yield start


async def test_a_slot_is_a_delay_after_the_last_one_of_any_crawl(
    new_crawl: NewCrawl, clock: ManualClock
) -> None:
    one, two = new_crawl("one"), new_crawl("two")
    assert one.take() == 100.0
    assert two.take() is None
    await clock.advance(0.99)
    assert two.take() is None
    await clock.advance(0.02)
    assert two.take() == pytest.approx(101.01)
    assert one.take() is None


async def test_the_longest_delay_of_all_crawls_applies_to_each(
    new_crawl: NewCrawl, clock: ManualClock
) -> None:
    lenient, strict = new_crawl("lenient"), new_crawl("strict")
    assert lenient.take(0.1) == 100.0
    strict.ask(5.0)
    await clock.advance(0.2)
    assert lenient.take(0.1) is None
    gate = lenient.ask(0.1)
    assert (gate.delay_s, gate.set_by) == (5.0, "another crawl")


async def test_a_crawl_that_ended_asks_for_nothing(new_crawl: NewCrawl, clock: ManualClock) -> None:
    lenient, strict = new_crawl("lenient"), new_crawl("strict")
    strict.ask(5.0)
    assert lenient.ask(0.1).delay_s == 5.0
    strict.gates.close()
    await clock.advance(machine_gates.SEEN_S)
    assert lenient.ask(0.1).delay_s == 0.1


async def test_a_crawl_that_asks_for_a_host_no_longer_stops_counting(
    new_crawl: NewCrawl, clock: ManualClock
) -> None:
    lenient, strict = new_crawl("lenient"), new_crawl("strict")
    strict.ask(5.0)
    await clock.advance(CLAIM_S + 9)
    assert lenient.ask(0.1).delay_s == 5.0
    await clock.advance(2)
    assert lenient.ask(0.1).delay_s == 0.1


def test_without_a_delay_nothing_is_written_until_another_crawl_comes(
    new_crawl: NewCrawl, tmp_path: Path
) -> None:
    alone = new_crawl("alone")
    for _ in range(2):  # the second one finds that nobody answered the claim of the first
        assert alone.take(0.0) is not None
    (file,) = (tmp_path / "state").glob("*.db")
    other = apsw.Connection(str(file))
    version = other.execute("PRAGMA data_version").get
    alone.settle(0.0)
    assert alone.take(0.0) is not None
    alone.settle(0.0)
    assert alone.gates.is_free(HOST)
    assert other.execute("PRAGMA data_version").get == version
    other.close()


def test_a_crawl_without_a_delay_sees_one_with_a_delay_before_its_next_request(
    new_crawl: NewCrawl, clock: ManualClock
) -> None:
    free, paced = new_crawl("free"), new_crawl("paced")
    free.take(0.0)
    assert free.gates.is_free(HOST)
    opens_at = paced.ask(1.0).opens_at
    assert not free.gates.is_free(HOST)
    assert opens_at >= clock.monotonic() + 1.0  # a request that has just been let through counts as sent


async def test_a_crawl_alone_counts_as_full_until_it_says_how_many_are_in_flight(
    new_crawl: NewCrawl, clock: ManualClock
) -> None:
    alone, other = new_crawl("alone"), new_crawl("other")
    alone.take(0.0)
    assert other.take(0.0) is None
    alone.take(0.0)
    await clock.advance(machine_gates.SEEN_S)
    assert other.ask(0.0).elsewhere.in_flight == 2
    assert other.take(0.0) is not None


def test_workers_of_a_crawl_do_not_count_without_each_other(new_crawl: NewCrawl) -> None:
    red, blue, other = new_crawl("one"), new_crawl("one"), new_crawl("other")
    for _ in range(2):
        assert red.take(0.0) is not None
    blue.gates.publish(blue.gate(0.0), 0, is_idle=True)  # before these two
    blue.gates.commit()
    assert red.take(0.0) is not None
    assert other.take(0.0) is None


def test_a_crawl_alone_that_has_nothing_in_flight_says_so(new_crawl: NewCrawl) -> None:
    alone, other = new_crawl("alone"), new_crawl("other")
    alone.take(0.0)
    alone.settle(0.0)
    assert other.take(0.0) is not None


def test_the_lowest_limit_applies_to_the_requests_of_all_crawls(new_crawl: NewCrawl) -> None:
    one, two = new_crawl("one"), new_crawl("two")
    two.ask(0.0, per_host=2)
    assert one.take(0.0) is not None
    assert two.take(0.0, per_host=2) is not None
    assert one.take(0.0) is None
    assert two.take(0.0, per_host=2) is None
    two.settle(0.0, per_host=2)
    assert one.take(0.0) is not None


def test_a_host_on_trial_is_on_trial_for_all_crawls(new_crawl: NewCrawl) -> None:
    one, two = new_crawl("one"), new_crawl("two")
    one.ask(0.0, openings=1)
    assert two.ask(0.0).limit == 1


def test_hosts_of_a_domain_share_its_limit(new_crawl: NewCrawl) -> None:
    one, two = new_crawl("one"), new_crawl("two")
    two.ask(0.0, host="api.h.example", per_domain=1)
    one.take(0.0)
    gate = two.ask(0.0, host="api.h.example", per_domain=1)
    assert (gate.per_domain, gate.elsewhere.in_domain, gate.elsewhere.in_flight) == (1, 1, 0)
    assert one.ask(0.0).per_domain == 1


async def test_crawls_that_wait_get_slots_in_turn(new_crawl: NewCrawl, clock: ManualClock) -> None:
    crawls = {name: new_crawl(name) for name in ("red", "blue", "green")}
    order = []
    for _ in range(1000):
        for name, crawl in crawls.items():  # the first one asks first every time
            if crawl.take() is not None:
                order.append(name)
                crawl.settle()
        await clock.advance(0.005)
    assert len(order) == 5
    assert order == [order[number % 3] for number in range(len(order))]
    assert len(set(order[:3])) == 3


def test_a_hold_is_kept_by_all_crawls_until_an_operator_ends_it(new_crawl: NewCrawl) -> None:
    one, two = new_crawl("one"), new_crawl("two")
    two.take(0.0)
    one.gates.publish(one.gate(0.0, held_until=160.0, hold_reason="429"), 0, is_idle=True)
    one.gates.commit()
    gate = two.ask(0.0)
    assert (gate.held_until, gate.hold_reason) == (160.0, "429")
    assert not two.gates.is_free(HOST)
    two.gates.resume(HOST)
    two.gates.commit()
    assert two.ask(0.0).held_until == 0.0


def test_a_receipt_learns_of_the_request_that_another_crawl_sent_before(new_crawl: NewCrawl) -> None:
    one, two = new_crawl("one"), new_crawl("two")
    assert one.gates.record(HOST, 100.0, 1.0) is None
    assert one.gates.record(HOST, 101.0, 1.0) is None
    assert two.gates.record(HOST, 102.0, 2.0) == PreviousSend(101.0, 1.0)
    assert one.gates.record(HOST, 103.0, 1.0) == PreviousSend(102.0, 2.0)


def test_while_another_process_keeps_the_file_locked_the_gate_is_closed(
    new_crawl: NewCrawl, tmp_path: Path
) -> None:
    one = new_crawl("one")
    one.ask()
    (file,) = (tmp_path / "state").glob("*.db")
    other = apsw.Connection(str(file))
    other.execute("BEGIN IMMEDIATE")
    assert one.take() is None
    assert one.gates.record(HOST, 100.0, 1.0) is None
    other.execute("ROLLBACK")
    other.close()
    assert one.take() == 100.0


def test_a_file_that_breaks_leaves_the_gates_of_the_data_folder(
    new_crawl: NewCrawl, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = new_crawl("one")
    one.take()
    (file,) = (tmp_path / "state").glob("*.db")
    other = apsw.Connection(str(file))
    other.execute("DROP TABLE claim; DROP TABLE host")
    other.close()
    gate = one.gate(2.0)
    assert one.ask(2.0) == gate
    assert one.take(2.0) == 100.0
    assert one.gates.record(HOST, 100.0, 2.0) is None
    one.settle(2.0)
    assert caplog.text.count("gates.left") == 1


def test_a_slot_of_a_transaction_that_failed_is_free_again(new_crawl: NewCrawl) -> None:
    one, two = new_crawl("one"), new_crawl("two")
    one.gates.reserve(one.gates.claim(one.gate(), 0), 100.0, 1)
    one.gates.roll_back()
    assert two.take() == 100.0


def test_a_folder_that_cannot_be_used_leaves_the_gates_of_the_data_folder(
    tmp_path: Path, clock: ManualClock
) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file" / "state", Path("~/state")):
        gates = MachineGates(folder, "one", clock)
        crawl = Crawl(gates, clock)
        gate = crawl.gate()
        assert crawl.ask() == gate
        assert gates.see(gate) is gate
        assert gates.is_free(HOST)
        assert gates.record(HOST, 100.0, 1.0) is None
        assert "cannot be used" in gates.problem
        gates.close()


HOLDER = """
import signal, sys
from pathlib import Path
from smartspider.backends.sqlite.gates.crawl_lock import CrawlLock
lock = CrawlLock(Path(sys.argv[1]))
lock.join()
print("locked", flush=True)
signal.pause()
"""


def test_the_lock_of_a_crawl_is_free_once_its_last_process_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "crawl.lock"
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"locked\n"
    own = CrawlLock(path)
    assert not own.join()
    assert not own.leave()
    assert crawl_lives(path, remove=True)
    process.kill()
    process.wait(60)
    process.stdout.close()
    assert path.exists()
    assert not crawl_lives(path, remove=True)
    assert not path.exists()
    assert own.join()
    assert own.leave()
    assert not path.exists()


def test_what_killed_crawls_and_earlier_starts_of_the_machine_left_is_removed(
    new_crawl: NewCrawl, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    for name in ("dead.lock", "gates-before.db", "gates-first.db", "gates-other.db"):
        (state / name).touch()
    for name in ("gates-before.db", "gates-first.db"):
        os.utime(state / name, (0, 0))
    new_crawl("one").ask()
    names = {path.name for path in state.iterdir()}
    assert not names & {"dead.lock", "gates-before.db"}
    assert names >= {"gates-first.db", "gates-other.db"}
