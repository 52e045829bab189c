"""Token buckets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smartspider.core.limits.rate_limits import RateLimit, TokenBuckets, parse_rate


def test_a_burst_is_followed_by_the_rate() -> None:
    buckets = TokenBuckets(RateLimit(2.0, 3.0))
    assert [buckets.take("a", 10.0) for _ in range(5)] == [0.0, 0.0, 0.0, 0.5, 0.5]
    assert buckets.take("b", 10.0) == 0.0
    assert [buckets.take("a", 10.5), buckets.take("a", 10.5)] == [0.0, 0.5]
    assert [buckets.take("a", 100.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]


def test_more_tokens_than_are_left_are_paid_back_later() -> None:
    buckets = TokenBuckets(RateLimit(2.0, 3.0))
    assert [buckets.take("a", 10.0, 7.0), buckets.take("a", 10.0)] == [0.0, 2.5]
    assert [buckets.take("a", 12.0), buckets.take("a", 12.5), buckets.take("a", 12.5)] == [0.5, 0.0, 0.5]


def test_a_refunded_token_can_be_taken_again() -> None:
    buckets = TokenBuckets(RateLimit(0.1, 1.0))
    for _ in range(5):
        assert buckets.take("a", 0.0) == 0.0
        buckets.refund("a")
    buckets.refund("never seen")
    buckets.refund("a")
    assert [buckets.take("a", 0.0) > 0 for _ in range(2)] == [False, True]


def test_no_rate_is_no_limit() -> None:
    buckets = TokenBuckets(RateLimit(0.0, 1.0))
    assert {buckets.take("a", 0.0) for _ in range(100)} == {0.0}


def test_only_a_limited_number_of_keys_is_kept() -> None:
    buckets = TokenBuckets(RateLimit(1.0, 1.0), size=3)
    for key in range(100):
        buckets.take(key, 0.0)
    assert len(buckets) == 3
    assert buckets.take(99, 0.0) > 0


@given(st.lists(st.floats(0.0, 5.0), max_size=60), st.floats(0.1, 20.0), st.integers(1, 20))
def test_never_more_than_the_burst_and_the_rate_allow(gaps: list[float], per_s: float, burst: int) -> None:
    buckets, now, taken = TokenBuckets(RateLimit(per_s, float(burst))), 0.0, 0
    for gap in gaps:
        now += gap
        taken += buckets.take("a", now) == 0.0
    assert taken <= burst + now * per_s + 1e-6


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("500/1000", RateLimit(500, 1000)),
        ("5", RateLimit(5, 10)),
        ("0", RateLimit(0, 1)),
        (" 0.5 / 3 ", RateLimit(0.5, 3)),
    ],
)
def test_rates_are_read(text: str, rate: RateLimit) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["", "x", "-1", "5/0", "nan", "inf", "5/x", "1/2/3", "/5"])
def test_other_texts_are_no_rates(text: str) -> None:
    with pytest.raises(ValueError, match="not a rate"):
        parse_rate(text)
