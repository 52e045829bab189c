"""Check cookies of logins while they are used, and tell when a site no longer knows one."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import msgspec

from smartspider.core.cookies.sets import CookieSet
from smartspider.core.datetimes import format_time
from smartspider.core.errors import SmartSpiderError
from smartspider.core.notifications import NotificationEvent
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.leadership import Term
from smartspider.keeper.messages import MemoryOutbox
from smartspider.store.cookie_sets import CookieSetStore

log = logging.getLogger("smartspider.keeper")

CHECK_EVERY_S = 300.0
USED_WITHIN_S = 3600.0
"""Sets that nobody used for so long are not checked."""
MANY = 20
"""Sets that are checked in one go."""

CheckSet = Callable[[int], Awaitable[CookieSet]]
"""Fetches the page that a set is checked with, and returns the set as it is then."""


class CookieNotification(msgspec.Struct, frozen=True):
    """A notification about cookies, without its id; `run` is empty, for readers that expect the key."""

    event: NotificationEvent
    at: str
    cookies: str
    reason: str
    run: dict[str, str] = {}


class CheckCookies:
    """Checks the sets that have a page for it, every five minutes while they are used."""

    name, every_s = "cookies", 30.0

    def __init__(self, cookies: CookieSetStore, check: CheckSet, outbox: MemoryOutbox, clock: Clock) -> None:
        self._cookies, self._check, self._outbox, self._clock = cookies, check, outbox, clock

    async def do(self, term: Term) -> None:
        """Check what is due, and deliver messages."""
        now = self._clock.now()
        for id_ in await self._cookies.to_check(now - CHECK_EVERY_S, now - USED_WITHIN_S, MANY):
            try:
                found = await self._check(id_)
            except SmartSpiderError as error:
                log.warning("cookies %d cannot be checked: %s", id_, error.message)
                continue
            if found.state == "invalid":
                log.error("cookies.invalid: %s are set aside: %s", found.title, found.reason)
                data = CookieNotification("cookies.invalid", format_time(now), str(id_), found.reason)
                await self._outbox.put("cookies.invalid", f"{term.epoch}-{id_}", msgspec.json.encode(data))
        await self._outbox.deliver()
