"""How many workers are wanted, as a pure rule."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smartspider.core.crews import Span, driver_name, elastic_name, share_of
from smartspider.core.scaling import (
    Aims,
    Figure,
    LaneDemand,
    Pace,
    RunDemand,
    Steady,
    desired,
    measured,
    room,
)
from smartspider.core.workers import Form, WorkerRecord

LANES = st.builds(
    LaneDemand,
    host=st.sampled_from([f"h{number}.example" for number in range(6)]),
    domain=st.sampled_from(["one.example", "two.example"]),
    queued=st.integers(1, 1000),
    flying=st.integers(0, 8),
    delay_s=st.sampled_from([0.0, 0.1, 1.0, 30.0]),
    per_host=st.integers(1, 16),
    per_domain=st.none() | st.integers(1, 8),
    is_held=st.booleans(),
)


@st.composite
def demands(draw: st.DrawFn) -> RunDemand:
    looked = draw(st.lists(LANES, max_size=6, unique_by=lambda lane: lane.host))
    return RunDemand(
        run_id=draw(st.integers(1, 99)),
        state=draw(st.sampled_from(["queued", "running", "paused", "stopping"])),
        open=draw(st.integers(0, 10**7)),
        concurrency=draw(st.integers(1, 500)),
        lanes=len(looked) + (draw(st.integers(0, 1000)) if looked else 0),
        looked=tuple(looked),
    )


PACES = st.builds(
    Pace,
    request_s=st.floats(0.001, 60.0),
    page_cpu_s=st.floats(1e-5, 1.0),
    slots=st.integers(1, 256),
)
AIMS = st.builds(Aims, horizon_s=st.floats(1.0, 3600.0), most=st.integers(1, 500))


@given(st.lists(demands(), max_size=5), PACES, AIMS)
@settings(max_examples=100, deadline=None)
def test_there_are_never_more_than_the_gates_can_use_nor_than_the_most(
    runs: list[RunDemand], pace: Pace, aims: Aims
) -> None:
    figure = desired(runs, pace, aims)
    live = [run for run in runs if run.state in ("queued", "running") and run.open]
    through = sum(
        min(run.concurrency, sum(room(lane, pace.request_s) for lane in run.looked) * run.weight)
        for run in live
    )
    assert figure.desired <= max(1, math.ceil(through))
    assert figure.desired <= aims.most
    assert (figure.desired >= 1) == bool(live)
    assert figure.reason


@given(st.lists(demands(), min_size=1, max_size=4), PACES, AIMS, st.integers(1, 10**6))
@settings(max_examples=60, deadline=None)
def test_a_larger_backlog_never_wants_fewer(runs: list[RunDemand], pace: Pace, aims: Aims, more: int) -> None:
    grown = [msgspec.structs.replace(run, open=run.open + more) for run in runs]
    assert desired(grown, pace, aims).desired >= desired(runs, pace, aims).desired


@given(demands(), PACES, AIMS)
@settings(max_examples=60, deadline=None)
def test_two_runs_at_the_same_hosts_want_no_more_than_these_let_through(
    run: RunDemand, pace: Pace, aims: Aims
) -> None:
    whole = msgspec.structs.replace(run, lanes=len(run.looked))
    deep = tuple(msgspec.structs.replace(lane, queued=1000) for lane in whole.looked)
    first = msgspec.structs.replace(whole, looked=deep, concurrency=10_000)
    second = msgspec.structs.replace(first, run_id=100)
    through = sum(room(lane, pace.request_s) for lane in deep)
    assert desired([first, second], pace, aims).desired <= max(1, math.ceil(through))


def lane(host: str = "a.example", **more: object) -> LaneDemand:
    fields = {"domain": host, "queued": 500, "flying": 0, "delay_s": 0.0, "per_host": 4}
    return LaneDemand(host=host, **{**fields, **more})  # type: ignore[arg-type]  # named as they are


def run_of(*lanes: LaneDemand, open_rows: int = 10**6, concurrency: int = 1000) -> RunDemand:
    return RunDemand(1, "running", open_rows, concurrency, len(lanes), lanes)


@pytest.mark.parametrize(
    ("run", "pace", "count", "reason"),
    [
        (
            run_of(lane()),
            Pace(slots=2),
            2,
            "politeness allows 4 requests at a time at 1 host; one worker makes up to 2",
        ),
        (run_of(lane(), lane("b.example")), Pace(slots=2), 4, "8 requests at a time at 2 hosts"),
        (run_of(lane(delay_s=1.0)), Pace(slots=2), 1, "politeness allows 1 request at a time"),
        (
            run_of(lane(per_host=64), concurrency=8),
            Pace(slots=2),
            4,
            "the concurrency of a run allows 8 requests at a time",
        ),
        (
            run_of(lane(per_host=999), open_rows=12_000),
            Pace(request_s=0.5, slots=32),
            4,
            "12,000 pages to fetch within 60 s; one worker fetches about 64 a second",
        ),
        (run_of(lane(per_host=40)), Pace(0.1, 0.01, 64), 5, "400 pages a second take 4.0 CPU cores"),
        (run_of(lane(per_host=999)), Pace(slots=1), 256, "SMARTSPIDER_SCALE_MAX allows 256"),
        (run_of(lane(is_held=True)), Pace(), 1, "nothing may be sent to 1 host for now"),
        (run_of(), Pace(), 1, "what is left is being fetched, or waits for its time"),
    ],
)
def test_a_figure_says_why(run: RunDemand, pace: Pace, count: int, reason: str) -> None:
    figure = desired([run], pace)
    assert (figure.desired, reason in figure.reason) == (count, True), figure


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (run_of(lane(), open_rows=1), "1 request at a time is enough to fetch 1 page within 60 s"),
        (run_of(lane(), open_rows=240), "2 requests at a time are enough to fetch 240 pages within 60 s"),
        (run_of(lane(), concurrency=2), "its concurrency allows 2 requests at a time"),
        (run_of(lane()), "politeness allows 4 requests at a time at 1 host"),
        (run_of(lane(is_held=True)), "nothing may be sent to 1 host for now: held back"),
        (run_of(), "what is left is being fetched, or waits for its time"),
    ],
)
def test_a_figure_says_why_of_each_run(run: RunDemand, reason: str) -> None:
    (line,) = desired([run], Pace()).runs
    assert line.reason == reason


def test_nothing_to_do_wants_nobody() -> None:
    paused = msgspec.structs.replace(run_of(lane()), state="paused")
    over = msgspec.structs.replace(run_of(lane()), open=0)
    assert desired([paused, over], Pace()) == Figure(0, "nothing is to be fetched")


def test_pages_that_take_much_cpu_want_no_more_workers_than_requests_may_be_in_flight() -> None:
    assert desired([run_of(lane(per_host=2))], Pace(request_s=0.01, page_cpu_s=1.0)).desired == 2


def test_a_cap_on_a_domain_holds_for_all_its_hosts() -> None:
    hosts = [lane(f"{name}.example", domain="example", per_domain=3) for name in "abc"]
    assert desired([run_of(*hosts)], Pace(slots=1)).desired == 3


def test_hosts_that_were_not_looked_at_are_taken_to_be_alike() -> None:
    run = msgspec.structs.replace(run_of(lane(), lane("b.example")), lanes=20)
    assert desired([run], Pace(slots=1)).desired == 80


def test_a_figure_rises_at_once_and_falls_after_some_calm() -> None:
    steady = Steady(60.0)
    told = [
        steady.take(Figure(count, "why", at)).desired
        for at, count in [
            (0.0, 2),
            (5.0, 5),
            (10.0, 1),
            (30.0, 3),
            (64.0, 1),
            (65.0, 1),
            (89.0, 1),
            (91.0, 1),
        ]
    ]
    assert told == [2, 5, 5, 5, 5, 3, 3, 1]


def test_a_figure_that_is_held_up_says_so() -> None:
    steady = Steady(60.0)
    steady.take(Figure(5, "much", 0.0))
    assert (
        steady.take(Figure(1, "little", 10.0)).reason == "5 were wanted within the last 60 s; now 1: little"
    )


def record(worker_id: int = 1, **more: object) -> WorkerRecord:
    usual: dict[str, object] = {"name": f"worker {worker_id}", "node": "box", "pid": worker_id, "version": ""}
    usual |= {"slots": 8, "held": 0, "is_draining": False, "is_alive": True, "joined_at": 0.0, "seen_at": 0.0}
    return WorkerRecord(id=worker_id, **{**usual, "cpu_s": 0.0, "memory": 0, **more})  # type: ignore[arg-type]  # as it is


def elastic(worker_id: int, driver: int, node: str = "box", **more: object) -> WorkerRecord:
    return record(worker_id, node=node, name=elastic_name(driver, 0, worker_id), is_elastic=True, **more)


def test_the_pace_is_measured_from_what_workers_say() -> None:
    before = {1: record(cpu_s=1.0, form=Form(request_s=0.2, pages=100))}
    now = [
        record(cpu_s=3.0, form=Form(request_s=0.2, pages=200)),
        record(2, slots=16, cpu_s=9.0, form=Form(request_s=0.4, pages=5)),
        record(3, is_alive=False, slots=999, form=Form(request_s=99.0)),
        record(4, slots=0),
    ]
    pace = measured(Pace(page_cpu_s=0.04), before, now)
    assert (pace.request_s, pace.page_cpu_s) == pytest.approx((0.3, 0.03))
    assert pace.slots == 12


def test_a_pace_nobody_tells_stays() -> None:
    pace = Pace(1.5, 0.02, 7)
    assert measured(pace, {}, []) == pace
    few = [record(slots=7, form=Form(pages=3), cpu_s=50.0)]
    assert measured(pace, {1: record()}, few) == pace


def test_drivers_divide_what_is_left_after_fixed_workers() -> None:
    workers = [record(1), record(2, is_draining=True), elastic(3, 70, "b"), elastic(4, 80, "a")]
    shares = {
        name: share_of(name, 6, workers, Span(0, 9)) for name in (driver_name("a", 80), driver_name("b", 70))
    }
    assert shares == {"a/80": 3, "b/70": 2}
    assert sum(shares.values()) + 1 == 6


def test_a_driver_that_has_nobody_yet_counts_itself() -> None:
    workers = [elastic(3, 70, "b")]
    assert share_of("a/80", 3, workers, Span(0, 9)) == 2
    assert share_of("b/70", 3, [*workers, elastic(4, 80, "a")], Span(0, 9)) == 1


def test_two_drivers_on_one_machine_do_not_take_each_other_for_one() -> None:
    workers = [elastic(1, 70), elastic(2, 71)]
    assert [share_of(f"box/{driver}", 4, workers, Span(1, 8)) for driver in (70, 71)] == [2, 2]


def test_a_driver_stays_within_its_span() -> None:
    assert share_of("a/1", 0, [], Span(1, 3)) == 1
    assert share_of("a/1", 99, [], Span(1, 3)) == 3


@given(st.integers(0, 50), st.integers(0, 10), st.integers(1, 6))
def test_all_drivers_together_have_what_is_wanted(figure: int, fixed: int, drivers: int) -> None:
    workers = [record(number) for number in range(fixed)]
    workers += [elastic(100 + number, number, f"m{number}") for number in range(drivers)]
    names = [driver_name(f"m{number}", number) for number in range(drivers)]
    shares = [share_of(name, figure, workers, Span(0, 1000)) for name in names]
    assert sum(shares) == max(0, figure - fixed)
    assert max(shares) - min(shares) <= 1
