"""The states of a run, and what is counted."""

from __future__ import annotations

from typing import get_args

import msgspec

from smartspider.core.frontier.verdict import ClosedState, UrlState
from smartspider.core.runs.run import (
    ACCEPTS_PAGES,
    LEASES_IN,
    TRANSITIONS,
    UNFINISHED,
    Counters,
    RunState,
    can_transition,
)

STATES: frozenset[RunState] = frozenset(get_args(RunState))


def test_every_state_says_what_may_follow() -> None:
    assert set(TRANSITIONS) == STATES
    assert all(after <= STATES for after in TRANSITIONS.values())


def test_no_state_follows_itself() -> None:
    assert not any(can_transition(state, state) for state in STATES)


def test_every_state_can_be_reached_from_created() -> None:
    reached: set[RunState] = {"created"}
    while more := {after for state in reached for after in TRANSITIONS[state]} - reached:
        reached |= more
    assert reached == STATES


def test_cancelled_is_the_only_end_for_good() -> None:
    assert [state for state in STATES if not TRANSITIONS[state]] == ["cancelled"]


def test_whatever_is_unfinished_can_go_on_or_be_cancelled() -> None:
    for state in UNFINISHED - {"running"}:
        assert can_transition(state, "cancelled")
        assert can_transition(state, "running") or state == "stopping"
    assert UNFINISHED.isdisjoint({"completed", "failed", "cancelled"})


def test_work_is_only_handed_out_where_it_may_be_settled() -> None:
    assert LEASES_IN <= ACCEPTS_PAGES <= UNFINISHED


def test_the_counters_know_what_is_open_and_what_failed() -> None:
    counters = Counters(total=100, done=50, redirect=5, missing=4, skipped=3, dead=2, broken=1)
    assert counters.open == 35
    assert counters.failed == 3


def test_every_closed_state_is_counted_by_its_name() -> None:
    closed = set(get_args(ClosedState))
    assert closed == set(get_args(UrlState)) - {"open"}
    assert closed <= set(Counters.__struct_fields__)
    for state in closed:
        assert msgspec.convert({"total": 1, state: 1}, Counters).open == 0
