"""When a worker process is killed, by what its supervisor sees of it."""

from __future__ import annotations

from itertools import count

import msgspec
import pytest

from smartspider.core.frontier.lease import FencingToken, Lease, SendWindow
from smartspider.core.requests.request import make_request
from smartspider.core.workers import activity
from smartspider.core.workers.activity import EXTRACT, NONE, PARSE, STEPS, STORE, ActivityRecord
from smartspider.core.workers.watch import POLL_S, Drain, Kill, ProcessSample, ProcessWatch, WatchLimits

LIMITS = WatchLimits(stall_s=5.0, memory=1_000_000_000)
READING = ActivityRecord(100.0, 7, 100.1, 42, 1, 9, 0, 0, is_alone=False, stage=PARSE)
IDLE = msgspec.structs.replace(READING, stage=NONE)
LEASE = Lease(
    FencingToken(3, 12),
    url_id=(5 << 40) + 8,
    run_id=5,
    request=make_request("http://h.example/"),
    window=SendWindow(0.0, 0.0, 0.0),
    deadline_at=0.0,
    attempts=2,
    is_alone=True,
    visit=4,
)


class Watched:
    """A process that a watch sees at regular intervals."""

    def __init__(self, limits: WatchLimits = LIMITS) -> None:
        self.watch = ProcessWatch(limits)
        self.now = 1000.0
        self.cpu_s = 0.0

    def see(
        self, doing: ActivityRecord = READING, *, cpu: float = 1.0, **more: object
    ) -> Kill | Drain | None:
        """One more sample."""
        self.now += POLL_S
        self.cpu_s += cpu * POLL_S
        sample = ProcessSample(self.now, doing, self.cpu_s, **{"state": "R", **more})  # type: ignore[arg-type] # as given
        return self.watch.observe(sample)

    def until(
        self, doing: ActivityRecord = READING, *, most_s: float = 100.0, **more: object
    ) -> tuple[float, object]:
        """See the same until something is to be done; return after how long, and what."""
        for number in count(1):
            found = self.see(doing, **more)  # type: ignore[arg-type] # as given
            if found is not None or number * POLL_S > most_s:
                return number * POLL_S, found
        raise AssertionError


def test_a_page_that_is_read_too_long_is_blamed_with_its_stage() -> None:
    passed_s, kill = Watched().until()
    assert isinstance(kill, Kill)
    assert (kill.cause, kill.has_culprit, kill.activity) == ("stall", True, READING)
    assert kill.reason == "took more than 5 s in parse"
    assert passed_s == pytest.approx(LIMITS.stall_s + LIMITS.grace_s, abs=2 * POLL_S)


def test_stages_of_one_page_count_together() -> None:
    watched = Watched()
    for stage in (PARSE, EXTRACT, STEPS):
        assert watched.until(msgspec.structs.replace(READING, stage=stage), most_s=2.0)[1] is None
    _, kill = watched.until(msgspec.structs.replace(READING, stage=STEPS), most_s=2.0)
    assert isinstance(kill, Kill)
    assert kill.reason.endswith("in steps")


def test_a_loop_that_moves_is_left_alone() -> None:
    watched = Watched()
    for number in range(400):
        assert watched.see(msgspec.structs.replace(READING, ticked_at=float(number + 1))) is None


def test_each_page_has_its_own_time() -> None:
    watched = Watched()
    for number in range(20):
        page = msgspec.structs.replace(READING, since=float(number))
        assert watched.until(page, most_s=4.0)[1] is None


def test_a_loop_that_stands_still_outside_of_a_page_blames_nobody() -> None:
    _, kill = Watched().until(IDLE)
    assert isinstance(kill, Kill)
    assert (kill.cause, kill.has_culprit) == ("stall", False)


def test_a_transaction_may_take_longer_than_a_page() -> None:
    passed_s, kill = Watched().until(msgspec.structs.replace(READING, stage=STORE))
    assert isinstance(kill, Kill)
    assert not kill.has_culprit
    assert passed_s >= LIMITS.store_s


def test_a_process_without_an_event_loop_is_not_watched() -> None:
    assert Watched().until(msgspec.structs.replace(READING, ticked_at=0.0))[1] is None


def test_a_suspended_process_is_not_blamed() -> None:
    passed_s, kill = Watched().until(state="T", most_s=300.0)
    assert isinstance(kill, Kill)
    assert (kill.cause, kill.has_culprit) == ("stopped", False)
    assert passed_s > LIMITS.suspended_s


