"""The protocol of a duty."""

from __future__ import annotations

from typing import Protocol

from smartspider.interfaces.leadership import Term


class Duty(Protocol):
    """A recurring job of the leader. Doing it twice is harmless; writes that would be harmful carry the
    epoch.

    `do` returns soon or awaits often: a leader that loses its term is stopped at the next `await`.
    """

    name: str

    @property
    def every_s(self) -> float:
        """Seconds until the next time."""

    async def do(self, term: Term) -> None:
        """Do it once in the leader's term."""
