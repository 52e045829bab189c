"""Autoscaling decisions."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smartspider.core.workers.scaling import (
    IN_PROGRESS,
    LaneDemand,
    RunDemand,
    ScalingDecision,
    ScalingOptions,
    StabilizationWindow,
    WorkerThroughput,
    decide,
    lane_capacity,
    update_throughput,
)
from smartspider.core.workers.worker import (
    WorkerHealth,
    WorkerRange,
    WorkerRecord,
    driver_name,
    elastic_worker_name,
    worker_share,
)

LANES = st.builds(
    LaneDemand,
    host=st.sampled_from([f"h{number}.example" for number in range(6)]),
    domain=st.sampled_from(["one.example", "two.example"]),
    queued=st.integers(1, 1000),
    in_flight=st.integers(0, 8),
    delay_s=st.sampled_from([0.0, 0.1, 1.0, 30.0]),
    per_host=st.integers(1, 16),
    per_domain=st.none() | st.integers(1, 8),
    is_held=st.booleans(),
)


@st.composite
def demands(draw: st.DrawFn) -> RunDemand:
    sampled = draw(st.lists(LANES, max_size=6, unique_by=lambda lane: lane.host))
    return RunDemand(
        run_id=draw(st.integers(1, 99)),
        state=draw(st.sampled_from(["queued", "running", "paused", "stopping"])),
        open=draw(st.integers(0, 10**7)),
        concurrency=draw(st.integers(1, 500)),
        lanes=len(sampled) + (draw(st.integers(0, 1000)) if sampled else 0),
        sampled=tuple(sampled),
    )


THROUGHPUT = st.builds(
    WorkerThroughput,
    request_s=st.floats(0.001, 60.0),
    page_cpu_s=st.floats(1e-5, 1.0),
    slots=st.integers(1, 256),
)
OPTIONS = st.builds(ScalingOptions, horizon_s=st.floats(1.0, 3600.0), max_workers=st.integers(1, 500))


@given(st.lists(demands(), max_size=5), THROUGHPUT, OPTIONS)
@settings(max_examples=100, deadline=None)
def test_workers_never_exceed_what_the_gates_can_use_or_the_maximum(
    runs: list[RunDemand], throughput: WorkerThroughput, options: ScalingOptions
) -> None:
    decision = decide(runs, throughput, options)
    live = [run for run in runs if run.state in ("queued", "running") and run.open]
    capacity = sum(
        min(
            run.concurrency,
            sum(lane_capacity(lane, throughput.request_s) for lane in run.sampled) * run.weight,
        )
        for run in live
    )
    assert decision.desired <= max(1, math.ceil(capacity))
    assert decision.desired <= options.max_workers
    assert (decision.desired >= 1) == bool(live)
    assert decision.reason


@given(st.lists(demands(), min_size=1, max_size=4), THROUGHPUT, OPTIONS, st.integers(1, 10**6))
@settings(max_examples=60, deadline=None)
def test_a_larger_backlog_never_needs_fewer_workers(
    runs: list[RunDemand], throughput: WorkerThroughput, options: ScalingOptions, more: int
) -> None:
    """Queued requests are open ones, so a run without open requests has no lanes."""
    runs = [run if run.open else msgspec.structs.replace(run, lanes=0, sampled=()) for run in runs]
    grown = [msgspec.structs.replace(run, open=run.open + more) for run in runs]
    assert decide(grown, throughput, options).desired >= decide(runs, throughput, options).desired


def test_a_stricter_run_on_the_same_host_may_lower_the_number() -> None:
    """The host's gate is shared: the longer delay limits both runs, so fewer workers can be used."""
    throughput, options = WorkerThroughput(request_s=0.5, slots=1), ScalingOptions()
    fast, strict = run_of(lane()), msgspec.structs.replace(run_of(lane(delay_s=1.0)), run_id=2)
    assert decide([fast], throughput, options).desired == 4
    assert decide([fast, strict], throughput, options).desired == 1


@given(demands(), THROUGHPUT, OPTIONS)
@settings(max_examples=60, deadline=None)
def test_two_runs_on_the_same_hosts_need_no_more_than_these_allow(
    run: RunDemand, throughput: WorkerThroughput, options: ScalingOptions
) -> None:
    whole = msgspec.structs.replace(run, lanes=len(run.sampled))
    deep = tuple(msgspec.structs.replace(lane, queued=1000) for lane in whole.sampled)
    first = msgspec.structs.replace(whole, sampled=deep, concurrency=10_000)
    second = msgspec.structs.replace(first, run_id=100)
    capacity = sum(lane_capacity(lane, throughput.request_s) for lane in deep)
    assert decide([first, second], throughput, options).desired <= max(1, math.ceil(capacity))


