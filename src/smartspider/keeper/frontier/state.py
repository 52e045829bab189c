"""The leader's knowledge about a remote frontier, shared by the duties."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

from smartspider.core.errors import FrontierUnavailable
from smartspider.core.frontier.updates import RunControl
from smartspider.installation.installation import RemoteFrontier
from smartspider.interfaces.frontier_index import IndexCounts
from smartspider.interfaces.leadership import Term

T = TypeVar("T")

MARGIN_S = 0.2
"""Maximum clock difference between processes."""
CONFIRMED_S = 0.4
"""Time a confirmation of the term remains valid."""


class FrontierState:
    """Everything known in a term; a new term starts empty."""

    def __init__(self, remote: RemoteFrontier) -> None:
        self.index = remote.index
        self.rows = remote.rows
        self.now = remote.store_now
        self.lapse_s = remote.lapse_s
        self._leadership = remote.leadership
        self._read_history = remote.history
        self._lock = asyncio.Lock()
        self._reset(0)

    def _reset(self, epoch: int) -> None:
        self._epoch = epoch
        self._confirmed_at = float("-inf")
        self.history = ""
        """The history of the store when the term was confirmed."""
        self.began_at = self.now()
        """When the term is known to have begun; no earlier leader confirmed its term after this."""
        self.armed: dict[int, str] = {}
        """Serving shards and the process of each."""
        self.controls: list[RunControl] = []
        """Run controls as sent last."""
        self.counts: dict[int, dict[int, IndexCounts]] = {}
        """Counts by shard and run."""
        self.fill_requests: dict[int, None] = {}
        """Runs whose open rows are to be offered, oldest request first."""
        self._is_requested = asyncio.Event()

    def begin_term(self, term: Term) -> None:
        """Start empty if the term is new."""
        if term.epoch != self._epoch:
            self._reset(term.epoch)

    async def confirm_term(self, term: Term) -> float:
        """Return a recent time at which this was the newest term; raise `LeadershipLost` if it is not."""
        async with self._lock:
            now = self.now()
            if now - self._confirmed_at > CONFIRMED_S:
                _, self.history = await asyncio.gather(
                    self._leadership.check(term.epoch), self._read_history()
                )
                self._confirmed_at = now
            return self._confirmed_at

    @property
    def is_complete(self) -> bool:
        """True if all shards serve."""
        return len(self.armed) == self.index.shards

    def run_counts(self, run_id: int) -> IndexCounts:
        """Return the counts of a run in all shards together."""
        found = [counts[run_id] for counts in self.counts.values() if run_id in counts]
        return IndexCounts(
            sum(one.queued for one in found),
            sum(one.waiting for one in found),
            sum(one.leased for one in found),
            sum(one.cut for one in found),
        )

    def request_fill(self, run_id: int) -> None:
        """Request that the open rows of a run be offered."""
        self.fill_requests[run_id] = None
        self._is_requested.set()

    async def wait_for_request(self) -> None:
        """Wait until there is a run or a request."""
        if not self.controls and not self.fill_requests:
            self._is_requested.clear()
            await self._is_requested.wait()


async def gather_shards(calls: Iterable[Awaitable[T]]) -> list[T | FrontierUnavailable]:
    """Return the answers of concurrent calls to shards. For a shard that does not serve, the error stands in
    its place: its arming handles it. Any other error is raised after all calls.
    """
    answers: list[T | FrontierUnavailable] = []
    for answer in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(answer, BaseException) and not isinstance(answer, FrontierUnavailable):
            raise answer
        answers.append(answer)
    return answers
