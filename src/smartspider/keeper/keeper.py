"""One of all keepers leads. While it does, each duty is done at its own pace."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from smartspider.core.cancellation import propagate_cancellation
from smartspider.core.errors import LeadershipLost, SmartSpiderError
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.leadership import Leadership, Term
from smartspider.keeper.aligned_timer import AlignedTimer
from smartspider.keeper.duty import Duty

TERM_S = 10.0
RENEW_SHARE = 0.3
"""The part of its term after which a leader prolongs it, in whole seconds: other duties are done then."""
RESIGN_S = 3.0
"""Who wants to leave does not wait for a store that is away."""
POLL_S = 1.0
"""How often a keeper that does not lead looks whether somebody does."""

log = logging.getLogger("smartspider.keeper")


def leader_name(owner: str) -> str:
    """Who leads, for people: `HOST:PID:...` names a process."""
    host, _, rest = owner.partition(":")
    pid = rest.partition(":")[0]
    return f"the keeper on {host} (pid {pid})" if pid.isdecimal() else owner or "another one"


class Keeper:
    """Takes the lead when nobody has it, prolongs its term, and stops at once when that is over."""

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
        """Of the term, by this process's own clock: asked for before it was granted, so never too late."""
        self._logged_epoch = 0
        """The term of another one that was told of: once is enough."""

    async def run(self) -> None:
        """Keep house until cancelled; then resign, so that the next one need not wait."""
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
            log.warning("the lead cannot be taken: %s", error.message)
            return None

    def _stand_by(self, current: Term) -> None:
        if current.epoch != self._logged_epoch:
            message = "standing by: %s leads, term %d; this keeper takes over when that one is gone"
            log.info(message, leader_name(current.owner), current.epoch)
            self._logged_epoch = current.epoch

    async def _take(self) -> Term | None:
        asked_at = self._clock.monotonic()
        term = await self._leadership.take(self._owner, self._term_s)
        if term is not None:
            self._ends_at = asked_at + self._term_s
        return term

    async def _lead(self, term: Term) -> None:
        log.info("leading, term %d", term.epoch)
        try:
            async with asyncio.TaskGroup() as group:
                timer = AlignedTimer(self._clock, group)
                for duty in self._duties:
                    group.create_task(self._repeat(duty, term, timer), name=duty.name)
                group.create_task(self._renew(term, timer), name="term")
        except* LeadershipLost as errors:
            log.warning("keeper.term_over: leading no more: %s", errors.exceptions[0])

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
            except Exception:  # one duty that fails must not stop the others
                log.exception("%s failed", duty.name)
            await timer.wait(duty.every_s)

    async def _renew(self, term: Term, timer: AlignedTimer) -> None:
        while True:
            await timer.wait(max(1.0, self._term_s * RENEW_SHARE // 1.0))
            try:
                renewed = await self._take()
            except SmartSpiderError as error:
                log.warning("the term cannot be prolonged: %s", error.message)
                self._require_term(term)
                continue
            if renewed is None or renewed.epoch != term.epoch:
                raise LeadershipLost(f"term {term.epoch} is over")

    def _require_term(self, term: Term) -> None:
        if self._clock.monotonic() >= self._ends_at:
            raise LeadershipLost(f"term {term.epoch} was not prolonged in time")

    async def _resign(self) -> None:
        try:
            async with asyncio.timeout(RESIGN_S):
                await self._leadership.resign(self._owner)
        except (SmartSpiderError, TimeoutError) as error:
            message = error.message if isinstance(error, SmartSpiderError) else "the store does not answer"
            log.warning("the lead cannot be given up, it ends by itself: %s", message)