def lane(host: str = "a.example", **more: object) -> LaneDemand:
    fields = {"domain": host, "queued": 500, "in_flight": 0, "delay_s": 0.0, "per_host": 4}
    return LaneDemand(host=host, **{**fields, **more})  # type: ignore[arg-type]  # named as they are


def run_of(*lanes: LaneDemand, open_rows: int = 10**6, concurrency: int = 1000) -> RunDemand:
    return RunDemand(1, "running", open_rows, concurrency, len(lanes), lanes)


@pytest.mark.parametrize(
    ("run", "throughput", "count", "reason"),
    [
        (
            run_of(lane()),
            WorkerThroughput(slots=2),
            2,
            "politeness allows 4 requests at a time at 1 host; one worker makes up to 2",
        ),
        (run_of(lane(), lane("b.example")), WorkerThroughput(slots=2), 4, "8 requests at a time at 2 hosts"),
        (run_of(lane(delay_s=1.0)), WorkerThroughput(slots=2), 1, "politeness allows 1 request at a time"),
        (
            run_of(lane(per_host=64), concurrency=8),
            WorkerThroughput(slots=2),
            4,
            "the concurrency of a run allows 8 requests at a time",
        ),
        (
            run_of(lane(per_host=999), open_rows=12_000),
            WorkerThroughput(request_s=0.5, slots=32),
            4,
            "12,000 pages to fetch within 60 s; one worker fetches about 64 a second",
        ),
        (
            run_of(lane(per_host=40)),
            WorkerThroughput(0.1, 0.01, 64),
            5,
            "400 pages a second take 4.0 CPU cores",
        ),
        (run_of(lane(per_host=999)), WorkerThroughput(slots=1), 256, "SMARTSPIDER_SCALE_MAX allows 256"),
        (run_of(lane(is_held=True)), WorkerThroughput(), 1, "1 host on hold"),
        (run_of(), WorkerThroughput(), 1, IN_PROGRESS),
    ],
)
def test_a_decision_states_its_reason(
    run: RunDemand, throughput: WorkerThroughput, count: int, reason: str
) -> None:
    decision = decide([run], throughput)
    assert (decision.desired, reason in decision.reason) == (count, True), decision


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (run_of(lane(), open_rows=1), "1 request at a time is enough to fetch 1 page within 60 s"),
        (run_of(lane(), open_rows=240), "2 requests at a time are enough to fetch 240 pages within 60 s"),
        (run_of(lane(), concurrency=2), "its concurrency allows 2 requests at a time"),
        (run_of(lane()), "politeness allows 4 requests at a time at 1 host"),
        (run_of(lane(is_held=True)), "1 host on hold: nothing is sent for now"),
        (run_of(), IN_PROGRESS),
    ],
)
def test_a_decision_states_the_reason_for_each_run(run: RunDemand, reason: str) -> None:
    (line,) = decide([run], WorkerThroughput()).runs
    assert line.reason == reason


def test_no_backlog_needs_no_workers() -> None:
    paused = msgspec.structs.replace(run_of(lane()), state="paused")
    over = msgspec.structs.replace(run_of(lane()), open=0)
    assert decide([paused, over], WorkerThroughput()) == ScalingDecision(0, "there is nothing to fetch")


def test_pages_that_take_much_cpu_want_no_more_workers_than_requests_may_be_in_flight() -> None:
    assert decide([run_of(lane(per_host=2))], WorkerThroughput(request_s=0.01, page_cpu_s=1.0)).desired == 2


def test_a_cap_on_a_domain_holds_for_all_its_hosts() -> None:
    hosts = [lane(f"{name}.example", domain="example", per_domain=3) for name in "abc"]
    assert decide([run_of(*hosts)], WorkerThroughput(slots=1)).desired == 3


def test_hosts_outside_the_sample_are_assumed_similar() -> None:
    run = msgspec.structs.replace(run_of(lane(), lane("b.example")), lanes=20)
    assert decide([run], WorkerThroughput(slots=1)).desired == 80


