"""How fast a run is, and when it may be over."""

from __future__ import annotations

import pytest
from tests.unit.services.situations import NOW, progress

from smartspider.core.runs.run import Counters, RunState
from smartspider.services.runs.progress import Eta, error_rate, eta, min_queue_s, pages_per_s
from smartspider.store.diagnostics.progress import HostQueue, ProgressMark


def queue(queued: int, delay_s: float = 0.0, opens_in_s: float = 0.0) -> HostQueue:
    return HostQueue("a.example", queued, delay_s, NOW + opens_in_s)


def test_the_rate_is_that_of_the_last_half_minute() -> None:
    assert pages_per_s(progress(Counters(total=100, done=40), earlier=ProgressMark(NOW - 30.0, 10))) == 1.0


def test_a_run_that_went_on_lately_is_measured_from_there() -> None:
    counters = Counters(total=100, done=40)
    assert pages_per_s(progress(counters, earlier=ProgressMark(NOW - 30.0, 10), resumed_at=NOW - 10.0)) == 3.0


def test_without_an_earlier_mark_everything_counts() -> None:
    assert pages_per_s(progress(Counters(total=100, done=40), active_s=20.0, resumed_at=NOW - 20.0)) == 2.0


def test_the_first_moment_does_not_make_a_run_look_endlessly_fast() -> None:
    counters = Counters(total=9, done=1)
    assert pages_per_s(progress(counters, active_s=0.001, resumed_at=NOW - 0.001)) == 1.0


def test_what_was_skipped_is_no_page() -> None:
    counters = Counters(total=100, done=10, missing=5, redirect=5, dead=5, broken=5, skipped=60)
    assert pages_per_s(progress(counters, earlier=ProgressMark(NOW - 30.0, 0))) == 1.0


@pytest.mark.parametrize("state", ["queued", "paused", "stopped"])
def test_a_run_that_rests_is_not_moving_and_has_no_end(state: RunState) -> None:
    resting = progress(run_state=state, earlier=None)
    assert pages_per_s(resting) == 0.0
    assert eta(resting) == Eta(None, None, None)


@pytest.mark.parametrize("state", ["completed", "failed", "cancelled"])
def test_a_run_that_is_over_tells_its_average_and_needs_no_time(state: RunState) -> None:
    over = progress(Counters(total=50, done=50), run_state=state, active_s=25.0)
    assert pages_per_s(over) == 2.0
    assert eta(over) == Eta(0.0, 0.0, 0.0)


def test_the_end_is_as_far_as_what_is_open_at_the_rate_of_now() -> None:
    """60 open, 1 a second lately, 0.4 a second in all."""
    running = progress(Counters(total=100, done=40), earlier=ProgressMark(NOW - 30.0, 10), active_s=100.0)
    assert eta(running) == Eta(60.0, 60.0, 150.0)


def test_a_gate_can_be_slower_than_the_run_was() -> None:
    running = progress(
        Counters(total=100, done=40),
        earlier=ProgressMark(NOW - 30.0, 10),
        active_s=40.0,
        queues=[queue(51, 2.0)],
    )
    assert eta(running) == Eta(100.0, 100.0, 100.0)


def test_a_run_that_did_nothing_yet_only_knows_what_its_gates_need() -> None:
    idle = progress(Counters(total=60), queues=[queue(60, 1.0, opens_in_s=5.0)])
    assert eta(idle) == Eta(None, 64.0, None)


def test_a_run_that_is_being_stopped_waits_only_for_what_is_in_flight() -> None:
    stopping = progress(
        Counters(total=100, done=40),
        run_state="stopping",
        run_in_flight=4,
        earlier=ProgressMark(NOW - 30.0, 10),
        active_s=40.0,
        queues=[queue(50, 9.0)],
    )
    assert eta(stopping) == Eta(4.0, 4.0, 4.0)


def test_the_slowest_host_decides() -> None:
    assert min_queue_s([queue(10, 1.0), queue(3, 10.0), queue(1, 0.0, opens_in_s=15.0)], NOW) == 20.0
    assert min_queue_s([], NOW) == 0.0


def test_failures_are_told_as_a_share_of_what_ended() -> None:
    assert error_rate(Counters(total=100, done=6, dead=1, broken=1, skipped=50)) == 0.25
    assert error_rate(Counters(total=3)) == 0.0
