"""Sending committed updates to the frontier, with bounded retries."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from smartspider.backends.redis.calls import LANE_CAP, due, host_calls, lease_calls, offer_calls
from smartspider.backends.redis.shards import Call, Shards
from smartspider.core.errors import SmartSpiderError
from smartspider.core.failpoints import reach
from smartspider.core.frontier.updates import FrontierUpdate
from smartspider.interfaces.clock import Clock

TIMEOUT_S = 60.0
"""As long as a lease: a shard that is not reached by then is updated by the keeper."""
SHARED_TIMEOUT_S = 1.0
"""The same with several shards: while one is waited for, the others wait too."""
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 0.5

ARGS_OF_END = {"ack": 3, "release": 3, "postpone": 5}
"""Number of arguments per lease in calls that end leases."""

log = logging.getLogger(__name__)


class UpdateSender:
    """Sends calls until they are answered. A shard that was given up gets one attempt
    until it answers again.
    """

    def __init__(self, shards: Shards, clock: Clock, *, cap: int = LANE_CAP) -> None:
        self._shards = shards
        self._clock = clock
        self._cap = cap
        self._given_up: set[int] = set()

    async def apply(self, update: FrontierUpdate) -> None:
        """Send gates and offers first; leases end once all reachable shards have these."""
        before = host_calls(self._shards, update.hosts)
        before += offer_calls(self._shards, update.offered, self._cap)
        ends = lease_calls(
            self._shards,
            "postpone",
            [(lease, (place.rank, due(place))) for lease, place in update.postponed],
        )
        ends += lease_calls(self._shards, "release", [(lease, ()) for lease in update.released])
        ends += lease_calls(self._shards, "ack", [(lease, ()) for lease in update.ended])
        is_sent = await self.send(before)
        if is_sent or self._shards.count > 1:
            # The keeper offers the open rows of an unreachable shard when it is back. Leases of the other
            # shards must not wait for that, or all slots would soon be taken.
            reach("ledger.offered")
            await self.send(ends, on_answer=_log_refused)

    async def send(
        self,
        calls: Sequence[Call],
        on_answer: Callable[[Call, int], None] | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
    ) -> bool:
        """Repeat calls until all are answered. Return False if that was given up. Repeating a call does no
        harm.
        """
        is_alone = self._shards.count == 1
        until = self._clock.monotonic() + (timeout_s if is_alone else min(timeout_s, SHARED_TIMEOUT_S))
        pause_s, left = FIRST_PAUSE_S, list(calls)
        while left:
            answers = await self._shards.round(left)
            failed = {
                number: answer
                for number, answer in enumerate(answers)
                if isinstance(answer, SmartSpiderError)
            }
            if on_answer is not None:
                for number, answer in enumerate(answers):
                    if number not in failed:
                        on_answer(left[number], int(answer))
            self._given_up -= {call.shard for number, call in enumerate(left) if number not in failed}
            left = [left[number] for number in failed]
            if not left:
                break
            is_late = self._clock.monotonic() + pause_s > until
            if is_late or all(call.shard in self._given_up for call in left):
                self._given_up |= {call.shard for call in left}
                message = "committed, but Redis is not updated yet; the keeper does it when Redis is back: %s"
                log.warning(message, next(iter(failed.values())))
                return False
            await self._clock.sleep(pause_s)
            pause_s = min(pause_s * 2.0, LONGEST_PAUSE_S)
        return True


def _log_refused(call: Call, taken: int) -> None:
    """Log leases that could not be ended because they are no longer held; their pages are stored."""
    sent = len(call.args) // ARGS_OF_END[call.name]
    if taken < sent:
        log.warning("leases.refused: %d of %d were no longer held (%s)", sent - taken, sent, call.name)
