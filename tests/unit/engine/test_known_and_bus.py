"""What a worker remembers, and how it tells others what happened."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smartspider.core.events import Event, RunEnded
from smartspider.dedup.memory import RecentSet
from smartspider.engine.runtime import LocalBus

ENDED = RunEnded(1, "completed", "")


@given(st.integers(1, 8), st.lists(st.integers(0, 30)))
def test_the_last_values_are_remembered_and_old_ones_forgotten(capacity: int, values: list[int]) -> None:
    recent: RecentSet[int] = RecentSet(capacity)
    recent.update(values)
    newest = list(dict.fromkeys(reversed(values)))
    assert all(value in recent for value in newest[:capacity])
    assert sum(value in recent for value in newest) < 2 * capacity
    assert 99 not in recent


def test_everything_can_be_forgotten() -> None:
    recent: RecentSet[str] = RecentSet(2)
    recent.update("abc")
    recent.clear()
    assert not any(value in recent for value in "abc")


def test_subscribers_hear_events_in_order_from_when_they_came() -> None:
    bus, early, late = LocalBus(), list[Event](), list[Event]()
    bus.subscribe(early.append)
    bus.publish(ENDED)
    bus.subscribe(late.append)
    other = RunEnded(2, "failed", "x")
    bus.publish(other)
    assert early == [ENDED, other]
    assert late == [other]


def test_a_subscriber_that_fails_is_dropped_with_a_logged_reason(caplog: pytest.LogCaptureFixture) -> None:
    bus, heard, calls = LocalBus(), list[Event](), list[Event]()

    def failing(event: Event) -> None:
        calls.append(event)
        raise RuntimeError("disk full")

    bus.subscribe(failing)
    bus.subscribe(heard.append)
    with caplog.at_level(logging.ERROR):
        bus.publish(ENDED)
        bus.publish(ENDED)
    assert len(calls) == 1
    assert heard == [ENDED, ENDED]
    assert "disk full" in caplog.text


def test_publishing_to_nobody_is_fine() -> None:
    LocalBus().publish(ENDED)
