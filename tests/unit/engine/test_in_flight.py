"""What the news of a settlement does to other requests of its host."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.engine.opener import NoTransport

from smartspider.core.frontier.lease import FencingToken, Lease, SendWindow
from smartspider.core.frontier.verdict import Close, HostNews, News, Settlement
from smartspider.core.limits.waiting import FetchProgress, WaitingRequests
from smartspider.core.requests.request import make_request
from smartspider.engine.heartbeat import HealthMeter
from smartspider.engine.in_flight import InFlight
from smartspider.engine.processor import Processed
from smartspider.engine.session import Session
from smartspider.interfaces.ledger import SettleReport
from smartspider_testing.clock import ManualClock


class IdentityNews(News, frozen=True):
    """The site signed out whoever asked."""


def lease(number: int, not_before: float) -> Lease:
    window = SendWindow(not_before, not_before + 1.0, 1.0)
    return Lease(FencingToken(1, number), number, 1, make_request(f"http://h.example/{number}"), window, 60.0)


@pytest.mark.parametrize(
    ("news", "withdrawn"), [(HostNews(slow_down=True), [2]), (IdentityNews(reason="signed out"), [])]
)
async def test_only_news_of_the_host_withdraws_its_requests(news: News, withdrawn: list[int]) -> None:
    released: list[int] = []
    first_is_done = asyncio.Event()

    async def process(given: Lease, _progress: FetchProgress) -> Processed:
        if given.url_id != 1:
            await asyncio.Event().wait()
        return Processed(Settlement(given, Close("done"), (news,)), None)

    async def settle(settlements: Sequence[Settlement]) -> SettleReport:
        return SettleReport(stored=[one.lease.url_id for one in settlements])

    async def release(leases: Sequence[Lease]) -> None:
        released.extend(one.url_id for one in leases)

    job = SimpleNamespace(
        processor=SimpleNamespace(process=process), links=SimpleNamespace(admit=lambda *_: None)
    )
    opened: Any = SimpleNamespace(job=job, owner="", session=Session(transport=NoTransport()), users=0)
    context: Any = SimpleNamespace(
        clock=ManualClock(monotonic=100.0),
        ledger=SimpleNamespace(settle=settle),
        frontier=SimpleNamespace(release=release),
        bus=SimpleNamespace(publish=print),
    )
    in_flight = InFlight(context, HealthMeter(), WaitingRequests(1.0), first_is_done.set, print)
    in_flight.start(lease(1, 100.0), opened)
    in_flight.start(lease(2, 105.0), opened)
    await first_is_done.wait()
    await in_flight.settle()
    await in_flight.cancel_all()
    assert released == withdrawn
