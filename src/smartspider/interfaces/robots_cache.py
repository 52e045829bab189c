"""Where robots.txt answers are kept, so that a host is asked once and not once per worker."""

from __future__ import annotations

from typing import Protocol

import msgspec


class RobotsAnswer(msgspec.Struct, frozen=True):
    """What a host said about robots. `body` is None when everything is allowed (4xx)."""

    origin: str
    status: int
    body: bytes | None
    fetched_at: float
    expires_at: float


class RobotsCache(Protocol):
    """1. What was put is got until it is replaced. 2. A Crawl-delay put for a host is kept by its gate."""

    async def get_robots(self, origin: str) -> RobotsAnswer | None:
        """The newest answer of an origin."""

    async def put_robots(self, answer: RobotsAnswer, *, host: str, crawl_delay_s: float | None) -> None:
        """Keep an answer, and tell the host's gate its Crawl-delay."""
