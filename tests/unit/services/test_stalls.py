"""Why a run does not move, and what to do."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.services.situations import NOW, gate, progress, situation, worker

from smartspider.core.runs.run import Counters, RunState
from smartspider.core.workers.worker import WorkerHealth, WorkerRecord
from smartspider.services.runs.closed_gates import ADVICE
from smartspider.services.runs.stall import RunSituation, find_causes
from smartspider.store.diagnostics.progress import ProgressMark
from smartspider.store.diagnostics.requests import HeldRequest
from smartspider.store.diagnostics.store import FailingHost

MOVING = ProgressMark(NOW - 30.0, 10)
STUCK = ProgressMark(NOW - 30.0, 40)


def codes(of: RunSituation) -> list[str]:
    view = find_causes(of)
    assert not view.moving, view
    assert view.summary
    assert all(cause.what and cause.advice for cause in view.causes)
    return [cause.code for cause in view.causes]


@pytest.mark.parametrize(
    ("state", "reason", "code"),
    [
        ("paused", "guard: 5 failures in a row", "paused_by_guard"),
        ("paused", "paused by ann", "paused"),
        ("stopped", "stopped by ann", "stopped"),
        ("stopping", "limit: max_pages 5 reached", "limit"),
        ("stopping", "stopped by ann", "stopping"),
        ("completed", "limit: max_pages 5 reached", "limit"),
        ("completed", "", "over"),
        ("failed", "no entry URL was fetched", "over"),
        ("cancelled", "", "over"),
    ],
)
def test_the_state_of_a_run_can_be_all_there_is_to_say(state: RunState, reason: str, code: str) -> None:
    of = progress(run_state=state, run_reason=reason, earlier=MOVING)
    assert codes(situation(gate(), of=of, workers=())) == [code]
    assert find_causes(situation(gate(), of=of)).state == state


@pytest.mark.parametrize("state", ["queued", "running"])
def test_without_workers_nothing_moves(state: RunState) -> None:
    of = progress(run_state=state, earlier=MOVING)
    assert codes(situation(gate(), of=of, workers=())) == ["no_worker"]
    assert codes(situation(gate(), of=of, workers=(worker(is_alive=False),))) == ["no_worker"]
    assert codes(situation(gate(), of=of, workers=(worker(is_draining=True),))) == ["all_draining"]
    silent = situation(gate(), of=of, workers=(worker(seen_at=NOW - 300.0),))
    assert codes(silent) == ["workers_silent"]
    assert worker().name in find_causes(silent).causes[0].what


def test_a_run_waits_for_a_worker_that_has_its_secrets() -> None:
    of = progress(earlier=MOVING)
    needs = frozenset({"http", "secret:API_KEY"})
    needy = msgspec.structs.replace(of, run=msgspec.structs.replace(of.run, needs=needs))
    (cause,) = find_causes(situation(gate(), of=needy)).causes
    assert (cause.code, "SMARTSPIDER_VAR_API_KEY" in cause.what) == ("no_capable_worker", True)
    able = worker(capabilities=needs)
    assert "no_capable_worker" not in [
        one.code for one in find_causes(situation(gate(), of=needy, workers=(able,))).causes
    ]


def test_a_run_waits_for_a_worker_that_has_its_transport() -> None:
    of = progress(earlier=MOVING)
    needy = msgspec.structs.replace(of, run=msgspec.structs.replace(of.run, needs=frozenset({"browser"})))
    (cause,) = find_causes(situation(gate(), of=needy)).causes
    assert cause.code == "no_capable_worker"
    assert "browser" in cause.what
    able = worker(capabilities=frozenset({"http", "browser"}))
    assert find_causes(situation(gate(), of=needy, workers=(worker(), able))).moving


def test_a_queued_run_waits_for_a_worker_with_a_free_slot() -> None:
    queued = progress(run_state="queued", resumed_at=None)
    assert codes(situation(gate(), of=queued)) == ["queued"]
    assert codes(situation(gate(), of=queued, workers=(worker(held=16),))) == ["workers_busy"]


@pytest.mark.parametrize("state", ["queued", "running"])
def test_workers_without_slots_are_named_at_once_however_well_it_went(state: RunState) -> None:
    of = progress(run_state=state, earlier=MOVING)
    idle = (worker(node="crawler-1", slots=0), worker(id=2, node="crawler-2", slots=0, held=1))
    view = find_causes(situation(gate(), of=of, workers=idle))
    assert not view.moving
    (cause,) = view.causes
    assert cause.code == "no_slots"
    assert "no slots (0 of 0, on crawler-1, crawler-2)" in view.summary
    assert "`smartspider node tune crawler-1 --slots " in cause.advice
    assert find_causes(situation(gate(), of=of, workers=(*idle, worker(id=3)))).causes != [cause]


def test_machines_that_are_drained_are_named() -> None:
    many = tuple(worker(id=number, node=f"crawler-{number}", is_draining=True) for number in range(5))
    assert (
        "(crawler-0, crawler-1, crawler-2 and 2 more)" in find_causes(situation(gate(), workers=many)).summary
    )


def test_other_runs_that_have_all_slots_are_told_before_the_run_stands_still() -> None:
    full = (worker(node="crawler-1", held=16), worker(id=2, node="crawler-2", slots=0))
    view = find_causes(situation(gate(), of=progress(earlier=MOVING), workers=full))
    assert view.moving
    assert "all 16 slots of the workers are in use" in view.summary
    assert "; others have none (crawler-2)" in view.summary
    held = gate(host="b.example", held_until=NOW + 60.0, opens_at=NOW + 60.0)
    of = situation(gate(), held, of=progress(earlier=STUCK), workers=full)
    assert codes(of) == ["host_held", "workers_busy"]
    assert (
        find_causes(situation(gate(), of=progress(earlier=MOVING, run_in_flight=1), workers=full)).causes
        == []
    )


def test_a_run_with_nothing_left_is_about_to_end() -> None:
    of = progress(Counters(total=5, done=5), earlier=MOVING)
    assert codes(situation(of=of)) == ["nothing_left"]


def test_a_held_host_is_named_with_its_time_also_right_after_the_last_page() -> None:
    held = gate(held_until=NOW + 60.0, opens_at=NOW + 60.0, hold_reason="429 with Retry-After")
    view = find_causes(situation(held, of=progress(earlier=MOVING)))
    assert not view.moving
    (cause,) = view.causes
    assert (cause.code, cause.hosts) == ("host_held", ["a.example"])
    assert cause.until == "1970-01-01T00:17:40.000Z"
    assert "429 with Retry-After" in view.summary


@pytest.mark.parametrize(
    ("set_by", "code"),
    [
        ("task", "host_delay"),
        ("robots.txt", "robots_delay"),
        ("adaptive", "adaptive_delay"),
        ("operator", "operator_delay"),
    ],
)
def test_a_long_delay_is_told_with_who_set_it(set_by: str, code: str) -> None:
    slow = gate(delay_s=120.0, opens_at=NOW + 100.0, set_by=set_by)
    view = find_causes(situation(slow, of=progress(earlier=STUCK)))
    assert not view.moving
    assert [cause.code for cause in view.causes] == [code]
    assert f"set by {set_by}" in view.causes[0].what


def test_a_short_delay_is_no_stall() -> None:
    polite = gate(delay_s=1.0, opens_at=NOW + 0.8, set_by="task")
    view = find_causes(situation(polite, of=progress(earlier=MOVING)))
    assert view.moving
    assert "1 pages per second" in view.summary
    assert "set by task" in view.summary


def test_one_open_gate_is_enough_to_move() -> None:
    held = gate(host="b.example", held_until=NOW + 60.0, opens_at=NOW + 60.0)
    view = find_causes(situation(gate(), held, of=progress(earlier=MOVING)))
    assert view.moving
    assert [cause.hosts for cause in view.causes] == [["b.example"]]


def test_full_gates_are_told_apart() -> None:
    of = progress(earlier=STUCK, run_in_flight=4)
    assert codes(situation(gate(in_flight=4, held=4), of=of)) == ["slow_answers", "host_full"]
    assert codes(situation(gate(in_flight=1, is_on_trial=True), of=of)) == ["slow_answers", "host_on_trial"]
    domain = gate(per_domain=2, in_flight=1, in_flight_domain=2)
    assert codes(situation(domain, of=of)) == ["slow_answers", "domain_full"]


def test_a_host_that_others_fill_stops_a_run_that_has_nothing_in_flight() -> None:
    assert codes(situation(gate(in_flight=4), of=progress(earlier=MOVING))) == ["host_full"]


def test_requests_in_flight_are_told_with_the_age_of_the_oldest() -> None:
    held = HeldRequest("http://a.example/", "a.example", "worker 1", NOW + 30.0, NOW - 25.0)
    of = progress(earlier=STUCK, run_in_flight=2)
    view = find_causes(situation(gate(), of=of, concurrency=2, oldest=[held]))
    assert [cause.code for cause in view.causes] == ["slow_answers", "concurrency_full"]
    assert all("the oldest for 25 s" in cause.what for cause in view.causes)


def test_a_run_at_its_concurrency_that_gets_answers_moves() -> None:
    view = find_causes(situation(gate(), of=progress(earlier=MOVING, run_in_flight=2), concurrency=2))
    assert view.moving
    assert view.causes[0].code == "concurrency_full"


def test_what_waits_to_be_tried_again_says_when() -> None:
    of = progress(earlier=STUCK)
    view = find_causes(situation(of=of, waiting=60, next_due_at=NOW + 42.0))
    assert [cause.code for cause in view.causes] == ["waiting_for_retry"]
    assert "in 42 s" in view.summary
    assert view.causes[0].until is not None


def test_what_waits_to_be_tried_again_names_the_host_and_what_went_wrong() -> None:
    failing = [
        FailingHost("a.example", "connect: refused by http://ann:secret@a.example/"),
        FailingHost("b.example", ""),
    ]
    view = find_causes(
        situation(of=progress(earlier=STUCK), waiting=2, next_due_at=NOW + 4.0, failing=failing)
    )
    assert "a.example failed with connect: refused" in view.summary
    assert "secret" not in view.summary
    assert view.causes[0].hosts == ["a.example", "b.example"]
    assert "failures" not in view.causes[0].advice


def test_no_advice_is_given_that_nothing_can_follow() -> None:
    assert all("resume the host" not in advice for advice in ADVICE.values())


def test_a_run_that_could_move_and_does_not_is_told_so() -> None:
    of = progress(earlier=STUCK)
    assert codes(situation(gate(), of=of)) == ["not_asked"]
    assert codes(situation(gate(), of=of, workers=(worker(held=16),))) == ["workers_busy"]


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_user_whose_requests_wait_for_slow_hosts_is_named(state: RunState) -> None:
    full = WorkerHealth(waiting=64, at_limit=frozenset({"ann", "bob"}))
    waits, others = worker(held=70, health=full), worker(id=2, health=WorkerHealth(waiting=3))
    at = progress(earlier=STUCK, run_state=state, resumed_at=None)

    def found(owner: str, *workers: WorkerRecord) -> list[str]:
        return codes(msgspec.structs.replace(situation(gate(), of=at, workers=workers), owner=owner))

    usual = "queued" if state == "queued" else "not_asked"
    assert (waits.used, others.used) == (6, 0)
    assert found("ann", waits) == ["too_many_waiting"]
    assert found("eve", waits) == found("ann", waits, others) == [usual]
    assert found("ann", waits, worker(id=3, slots=0)) == ["too_many_waiting"]


def test_a_run_that_has_just_begun_is_given_its_chance() -> None:
    of = progress(Counters(total=1), resumed_at=NOW - 1.0, earlier=ProgressMark(NOW - 30.0, 0))
    view = find_causes(situation(gate(queued=1), of=of))
    assert view.moving
    assert "just started" in view.summary


def test_what_waits_for_a_held_host_names_the_hold_first() -> None:
    held = gate(queued=0, held_until=NOW + 60.0, opens_at=NOW + 60.0, hold_reason="http 429")
    view = find_causes(situation(held, of=progress(earlier=MOVING), waiting=1, next_due_at=NOW + 60.0))
    assert not view.moving
    assert [cause.code for cause in view.causes] == ["host_held", "waiting_for_retry"]
