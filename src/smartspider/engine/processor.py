"""Process one leased request, from its permit to its settlement. Read this first."""

from __future__ import annotations

import random
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

import msgspec

from smartspider.core.errors import FetchFailed, NotReadable, StoreUnavailable
from smartspider.core.failpoints import reach
from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.verdict import Settlement
from smartspider.core.functions import CRASHES, error_text, pass_interrupt
from smartspider.core.limits.waiting import FetchProgress
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Request
from smartspider.core.runs.plan import Plan
from smartspider.core.workers import activity
from smartspider.engine.link_filter import ChildRequests
from smartspider.engine.permits import GatePermit
from smartspider.engine.retry_or_close import Reading, judge
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.fetcher import Exchange, Fetcher, FetchSession


class Processed(msgspec.Struct, frozen=True):
    """A settlement, and the links to remember once it is committed."""

    settlement: Settlement
    children: ChildRequests | None


class Reader(Protocol):
    """Turns an answer into a reading: `AnswerReader`, or a wrapper around one."""

    def read(self, page: Page, request: Request) -> Reading:
        """Read an answer; raise `NotReadable` if that fails."""


AnswerExchange = Callable[[Exchange], Awaitable[Reading]]
"""Fetches and reads a page."""
LendCookies = Callable[[Exchange, AnswerExchange, Fetcher], Awaitable[Reading]]
"""Fetches and reads a page with cookies of the vault."""


class Processor:
    """Fetches, reads and judges. It writes nothing: the settlement says what to store."""

    def __init__(
        self,
        plan: Plan,
        fetcher: Fetcher,
        reader: Reader,
        permit_for: Callable[[Lease], GatePermit],
        clock: Clock,
        *,
        session: FetchSession = FetchSession(),
        lend: LendCookies | None = None,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._plan = plan
        self._session = session
        self._lend = lend
        self._fetcher = fetcher
        self._reader = reader
        self._permit_for = permit_for
        self._clock = clock
        self._redact = redact

    async def process(self, lease: Lease, progress: FetchProgress) -> Processed:
        """Return the settlement of a leased request. Raises only `StoreUnavailable`."""
        permit = self._permit_for(lease)
        started = self._clock.monotonic()
        outcome: Reading | FetchFailed
        try:
            exchange = Exchange(lease.request, permit, self._session, lease, progress)
            if self._lend is None:
                outcome = await self._answer(exchange)
            else:
                outcome = await self._lend(exchange, self._answer, self._fetcher)
        except FetchFailed as error:
            outcome = error
        except StoreUnavailable:
            raise  # the page stays open until the store is available again
        except Exception as error:  # noqa: BLE001 - a bug must cost the run no more than this page
            frame = traceback.extract_tb(error.__traceback__)[-1]
            location = f"{Path(frame.filename).name}:{frame.lineno}"
            outcome = NotReadable(f"unexpected {type(error).__name__} at {location}: {error}")
        outcome = self._redacted(outcome)
        found = outcome.children if isinstance(outcome, Reading) else None
        judgement = judge(lease, outcome, self._plan.retry, random.random())  # noqa: S311 - jitter
        return Processed(
            Settlement(
                lease,
                judgement.verdict,
                judgement.news,
                bytes_read=len(outcome.page.body) if isinstance(outcome, Reading) else 0,
                elapsed_s=self._clock.monotonic() - started,
                waited_s=permit.waited_s,
                duplicate_urls=found.duplicates if found else 0,
                sends=permit.sends,
                proxy_id=progress.proxy_id,
                cookies_id=progress.cookies_id,
            ),
            found,
        )

    async def _answer(self, exchange: Exchange) -> Reading:
        """Fetch and read a page."""
        page = await self._fetcher.fetch(exchange)
        reach("fetch.received")
        reading = self._read(page, exchange)
        reach("page.extracted")
        return reading

    def _redacted(self, outcome: Reading | FetchFailed) -> Reading | FetchFailed:
        """Return the outcome without secrets in its reason: a site may repeat what it was sent."""
        if isinstance(outcome, FetchFailed):
            outcome.message = self._redact(outcome.message)
        elif outcome.close is not None and outcome.close.state == "skipped":
            close = msgspec.structs.replace(outcome.close, reason=self._redact(outcome.close.reason))
            return msgspec.structs.replace(outcome, close=close)
        return outcome

    def _read(self, page: Page, exchange: Exchange) -> Reading:
        if exchange.lease is not None:
            activity.begin(exchange.lease)
        try:
            return self._reader.read(page, exchange.request)
        except CRASHES as error:
            if isinstance(error, Exception):
                raise
            pass_interrupt(error)  # else a plug-in wants to end the program
            raise NotReadable(f"reading the page raised {error_text(error)}") from error
        finally:
            activity.end()
