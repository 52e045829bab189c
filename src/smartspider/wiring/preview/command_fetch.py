"""Fetch pages for one command: politely, with robots.txt read once, each request reported on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from smartspider.core.errors import (
    ConnectFailed,
    FetchFailed,
    NameNotResolved,
    ProxyFailed,
    TimedOut,
    TlsFailed,
)
from smartspider.core.pages.page import Page
from smartspider.core.requests.addresses import AddressPolicy
from smartspider.core.requests.origins import OriginTrust
from smartspider.core.requests.politeness import PolitenessPolicy
from smartspider.core.runs.plan import Plan
from smartspider.engine.runtime import SystemClock
from smartspider.installation.secrets import SettingSecrets
from smartspider.installation.settings import read_settings
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.robots_cache import RobotsAnswer
from smartspider.services.secrets import read_secrets
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import apply_overrides, parse_task
from smartspider.wiring.preview.fetch_page import FetchContext, check_url, fetch_with

HINTS: tuple[tuple[type[FetchFailed], str], ...] = (
    (NameNotResolved, "check the host name; is this machine online?"),
    (ConnectFailed, "check that the site is up, and the port of the URL"),
    (TlsFailed, "check the certificate of the site; http:// works without one, if the site allows it"),
    (TimedOut, "the site is slow or does not answer; try again later"),
    (ProxyFailed, "check SMARTSPIDER_PROXY"),
    (FetchFailed, "try again later; `-v` shows each request"),
)
"""Hints for failed fetches that have none; the first match wins."""
_FETCH_KEYS = ("fetch", "politeness")
"""The sections of a task that decide how a page is fetched."""


class SpacedPermit:
    """A permit without a store: requests of one command to a host are one default delay apart."""

    def __init__(self, clock: Clock, last_sent: dict[str, float], host: str) -> None:
        self._clock = clock
        self._last_sent = last_sent
        self._host = host

    async def approach(self) -> None:
        """Return at once: the delay is short, so a connection may be opened now."""

    async def enter(self) -> None:
        """Wait until a delay has passed since the last request to the host."""
        last = self._last_sent.get(self._host)
        if last is not None:
            await self._clock.sleep(max(0.0, last + PolitenessPolicy().delay_s - self._clock.monotonic()))

    def sent(self) -> None:
        """Start the delay."""
        self._last_sent[self._host] = self._clock.monotonic()

    def another(self, host: str) -> SpacedPermit:
        """Return a permit for another request."""
        return SpacedPermit(self._clock, self._last_sent, host)


class CommandRobotsCache:
    """The robots.txt answers of one command."""

    def __init__(self) -> None:
        self._answers: dict[str, RobotsAnswer] = {}

    async def get_robots(self, origin: str) -> RobotsAnswer | None:
        """Return the answer of an origin."""
        return self._answers.get(origin)

    async def put_robots(self, answer: RobotsAnswer, *, host: str, crawl_delay_s: float | None) -> None:  # noqa: ARG002 - part of the interface
        """Keep an answer; the default delay applies."""
        self._answers[answer.origin] = answer


def command_plan(url: str, headers: Mapping[str, str] = {}, settings: Sequence[str] = ()) -> Plan:
    """Return the plan by which a command fetches a URL: with headers, and with those overrides
    (`a.b=JSON`) that concern fetching. Raise `RequestInvalid` or `TaskInvalid`.
    """
    document: dict[str, Any] = {"name": "command", "entry_urls": [{"urls": [check_url(url)]}]}
    if headers:
        document["fetch"] = {"headers": dict(headers)}
    about_fetching = [one for one in settings if one.strip().partition("=")[0].split(".")[0] in _FETCH_KEYS]
    return compile_task(parse_task(apply_overrides(document, about_fetching)))


class CommandFetcher:
    """Fetches pages for one command, which was given the entry of a plan: its private address is allowed, and
    credentials go to its origin only.
    """

    def __init__(
        self, plan: Plan, *, obey_robots: bool = True, report: Callable[[str], object] | None = None
    ) -> None:
        self._plan = plan
        self._entries = tuple(entry.url for entry in plan.entries)
        self._settings = read_settings()
        self._clock = SystemClock()
        self._last_sent: dict[str, float] = {}
        self._robots = CommandRobotsCache() if obey_robots and plan.politeness.obey_robots else None
        self._report = report

    async def __call__(self, url: str) -> Page:
        """Fetch a URL; raise `FetchFailed` with a hint."""
        context = FetchContext(
            self._settings,
            AddressPolicy.parse(self._settings.allow_private, self._entries),
            self._clock,
            lambda host: SpacedPermit(self._clock, self._last_sent, host),
            self._robots,
            await read_secrets(SettingSecrets(self._settings), self._plan),
            trust=OriginTrust(self._entries, named=self._plan.fetch.send_secrets_to),
            report=self._report,
        )
        try:
            return await fetch_with(context, url, self._plan.fetch.of_page(self._plan.entries[0].page))
        except FetchFailed as error:
            error.hint = error.hint or next(hint for kind, hint in HINTS if isinstance(error, kind))
            raise
