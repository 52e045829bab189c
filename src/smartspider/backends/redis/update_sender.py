"""Telling the frontier what was committed, as long as it takes within reason."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from smartspider.backends.redis.calls import LANE_CAP, due, host_calls, lease_calls, offer_calls
from smartspider.backends.redis.shards import Call, Shards
from smartspider.core.errors import SmartSpiderError
from smartspider.core.failpoints import reach
from smartspider.core.frontier.updates import FrontierUpdate
from smartspider.interfaces.clock import Clock

PATIENCE_S = 60.0
"""As long as a lease lasts: whoever is not reached by then hears of it from the keeper."""
SHARED_PATIENCE_S = 1.0
"""The same where there are several shards: while one is waited for, the others stand still."""
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 0.5

ARGS_OF_END = {"ack": 3, "release": 3, "postpone": 5}
"""Values of a lease in calls that end leases."""

log = logging.getLogger(__name__)


class UpdateSender:
    """Sends calls until they are answered. A shard that was given up gets one try until it answers again."""

    def __init__(self, shards: Shards, clock: Clock, *, cap: int = LANE_CAP) -> None:
        self._shards = shards
        self._clock = clock
        self._cap = cap
        self._given_up: set[int] = set()

    async def apply(self, update: FrontierUpdate) -> None:
        """Gates and offers first; leases end when these were heard by all shards that are there."""
        before = host_calls(self._shards, update.hosts)
        before += offer_calls(self._shards, update.offered, self._cap)
        ends = lease_calls(
            self._shards,
            "postpone",
            [(lease, (place.rank, due(place))) for lease, place in update.postponed],
        )
        ends += lease_calls(self._shards, "release", [(lease, ()) for lease in update.released])
        ends += lease_calls(self._shards, "ack", [(lease, ()) for lease in update.ended])
        is_heard = await self.insist(before)
        if is_heard or self._shards.count > 1:
            # A shard that is away hears of its open rows from the keeper when it serves again; leases of the
            # others must not wait for that, or soon nobody would have a place left.
            reach("ledger.offered")
            await self.insist(ends, on_answer=_tell_refused)

    async def insist(
        self,
        calls: Sequence[Call],
        on_answer: Callable[[Call, int], None] | None = None,
        *,
        patience_s: float = PATIENCE_S,
    ) -> bool:
        """Call until all are answered; False when that was given up. Repeating a call does no harm."""
        is_alone = self._shards.count == 1
        until = self._clock.monotonic() + (patience_s if is_alone else min(patience_s, SHARED_PATIENCE_S))
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
                words = "it is stored, but Redis was not told yet; the keeper tells it when it serves: %s"
                log.warning(words, next(iter(failed.values())))
                return False
            await self._clock.sleep(pause_s)
            pause_s = min(pause_s * 2.0, LONGEST_PAUSE_S)
        return True


def _tell_refused(call: Call, taken: int) -> None:
    """A lease that is not held any more cannot be ended: its token is old. Its page is stored by now."""
    sent = len(call.args) // ARGS_OF_END[call.name]
    if taken < sent:
        log.warning("leases.refused: %d of %d were not held any more (%s)", sent - taken, sent, call.name)
