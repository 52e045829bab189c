"""Delays: back-off, Retry-After and politeness."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smartspider.core.pages.page import retry_after_s
from smartspider.core.requests import politeness
from smartspider.core.requests.politeness import (
    PolitenessPolicy,
    circuit_hold_s,
    decreased_delay_s,
    increased_delay_s,
    window_length_s,
)
from smartspider.core.runs.plan import DEFAULT_ON_STATUS, RetryPolicy

NOW = 1_700_000_000.0
CHANCE = st.floats(0.0, 1.0, exclude_max=True)
SECONDS = st.floats(0.0, 1e6)


@given(st.integers(1, 10**9), CHANCE, st.floats(0.0, 1e4), st.floats(0.0, 1e5))
def test_the_jitter_is_full_and_the_cap_holds_for_any_number_of_failures(
    failures: int, chance: float, backoff_s: float, cap_s: float
) -> None:
    delay_s = RetryPolicy(backoff_s=backoff_s, max_backoff_s=cap_s).delay_s(failures, chance)
    assert 0.0 <= delay_s <= cap_s
    assert math.isfinite(delay_s)


def test_the_back_off_doubles_up_to_the_cap() -> None:
    policy = RetryPolicy(backoff_s=1.0, max_backoff_s=10.0)
    assert [policy.delay_s(failures, 0.5) for failures in (1, 2, 3, 4, 5, 99)] == [
        0.5,
        1.0,
        2.0,
        4.0,
        5.0,
        5.0,
    ]
    assert policy.delay_s(3, 0.0) == 0.0


def test_attempts_are_counted_with_the_first() -> None:
    assert [RetryPolicy(max_attempts=2).is_exhausted(failures) for failures in (0, 1, 2, 3)] == [
        *(False, False, True, True)
    ]
    assert RetryPolicy(max_attempts=1).is_exhausted(1)


def test_answers_that_say_no_are_not_asked_again_by_default() -> None:
    assert {429, 500, 503}.issubset(DEFAULT_ON_STATUS)
    assert not {200, 301, 304, 401, 403, 404, 410, 501}.intersection(DEFAULT_ON_STATUS)


def date(at: float) -> str:
    return format_datetime(datetime.fromtimestamp(at, UTC), usegmt=True)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 7 ", 7.0),
        ("0", 0.0),
        ("1.5", 1.5),
        (date(NOW + 90), 90.0),
        (date(NOW - 90), 0.0),
        ("Tue, 14 Nov 2023 22:13:50", 30.0),
        ("Tue, 14 Nov 2023 23:13:50 +0100", 30.0),
        *(
            (rubbish, None)
            for rubbish in ("", " ", "-5", "soon", "1e3", "1.2.3", "٣", "12, 12", "Tue, 99 Nov 2023", "∞")
        ),
        (None, None),
    ],
)
def test_retry_after_in_seconds_and_as_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after_s(value, NOW) == seconds


@given(
    st.text(max_size=40)
    | st.from_regex(r"\w{3}, \d{1,2} \w{3} \d{2,4} \d\d:\d\d:\d\d [+-]?\w{1,5}", fullmatch=True)
)
def test_no_header_breaks_anything_or_asks_for_less_than_nothing(value: str) -> None:
    seconds = retry_after_s(value, NOW)
    assert seconds is None or seconds >= 0.0


def test_the_spacing_is_the_larger_of_delay_and_rate() -> None:
    assert PolitenessPolicy(delay_s=0.5).spacing_s == 0.5
    assert PolitenessPolicy(delay_s=0.5, rate_per_s=1.0).spacing_s == 1.0
    assert PolitenessPolicy(delay_s=0.5, rate_per_s=10.0).spacing_s == 0.5
    assert PolitenessPolicy(delay_s=0.0).spacing_s == 0.0


@given(SECONDS)
def test_a_window_is_short_but_never_too_short_to_hit(delay_s: float) -> None:
    assert politeness.WINDOW_MIN_S <= window_length_s(delay_s) <= politeness.WINDOW_MAX_S


@given(st.floats(0.0, politeness.ADAPTIVE_MAX_S), SECONDS)
def test_an_overloaded_host_is_slowed_down_at_once(adaptive_s: float, delay_s: float) -> None:
    slower = increased_delay_s(adaptive_s, delay_s)
    assert slower >= min(max(adaptive_s * 2, politeness.ADAPTIVE_FIRST_S), politeness.ADAPTIVE_MAX_S)
    assert slower <= politeness.ADAPTIVE_MAX_S


def test_a_slowed_host_recovers_in_small_steps_until_nothing_is_left() -> None:
    adaptive_s, steps = politeness.ADAPTIVE_MAX_S, 0
    while adaptive_s:
        faded = decreased_delay_s(adaptive_s)
        assert faded < adaptive_s
        adaptive_s, steps = faded, steps + 1
    assert steps > 10
    assert decreased_delay_s(0.0) == 0.0


def test_a_circuit_holds_twice_as_long_each_time_up_to_a_cap() -> None:
    first_s, most_s = politeness.CIRCUIT_FIRST_S, politeness.CIRCUIT_MAX_S
    assert [circuit_hold_s(openings) for openings in (0, 1, 2)] == [first_s, 2 * first_s, 4 * first_s]
    assert circuit_hold_s(20) == circuit_hold_s(10_000) == most_s


@pytest.mark.parametrize("value", ["Mon, 01 Jan 99999999999999999999 00:00:00 GMT", "9" * 400])
def test_an_absurd_retry_after_is_no_answer(value: str) -> None:
    assert retry_after_s(value, 0.0) is None
