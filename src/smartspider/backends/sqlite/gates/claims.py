"""The claims of crawls at the gate of a host."""

from __future__ import annotations

import msgspec

CLAIM_S = 60.0
"""A crawl that has not asked for a host for so long, and twice its delay, no longer counts at its gate."""


class Claim(msgspec.Struct, frozen=True):
    """The demands of a crawl on the gate of a host."""

    host: str
    crawl: str
    delay_s: float
    per_host: int
    per_domain: int | None
    in_flight: int
    used_at: float
    asked_at: float
    served_at: float

    @property
    def expires_at(self) -> float:
        """When it ends unless it is used again."""
        return self.used_at + CLAIM_S + 2 * self.delay_s


class SeenGate(msgspec.Struct, frozen=True):
    """The shared gate of a host as it was last read."""

    version: int
    at: float
    own: Claim | None
    others: list[Claim]
    """Claims of living crawls at this host."""
    siblings: list[Claim]
    """Their claims at all hosts of the domain."""
    sent_until: float = 0.0
    held_until: float = 0.0
    hold_reason: str = ""

    @property
    def delay_s(self) -> float:
        """The longest delay that another crawl asks for."""
        return max((claim.delay_s for claim in self.others), default=0.0)


class Alone(msgspec.Struct, frozen=True):
    """A claim without a delay at a host that no other crawl asks for: nothing is written for its requests.

    Until the counter of changes moves, others see it with all requests in flight that it may have.
    """

    changes: bytes
    limit: int
    per_domain: int | None
    until: float
