"""The keeper process: one of all keepers leads and performs the duties, each at its own interval."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

from smartspider.core.cancellation import propagate_cancellation
from smartspider.core.errors import LeadershipLost, SmartSpiderError
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.leadership import Leadership, Term

TERM_S = 10.0
RENEW_SHARE = 0.3
"""Share of the term after which the leader renews it, in whole seconds, so that it coincides with duties."""
RESIGN_S = 3.0
"""Timeout of resigning: a stopping keeper does not wait for an unavailable store."""
POLL_S = 1.0
"""Interval at which a standby checks for a leader."""

log = logging.getLogger("smartspider.keeper")


def leader_name(owner: str) -> str:
    """Return a readable name for an owner `HOST:PID:...`."""
    host, _, rest = owner.partition(":")
    pid = rest.partition(":")[0]
    return f"the keeper on {host} (pid {pid})" if pid.isdecimal() else owner or "another keeper"


class Keeper:
    """Takes the lead if it is free, renews its term, and stops at once when the term ends."""

    def __init__(
        self,
        owner: str,
        leadership: Leadership,
        duties: Sequence[Duty],
        clock: Clock,
        *,
        term_s: float = TERM_S,
    ) -> None:
        self._owner = owner
        self._term_s = term_s
        self._leadership = leadership
        self._duties = duties
        self._clock = clock
        self._ends_at = 0.0
        """End of the term on this process's clock: measured from before the request, so never too late."""
        self._logged_epoch = 0
        """The term of another leader that was logged."""

    async def run(self) -> None:
        """Perform duties until cancelled; then resign, so that a standby takes over at once."""
        try:
            while True:
                term = await self._try_lead()
                if term is None:
                    await self._clock.sleep(POLL_S)
                else:
                    await self._lead(term)
        finally:
            await self._resign()

    async def _try_lead(self) -> Term | None:
        try:
            current = await self._leadership.current()
            if current is not None:
                self._stand_by(current)
                return None
            return await self._take()
        except SmartSpiderError as error:
            log.warning("cannot become leader: %s", error.message)
            return None

    def _stand_by(self, current: Term) -> None:
        if current.epoch != self._logged_epoch:
            message = "on standby: %s is the leader, term %d; this keeper takes over if it fails"
            log.info(message, leader_name(current.owner), current.epoch)
            self._logged_epoch = current.epoch

    async def _take(self) -> Term | None:
        asked_at = self._clock.monotonic()
        term = await self._leadership.take(self._owner, self._term_s)
        if term is not None:
            self._ends_at = asked_at + self._term_s
        return term

    async def _lead(self, term: Term) -> None:
        log.info("became leader, term %d", term.epoch)
        try:
            async with asyncio.TaskGroup() as group:
                timer = AlignedTimer(self._clock, group)
                for duty in self._duties:
                    group.create_task(self._repeat(duty, term, timer), name=duty.name)
                group.create_task(self._renew(term, timer), name="term")
        except* LeadershipLost as errors:
            log.warning("keeper.term_over: no longer leader: %s", errors.exceptions[0])

    async def _repeat(self, duty: Duty, term: Term, timer: AlignedTimer) -> None:
        while True:
            self._require_term(term)
            try:
                with propagate_cancellation():
                    await duty.do(term)
            except LeadershipLost as error:
                log.warning("keeper.refused: %s, term %d: %s", duty.name, term.epoch, error.message)
                raise
            except SmartSpiderError as error:
                log.warning("%s failed: %s", duty.name, error.message)
            except Exception:  # a failing duty must not stop the others
                log.exception("%s failed", duty.name)
            await timer.wait(duty.every_s)

    async def _renew(self, term: Term, timer: AlignedTimer) -> None:
        while True:
            await timer.wait(max(1.0, self._term_s * RENEW_SHARE // 1.0))
            try:
                renewed = await self._take()
            except SmartSpiderError as error:
                log.warning("cannot renew the term: %s", error.message)
                self._require_term(term)
                continue
            if renewed is None or renewed.epoch != term.epoch:
                raise LeadershipLost(f"term {term.epoch} has ended")

    def _require_term(self, term: Term) -> None:
        if self._clock.monotonic() >= self._ends_at:
            raise LeadershipLost(f"term {term.epoch} was not renewed in time")

    async def _resign(self) -> None:
        try:
            async with asyncio.timeout(RESIGN_S):
                await self._leadership.resign(self._owner)
        except (SmartSpiderError, TimeoutError) as error:
            message = error.message if isinstance(error, SmartSpiderError) else "the store does not respond"
            log.warning("cannot resign; the term expires on its own: %s", message)


SHORTEST = 0.25
"""Shortest wait, as a share of the interval."""


class AlignedTimer:
    """Wakes all waiters with the same or a multiple interval at the same time.

    A wake-up of the process costs about as much as the check it does, and calls made at the same time
    share a round trip.
    """

    def __init__(self, clock: Clock, group: asyncio.TaskGroup) -> None:
        self._clock = clock
        self._group = group
        self._pending: dict[float, asyncio.Task[None]] = {}

    @property
    def pending(self) -> list[asyncio.Task[None]]:
        """The timers that run now."""
        return list(self._pending.values())

    async def wait(self, every_s: float) -> None:
        """Wait for the next multiple of the interval, and for at least a quarter of it."""
        now = self._clock.monotonic()
        moment = (now // every_s + 1.0) * every_s
        if moment - now < every_s * SHORTEST:
            moment += every_s
        if moment not in self._pending:
            self._pending[moment] = self._group.create_task(self._sleep_until(moment))
        await asyncio.shield(self._pending[moment])

    async def _sleep_until(self, moment: float) -> None:
        try:
            await self._clock.sleep(moment - self._clock.monotonic())
        finally:
            del self._pending[moment]


class Duty(Protocol):
    """A recurring job of the leader. Doing it twice is harmless; writes that would be harmful carry the
    epoch.

    `do` returns soon or awaits often: a leader that loses its term is stopped at the next `await`.
    """

    name: str

    @property
    def every_s(self) -> float:
        """Seconds until the next time."""

    async def do(self, term: Term) -> None:
        """Do it once in the leader's term."""
