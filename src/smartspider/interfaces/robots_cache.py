"""The cache of robots.txt answers: a host is asked once, not once per worker."""

from __future__ import annotations

from typing import Protocol

import msgspec


class RobotsAnswer(msgspec.Struct, frozen=True):
    """The robots.txt of an origin. `body` is None if everything is allowed (4xx)."""

    origin: str
    status: int
    body: bytes | None
    fetched_at: float
    expires_at: float


class RobotsCache(Protocol):
    """1. A stored answer is returned until it is replaced. 2. The Crawl-delay of a
    host is stored with its gate.
    """

    async def get_robots(self, origin: str) -> RobotsAnswer | None:
        """Return the newest answer of an origin."""

    async def put_robots(self, answer: RobotsAnswer, *, host: str, crawl_delay_s: float | None) -> None:
        """Store an answer, and its Crawl-delay with the gate of the host."""
