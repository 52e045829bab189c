"""Commit, offer, ack: the order of settling where store and frontier are apart."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from smartspider.backends.cluster_ledger import ClusterLedger
from smartspider.core import failpoints
from smartspider.core.errors import FrontierUnavailable, NotArmed, StoreUnavailable
from smartspider.core.frontier.lease import FencingToken, Lease, SendWindow
from smartspider.core.frontier.updates import FrontierUpdate, QueuePosition
from smartspider.core.frontier.verdict import Close, RetryLater, Settlement, Verdict
from smartspider.core.requests.request import make_request
from smartspider.interfaces.ledger import SettleReport


class Store:
    """Keeps what it was asked, and offers a child for each page."""

    def __init__(self, log: list[str]) -> None:
        self.log = log
        self.held: set[FencingToken] | None = set()
        self.is_down = False

    async def settle(
        self, settlements: Sequence[Settlement], held: set[FencingToken] | None
    ) -> tuple[SettleReport, FrontierUpdate]:
        if self.is_down:
            raise StoreUnavailable("it is down")
        self.log.append("commit")
        self.held = held
        ended = [one.lease for one in settlements]
        return SettleReport(closed=len(ended)), FrontierUpdate(
            offered=[QueuePosition(9, "a.example", 0)], ended=ended
        )


class Frontier:
    """Holds some leases, or does not answer."""

    def __init__(self, log: list[str], *held: int) -> None:
        self.log = log
        self.tokens = {FencingToken(1, counter) for counter in held}
        self.error: FrontierUnavailable | None = None

    async def apply(self, update: FrontierUpdate) -> None:
        self.log.append(f"carry out {len(update.offered)} {len(update.ended)}")

    async def held(self, leases: Sequence[Lease]) -> set[FencingToken]:
        self.log.append(f"ask for {len(leases)}")
        if self.error is not None:
            raise self.error
        return self.tokens & {lease.token for lease in leases}


def lease(counter: int) -> Lease:
    request = make_request(f"http://a.example/{counter}")
    return Lease(FencingToken(1, counter), counter, 1, request, SendWindow(0.0, 0.0, 0.0), 60.0)


def settlement(counter: int, verdict: Verdict) -> Settlement:
    return Settlement(lease(counter), verdict)


async def test_pages_are_committed_without_asking_who_holds_them() -> None:
    """A page that came is welcome from everybody."""
    log: list[str] = []
    store = Store(log)
    report = await ClusterLedger(store, Frontier(log)).settle(
        [settlement(1, Close("done")), settlement(2, Close("redirect"))]
    )
    assert log == ["commit", "carry out 1 2"]
    assert (store.held, report.closed) == (None, 2)


@pytest.mark.parametrize(
    "verdict", [RetryLater(1.0, "timeout"), Close("dead"), Close("broken"), Close("done", is_unchanged=True)]
)
async def test_failures_count_only_of_who_holds_the_lease(verdict: Verdict) -> None:
    log: list[str] = []
    store = Store(log)
    frontier = Frontier(log, 2)
    await ClusterLedger(store, frontier).settle(
        [settlement(1, verdict), settlement(2, verdict), settlement(3, Close("done"))]
    )
    assert log == ["ask for 2", "commit", "carry out 1 3"]
    assert store.held == {FencingToken(1, 2), FencingToken(1, 3)}


@pytest.mark.parametrize("error", [FrontierUnavailable("it is away"), NotArmed("it waits")])
async def test_failures_count_when_the_frontier_does_not_say(error: FrontierUnavailable) -> None:
    log: list[str] = []
    store, frontier = Store(log), Frontier(log)
    frontier.error = error
    await ClusterLedger(store, frontier).settle([settlement(1, RetryLater(1.0, "timeout"))])
    assert store.held is None


async def test_nothing_is_acked_that_was_not_committed() -> None:
    log: list[str] = []
    store = Store(log)
    store.is_down = True
    with pytest.raises(StoreUnavailable):
        await ClusterLedger(store, Frontier(log)).settle([settlement(1, Close("done"))])
    assert log == []


async def test_a_fault_test_can_end_the_process_between_commit_and_ack() -> None:
    log: list[str] = []
    failpoints.arm(log.append)
    try:
        await ClusterLedger(Store(log), Frontier(log)).settle([settlement(1, Close("done"))])
    finally:
        failpoints.arm(None)
    assert log == ["commit", "ledger.committed", "carry out 1 1", "ledger.acked"]
    assert set(log) & set(failpoints.CLUSTER) == set(failpoints.CLUSTER) - {"ledger.offered"}
