"""Which jumps of a wall clock are believed, and when."""

from __future__ import annotations

import pytest

from smartspider.core.clock_doubt import (
    BELIEVED_AFTER_S,
    LONG_BELIEVED_AFTER_S,
    ClockDoubt,
    ClockStatus,
    ClockStep,
    judge_clock,
)

DAY_S = 86_400.0
NOW = 1_000_000.0


@pytest.mark.parametrize("ahead_s", [0.0, 0.9, -0.9])
def test_a_clock_that_is_close_agrees(ahead_s: float) -> None:
    assert judge_clock(ahead_s, NOW, None) is None
    assert judge_clock(ahead_s, NOW, ClockDoubt(300 * DAY_S, NOW)) is None


def test_a_little_ahead_is_followed_at_once() -> None:
    assert judge_clock(30.0, NOW, None) == ClockStep(30.0)


@pytest.mark.parametrize("ahead_s", [61.0, 3600.0, 300 * DAY_S, -5.0, -DAY_S])
def test_a_jump_is_doubted_until_it_has_lasted(ahead_s: float) -> None:
    doubt = judge_clock(ahead_s, NOW, None)
    assert doubt == ClockDoubt(ahead_s, NOW)
    wait_s = LONG_BELIEVED_AFTER_S if ahead_s > 7 * DAY_S else BELIEVED_AFTER_S
    assert judge_clock(ahead_s + 0.5, NOW + wait_s - 1.0, doubt) == doubt
    assert judge_clock(ahead_s + 0.5, NOW + wait_s, doubt) == ClockStep(ahead_s + 0.5)


def test_another_jump_begins_to_wait_anew() -> None:
    doubt = ClockDoubt(3600.0, NOW)
    later = NOW + BELIEVED_AFTER_S
    assert judge_clock(7200.0, later, doubt) == ClockDoubt(7200.0, later)


def test_time_asleep_is_no_jump() -> None:
    assert judge_clock(8 * 3600.0, NOW, None, slept_s=8 * 3600.0 - 2.0) == ClockStep(8 * 3600.0)
    assert isinstance(judge_clock(300 * DAY_S, NOW, None, slept_s=8 * 3600.0), ClockDoubt)


def test_only_a_notable_doubt_is_a_problem() -> None:
    assert ClockStatus(NOW, NOW - 5.0, ClockDoubt(-5.0, NOW)).problem == ""
    assert ClockStatus(NOW, NOW, None).problem == ""
    problem = ClockStatus(NOW, NOW + 300 * DAY_S, ClockDoubt(300 * DAY_S, NOW)).problem
    assert "300 days ahead" in problem
