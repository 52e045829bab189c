"""What the leader knows of a frontier apart from the store; the duties about it share this."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

from smartspider.core.errors import FrontierUnavailable
from smartspider.core.frontier.updates import RunControl
from smartspider.installation.remote_frontier import RemoteFrontier
from smartspider.interfaces.index import IndexCounts
from smartspider.interfaces.leadership import Term

T = TypeVar("T")

MARGIN_S = 0.2
"""Clocks of processes differ by so much at most."""
CONFIRMED_S = 0.4
"""How long a look at the leader's row is good for."""


class FrontierState:
    """Everything known in a term; a new term begins with nothing."""

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
        """Of the store, as it was when the leader was sure of its term."""
        self.began_at = self.now()
        """When the term was known to have begun: nobody of an earlier one was sure of it after this."""
        self.armed: dict[int, str] = {}
        """Shards that serve, and the process of each that does."""
        self.controls: list[RunControl] = []
        """Of runs, as they were told last."""
        self.counts: dict[int, dict[int, IndexCounts]] = {}
        """What shards hold of runs."""
        self.fill_requests: dict[int, None] = {}
        """Runs whose open rows are to be offered, those that wait longest first."""
        self._is_requested = asyncio.Event()

    def begin_term(self, term: Term) -> None:
        """A duty is done in this term."""
        if term.epoch != self._epoch:
            self._reset(term.epoch)

    async def confirm_term(self, term: Term) -> float:
        """A moment, not long ago, at which this was the newest term; raises `LeadershipLost` when it is not."""
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
        """Whether all shards serve."""
        return len(self.armed) == self.index.shards

    def run_counts(self, run_id: int) -> IndexCounts:
        """What all shards together hold of a run."""
        found = [counts[run_id] for counts in self.counts.values() if run_id in counts]
        return IndexCounts(
            sum(one.queued for one in found),
            sum(one.waiting for one in found),
            sum(one.leased for one in found),
            sum(one.cut for one in found),
        )

    def request_fill(self, run_id: int) -> None:
        """The open rows of a run are to be offered."""
        self.fill_requests[run_id] = None
        self._is_requested.set()

    async def wait_for_request(self) -> None:
        """Wait while there is no run."""
        if not self.controls and not self.fill_requests:
            self._is_requested.clear()
            await self._is_requested.wait()


async def gather_shards(calls: Iterable[Awaitable[T]]) -> list[T | FrontierUnavailable]:
    """Answers of shards that are asked at once. For one that does not serve there is the error in its place:
    its arming sees to that. Any other error is raised when all are through.
    """
    answers: list[T | FrontierUnavailable] = []
    for answer in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(answer, BaseException) and not isinstance(answer, FrontierUnavailable):
            raise answer
        answers.append(answer)
    return answers
