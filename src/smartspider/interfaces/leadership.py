"""Who keeps house: one row, taken by compare-and-set."""

from __future__ import annotations

from typing import Protocol

import msgspec


class Term(msgspec.Struct, frozen=True):
    """A time of leading. Every write of a leader carries its epoch and is refused when that is old."""

    owner: str
    epoch: int
    until: float


class Leadership(Protocol):
    """1. At most one owner has a term that is not over, in store time.
    2. Taking over raises the epoch; prolonging does not.
    3. A term that is over, or was given up, can be taken at once by anybody.
    4. `check` refuses (`TermOver`) an epoch that is not that of the newest term, also when nobody leads.
    5. `newest` tells when the last term ended, also one that was given up.
    """

    async def take(self, owner: str, term_s: float) -> Term | None:
        """Lead, or go on leading, for so long; None while another does."""

    async def resign(self, owner: str) -> None:
        """Give up a term that is one's own."""

    async def current(self) -> Term | None:
        """The term that is not over, if there is one."""

    async def newest(self) -> Term:
        """The newest term, over or not; the one before the first has epoch 0."""

    async def check(self, epoch: int) -> None:
        """Raise `TermOver` unless this is the newest epoch."""
