"""What a duty is."""

from __future__ import annotations

from typing import Protocol

from smartspider.interfaces.leadership import Term


class Duty(Protocol):
    """Something the leader does again and again. Done twice, it does no harm; what would, carries the epoch.

    `do` comes back soon, or often: a leader whose term is over is stopped at the next `await`.
    """

    name: str

    @property
    def every_s(self) -> float:
        """How long to wait before it is done again."""

    async def do(self, term: Term) -> None:
        """Do it once; `term` is that of the leader."""