def test_a_supervisor_that_was_suspended_itself_blames_nobody() -> None:
    watched = Watched()
    watched.until(most_s=2.0)
    watched.now += 3600.0
    assert watched.see() is None


def test_a_process_that_gets_no_cpu_has_twice_the_time() -> None:
    starved_s, kill = Watched().until(cpu=0.01)
    assert isinstance(kill, Kill)
    assert starved_s == pytest.approx(2 * (LIMITS.stall_s + LIMITS.grace_s), abs=2 * POLL_S)
    assert Watched().until(cpu=0.0, state="S")[0] < starved_s


@pytest.mark.parametrize("name", ["is_stopping", "is_unwanted"])
def test_a_process_that_does_not_respond_to_a_stop_is_killed_soon_without_blame(name: str) -> None:
    watched = Watched()
    watched.see()
    setattr(watched.watch, name, True)
    passed_s, kill = watched.until()
    assert isinstance(kill, Kill)
    assert (kill.cause, kill.has_culprit) == ("stop", False)
    assert passed_s <= LIMITS.stop_s + 2 * POLL_S


def test_a_process_that_moves_again_is_wanted_again() -> None:
    watched = Watched()
    watched.see()
    watched.watch.is_unwanted = True
    watched.see(msgspec.structs.replace(READING, ticked_at=101.0))
    assert watched.until(msgspec.structs.replace(READING, ticked_at=101.0), most_s=4.0)[1] is None


def test_a_page_that_is_read_over_the_memory_budget_is_blamed() -> None:
    watched = Watched()
    assert watched.until(memory=500_000_000, most_s=2.0)[1] is None
    kill = watched.see(memory=1_100_000_000)
    assert isinstance(kill, Kill)
    assert (kill.cause, kill.has_culprit) == ("memory", True)
    assert kill.reason == "needed more than 1GB in parse"


def test_a_worker_over_its_budget_is_drained_once_then_killed() -> None:
    watched = Watched()
    watched.see(IDLE)
    assert isinstance(watched.see(IDLE, memory=1_100_000_000), Drain)
    for number in range(200, 400):
        found = watched.see(msgspec.structs.replace(IDLE, ticked_at=float(number)), memory=1_100_000_000)
        if found is not None:
            break
    assert isinstance(found, Kill)
    assert (found.cause, found.has_culprit) == ("memory", False)
    assert (number - 200) * POLL_S >= LIMITS.drain_s - 2 * POLL_S


def test_a_worker_far_over_its_budget_is_not_drained() -> None:
    watched = Watched()
    watched.see(IDLE)
    assert isinstance(watched.see(IDLE, memory=1_600_000_000), Kill)


def test_a_page_that_is_read_for_long_holds_its_run_up_sooner_if_a_worker_was_killed_for_it() -> None:
    doing = msgspec.structs.replace(READING, url_id=LEASE.url_id)
    for offenders, limit_s in (((), LIMITS.stall_s / 2), ((LEASE.run_id,), LIMITS.aside_again_s)):
        watched = Watched()
        while watched.watch.held_up_by(offenders) is None:
            assert watched.see(doing) is None
        assert watched.watch.held_up_by(offenders) == LEASE.run_id
        assert watched.watch.frozen_s == pytest.approx(limit_s, abs=POLL_S)
        watched.see(IDLE)
        assert watched.watch.held_up_by(offenders) is None


def test_a_process_learns_which_runs_are_held() -> None:
    memory = bytearray(activity.SIZE)
    activity.share(memory)
    try:
        assert activity.held_runs() == ()
        activity.hold_runs(memory, range(1, 20))
        assert activity.held_runs() == tuple(range(1, 9))
        activity.hold_runs(memory, {7})
        assert activity.held_runs() == (7,)
        activity.hold_runs(memory, ())
        assert activity.held_runs() == ()
    finally:
        activity.share(bytearray(activity.SIZE))


def test_a_supervisor_reads_what_the_loop_writes() -> None:
    memory = bytearray(activity.SIZE)
    activity.share(memory)
    try:
        activity.tick(17)
        activity.begin(LEASE)
        activity.enter(EXTRACT)
        found = activity.decode(memory)
        assert (found.worker_id, found.url_id, found.epoch, found.counter) == (17, LEASE.url_id, 3, 12)
        assert (found.visit, found.attempts, found.is_alone, found.stage_name) == (4, 2, True, "extract")
        assert found.is_watched
        assert found.is_reading
        activity.end()
        assert not activity.current().is_reading
        activity.rest()
        assert not activity.decode(memory).is_watched
    finally:
        activity.share(bytearray(activity.SIZE))
