"""Leader election: one row, taken by compare-and-set."""

from __future__ import annotations

from typing import Protocol

import msgspec


class Term(msgspec.Struct, frozen=True):
    """A leader's term. Every write of the leader carries the epoch and is refused if there is a newer one."""

    owner: str
    epoch: int
    until: float


class Leadership(Protocol):
    """1. At most one owner has an unexpired term, in store time.
    2. Taking over raises the epoch; renewing does not.
    3. A term that has expired or was resigned can be taken at once by any process.
    4. `check` refuses (`LeadershipLost`) every epoch but that of the newest term, also when there is no
       leader.
    5. `newest` returns when the last term ended, also one that was resigned.
    """

    async def take(self, owner: str, term_s: float) -> Term | None:
        """Take or renew a term of `term_s` seconds. Return None while another process leads."""

    async def resign(self, owner: str) -> None:
        """End the owner's own term."""

    async def current(self) -> Term | None:
        """Return the unexpired term, if there is one."""

    async def newest(self) -> Term:
        """Return the newest term, expired or not. Before the first term the epoch is 0."""

    async def check(self, epoch: int) -> None:
        """Raise `LeadershipLost` unless this is the newest epoch."""