def test_a_decision_rises_at_once_and_falls_after_the_window() -> None:
    window = StabilizationWindow(60.0)
    counts = [
        window.apply(ScalingDecision(count, "why", at)).desired
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
    assert counts == [2, 5, 5, 5, 5, 3, 3, 1]


def test_a_stabilized_decision_says_so() -> None:
    window = StabilizationWindow(60.0)
    window.apply(ScalingDecision(5, "much", 0.0))
    assert (
        window.apply(ScalingDecision(1, "little", 10.0)).reason
        == "5 were desired within the last 60 s; now 1: little"
    )


def record(worker_id: int = 1, **more: object) -> WorkerRecord:
    usual: dict[str, object] = {"name": f"worker {worker_id}", "node": "box", "pid": worker_id, "version": ""}
    usual |= {"slots": 8, "held": 0, "is_draining": False, "is_alive": True, "joined_at": 0.0, "seen_at": 0.0}
    return WorkerRecord(id=worker_id, **{**usual, "cpu_s": 0.0, "memory": 0, **more})  # type: ignore[arg-type]  # as it is


def elastic(worker_id: int, driver: int, node: str = "box", **more: object) -> WorkerRecord:
    return record(
        worker_id, node=node, name=elastic_worker_name(driver, 0, worker_id), is_elastic=True, **more
    )


def test_throughput_is_measured_from_worker_health() -> None:
    before = {1: record(cpu_s=1.0, health=WorkerHealth(request_s=0.2, pages=100))}
    now = [
        record(cpu_s=3.0, health=WorkerHealth(request_s=0.2, pages=200)),
        record(2, slots=16, cpu_s=9.0, health=WorkerHealth(request_s=0.4, pages=5)),
        record(3, is_alive=False, slots=999, health=WorkerHealth(request_s=99.0)),
        record(4, slots=0),
    ]
    throughput = update_throughput(WorkerThroughput(page_cpu_s=0.04), before, now)
    assert (throughput.request_s, throughput.page_cpu_s) == pytest.approx((0.3, 0.03))
    assert throughput.slots == 12


def test_throughput_that_is_not_reported_stays() -> None:
    throughput = WorkerThroughput(1.5, 0.02, 7)
    assert update_throughput(throughput, {}, []) == throughput
    few = [record(slots=7, health=WorkerHealth(pages=3), cpu_s=50.0)]
    assert update_throughput(throughput, {1: record()}, few) == throughput


def test_drivers_divide_what_is_left_after_fixed_workers() -> None:
    workers = [record(1), record(2, is_draining=True), elastic(3, 70, "b"), elastic(4, 80, "a")]
    shares = {
        name: worker_share(name, 6, workers, WorkerRange(0, 9))
        for name in (driver_name("a", 80), driver_name("b", 70))
    }
    assert shares == {"a/80": 3, "b/70": 2}
    assert sum(shares.values()) + 1 == 6


def test_a_driver_without_workers_counts_itself() -> None:
    workers = [elastic(3, 70, "b")]
    assert worker_share("a/80", 3, workers, WorkerRange(0, 9)) == 2
    assert worker_share("b/70", 3, [*workers, elastic(4, 80, "a")], WorkerRange(0, 9)) == 1


def test_two_drivers_on_one_machine_do_not_take_each_other_for_one() -> None:
    workers = [elastic(1, 70), elastic(2, 71)]
    assert [worker_share(f"box/{driver}", 4, workers, WorkerRange(1, 8)) for driver in (70, 71)] == [2, 2]


def test_a_driver_stays_within_its_range() -> None:
    assert worker_share("a/1", 0, [], WorkerRange(1, 3)) == 1
    assert worker_share("a/1", 99, [], WorkerRange(1, 3)) == 3


@given(st.integers(0, 50), st.integers(0, 10), st.integers(1, 6))
def test_all_drivers_together_run_the_desired_number(desired: int, fixed: int, drivers: int) -> None:
    workers = [record(number) for number in range(fixed)]
    workers += [elastic(100 + number, number, f"m{number}") for number in range(drivers)]
    names = [driver_name(f"m{number}", number) for number in range(drivers)]
    shares = [worker_share(name, desired, workers, WorkerRange(0, 1000)) for name in names]
    assert sum(shares) == max(0, desired - fixed)
    assert max(shares) - min(shares) <= 1
