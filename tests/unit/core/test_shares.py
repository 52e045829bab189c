"""Slots are divided so that nobody is shut out by what others hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smartspider.core.limits.shares import Shares


def fill(shares: Shares, holder: str) -> int:
    """Take slots until there is no room; how many they are."""
    taken = 0
    while shares.has_room(holder):
        shares.take(holder)
        taken += 1
    return taken


@pytest.mark.parametrize(
    ("total", "expected"), [(16, [8, 4, 2, 1, 1]), (4, [2, 1, 1]), (2, [1, 1]), (1, [1])]
)
def test_a_holder_has_at_most_half_of_what_the_others_leave(total: int, expected: list[int]) -> None:
    shares = Shares(total)
    assert [fill(shares, f"user {number}") for number in range(len(expected))] == expected
    assert shares.in_use == total
    assert not shares.has_room("one more")


def test_the_reserve_is_for_those_who_hold_nothing() -> None:
    shares = Shares(2, reserve=3)
    assert [fill(shares, name) for name in "abcdef"] == [1, 1, 1, 1, 1, 0]
    assert not shares.has_room("a")


def test_a_slot_that_is_given_back_is_free_for_others() -> None:
    shares = Shares(2)
    fill(shares, "a")
    fill(shares, "b")
    shares.give_back("a")
    assert (shares.in_use, shares.held_by("a"), shares.has_room("c"), shares.has_room("b")) == (
        1,
        0,
        True,
        False,
    )


def test_the_one_with_the_fewest_slots_is_next_and_then_the_one_served_longest_ago() -> None:
    shares = Shares(8)
    for holder in ("a", "a", "b"):
        shares.take(holder)
    assert shares.next_of(["a", "b", "c", "d"]) == 2
    assert shares.next_of(["a", "b", "b"]) == 1
    shares.give_back("b")
    assert shares.next_of(["b", "b", "c", "c"]) == 2
    assert shares.next_of([]) is None
    assert Shares(0).next_of(["a"]) is None


@given(st.integers(1, 40), st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans()), max_size=200))
def test_a_newcomer_always_finds_room_while_others_hold_more_than_one(
    total: int, steps: list[tuple[str, bool]]
) -> None:
    shares = Shares(total)
    for holder, is_taking in steps:
        if is_taking and shares.has_room(holder):
            before = shares.in_use
            was_first = shares.held_by(holder) == 0
            shares.take(holder)
            assert before < total
            assert was_first or shares.in_use < total  # a second slot is never the last one
        elif not is_taking and shares.held_by(holder):
            shares.give_back(holder)
        assert shares.in_use == sum(shares.held_by(name) for name in "abcdefgh") <= total
