"""Requests that wait take no slot of a worker, within limits."""

from __future__ import annotations

from itertools import count

import pytest

from smartspider.core.frontier.lease import FencingToken
from smartspider.core.limits.waiting import WAITING_BYTES, WAITING_PER_SLOT, FetchProgress, WaitingRequests
from smartspider_testing.clock import ManualClock

SLOTS = 8
ALONE = SLOTS * WAITING_PER_SLOT // 2


class Requests:
    """Requests in flight, on a clock of their own."""

    def __init__(self) -> None:
        self.clock = ManualClock(monotonic=100.0)
        self.waiting = WaitingRequests(1.0)
        self._numbers = count()

    def start(self, owner: str, number: int = 1, begins_in_s: float = 0.0) -> FetchProgress:
        """Start requests that wait; return the progress of the last one."""
        for _ in range(number):
            progress, token = FetchProgress(), FencingToken(1, next(self._numbers))
            progress.only_waits = True
            self.waiting.start(token, self.clock.monotonic() + begins_in_s, owner, progress)
        return progress

    def end(self, number: int = 1) -> None:
        """End the requests that were started first."""
        for place in range(number):
            self.waiting.end(FencingToken(1, place))

    @property
    def at_limit(self) -> set[str]:
        return set(self.waiting.owners_at_limit(SLOTS, self.clock.monotonic()))

    @property
    def count(self) -> int:
        return self.waiting.count(SLOTS, self.clock.monotonic())


@pytest.fixture
def requests() -> Requests:
    return Requests()


async def test_a_request_waits_without_a_slot_a_second_after_its_window_began(requests: Requests) -> None:
    requests.start("ann")
    requests.start("ann", begins_in_s=0.25)
    counts = []
    for step_s in (0.0, 0.9, 0.2, 0.2):
        await requests.clock.advance(step_s)
        counts.append(requests.count)
    assert counts == [0, 0, 1, 2]
    requests.end()
    assert requests.count == 1


async def test_a_request_whose_transport_works_keeps_its_slot(requests: Requests) -> None:
    progress = requests.start("ann", ALONE)
    progress.only_waits = False
    await requests.clock.advance(1.0)
    assert (requests.count, requests.at_limit) == (ALONE - 1, set())
    progress.only_waits = True
    assert (requests.count, requests.at_limit) == (ALONE, {"ann"})


async def test_an_owner_may_have_half_of_what_the_others_leave_free(requests: Requests) -> None:
    requests.start("bob", ALONE + 1)
    requests.start("ann", (ALONE - 1) // 2 - 1)
    await requests.clock.advance(1.0)
    assert requests.at_limit == {"bob"}
    requests.start("ann")
    await requests.clock.advance(1.0)
    assert requests.at_limit == {"ann", "bob"}
    requests.end(ALONE // 2)
    assert requests.at_limit == set()


async def test_beyond_the_total_requests_that_wait_take_slots(requests: Requests) -> None:
    for number in range(2 * WAITING_PER_SLOT):
        requests.start(f"user {number}", SLOTS)
    await requests.clock.advance(1.0)
    assert requests.count == SLOTS * WAITING_PER_SLOT


async def test_bodies_that_grow_are_limited_in_bytes(requests: Requests) -> None:
    progress, other = requests.start("ann"), requests.start("bob")
    await requests.clock.advance(1.0)
    progress.received = WAITING_BYTES // 2 - 1
    assert requests.at_limit == set()
    other.received = 2
    assert requests.at_limit == {"ann"}
    requests.end()
    assert requests.at_limit == set()
