"""One leased request, from its permit to its settlement."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from smartspider.core import errors, failpoints
from smartspider.core.frontier.lease import FencingToken, Lease, SendWindow
from smartspider.core.frontier.verdict import Close, RetryLater, SentRequest
from smartspider.core.limits.waiting import FetchProgress
from smartspider.core.pages.extraction import Extraction, Item, Link
from smartspider.core.pages.page import Page
from smartspider.core.redaction.redactor import Redactor
from smartspider.core.requests.request import Request, make_request
from smartspider.core.requests.scope import UrlScope
from smartspider.core.runs.plan import Plan
from smartspider.engine.answer_reader import AnswerReader
from smartspider.engine.link_filter import LinkFilter
from smartspider.engine.permits import GatePermit
from smartspider.engine.processor import Processed, Processor
from smartspider.engine.runtime import LocalBus
from smartspider.interfaces.fetcher import Exchange
from smartspider.interfaces.frontier import Frontier
from smartspider_testing.clock import ManualClock

URL = "http://h.example/a"
PAGE = Page(URL, 200, {}, b"12345", "utf-8", 0.0)
ITEMS: list[Item] = [{"n": 1}]


class Gives:
    """A fetcher with one answer, that takes two seconds of a clock turned by hand."""

    def __init__(self, answer: Page | BaseException, clock: ManualClock) -> None:
        self._answer = answer
        self._clock = clock

    async def fetch(self, exchange: Exchange) -> Page:
        await exchange.permit.enter()
        exchange.permit.sent()
        await self._clock.advance(2.0)
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


class Reads:
    def __init__(self, error: Exception | None) -> None:
        self._error = error

    def engine_of(self, page: str) -> str:
        raise NotImplementedError(page)

    def extract(self, page: Page, _request: Request) -> Extraction:
        if self._error is not None:
            raise self._error
        return Extraction(ITEMS, [Link("/b", "default"), Link("/b", "default")], page.url)


async def process(
    answer: Page | BaseException, reading: Exception | None = None, redact: Callable[[str], str] = str
) -> Processed:
    clock = ManualClock(now=5_000.0, monotonic=100.0)
    plan = Plan("task", b"{}", "hash", (), {}, UrlScope(hosts=frozenset({"h.example"})))
    reader = AnswerReader(1, plan, Reads(reading), None, LinkFilter(plan, lambda _: None), bus=LocalBus())

    def permit_for(lease: Lease) -> GatePermit:
        return GatePermit(cast("Frontier", None), clock, lease.request.host, lease.window)

    window = SendWindow(100.0, 100.05, 1.0)
    lease = Lease(FencingToken(1, 1), 1, 1, make_request(URL), window, 5_060.0)
    processor = Processor(plan, Gives(answer, clock), reader, permit_for, clock, redact=redact)
    return await processor.process(lease, FetchProgress())


async def test_a_good_page_is_settled_as_done_with_what_it_cost() -> None:
    processed = await process(PAGE)
    settlement = processed.settlement
    assert settlement.verdict == Close(
        "done", status=200, items=ITEMS, children=[make_request("http://h.example/b", depth=1)]
    )
    assert (settlement.bytes_read, settlement.elapsed_s, settlement.duplicate_urls) == (5, 2.0, 1)
    assert settlement.sends == (SentRequest("h.example", 100.0, 1.0),)
    assert processed.children is not None


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (Page(URL, 404, {}, b"", "utf-8", 0.0), "missing"),
        (Page(URL, 403, {}, b"", "utf-8", 0.0), "dead"),
        (Page(URL, 301, {}, b"", "utf-8", 0.0), "dead"),
        (Page(URL, 301, {"location": "http://o.example/"}, b"", "utf-8", 0.0), "skipped"),
        (errors.RobotsDisallowed("no"), "skipped"),
        (errors.TooLarge("big"), "dead"),
        (errors.FetchFailed("cannot be written"), "dead"),
        (RuntimeError("a defect"), "broken"),
        (KeyError("x"), "broken"),
        (RecursionError(), "broken"),
    ],
    ids=repr,
)
async def test_every_outcome_gives_a_settlement(answer: Page | Exception, state: str) -> None:
    processed = await process(answer)
    verdict = processed.settlement.verdict
    assert isinstance(verdict, Close)
    assert verdict.state == state
    assert verdict.reason
    assert processed.children is None
    assert processed.settlement.elapsed_s == 2.0
    assert len(processed.settlement.sends) == 1


async def test_a_failure_that_may_pass_gives_a_retry() -> None:
    verdict = (await process(errors.TimedOut("slow"))).settlement.verdict
    assert isinstance(verdict, RetryLater)
    assert 0.0 <= verdict.delay_s < 1.0


async def test_an_unexpected_error_while_reading_costs_only_this_page() -> None:
    processed = await process(PAGE, ZeroDivisionError("oops"))
    verdict = processed.settlement.verdict
    assert isinstance(verdict, Close)
    assert verdict.state == "broken"
    assert re.fullmatch(
        r"not_readable: unexpected ZeroDivisionError at test_processor\.py:\d+: oops", verdict.reason
    )
    assert processed.settlement.bytes_read == 0


async def test_a_page_that_cannot_be_read_is_broken() -> None:
    verdict = (await process(PAGE, errors.NotReadable("binary"))).settlement.verdict
    assert verdict == Close("broken", "not_readable: binary", cause="not_readable")


async def test_a_store_that_is_away_is_no_fault_of_the_page() -> None:
    with pytest.raises(errors.StoreUnavailable):
        await process(errors.StoreUnavailable("disk full"))


async def test_a_cancelled_fetch_gives_no_verdict() -> None:
    with pytest.raises(asyncio.CancelledError):
        await process(asyncio.CancelledError())


@pytest.fixture
def reached() -> Iterator[list[str]]:
    places: list[str] = []
    failpoints.arm(places.append)
    yield places
    failpoints.arm(None)


async def test_the_fail_points_stand_between_the_steps(reached: list[str]) -> None:
    await process(PAGE)
    assert reached == ["fetch.sent", "fetch.received", "page.extracted"]


async def test_the_reason_of_a_failure_repeats_no_secret_that_the_site_repeated() -> None:
    redact = Redactor(["s3cret-value"]).text
    failed = errors.BadRedirect("the Location /x?echo=s3cret-value&token=other is not a URL")
    for processed in (await process(failed, redact=redact), await process(PAGE, failed, redact=redact)):
        verdict = processed.settlement.verdict
        assert isinstance(verdict, Close)
        assert "/x?echo=[redacted]&token=[redacted] is" in verdict.reason


async def test_the_reason_of_a_refused_redirect_repeats_no_secret() -> None:
    moved = Page(URL, 302, {"location": "http://o.example/s3cret-value?token=other"}, b"", "utf-8", 0.0)
    verdict = (await process(moved, redact=Redactor(["s3cret-value"]).text)).settlement.verdict
    assert isinstance(verdict, Close)
    assert verdict.state == "skipped"
    assert "http://o.example/[redacted]?token=[redacted]" in verdict.reason
