"""Permits for tests of fetchers."""

from __future__ import annotations


class FreePermit:
    """A permit that never waits. `entered` lists the hosts in the order of the requests.

    Permits made by `another` append to the same list.
    """

    def __init__(self, host: str = "", entered: list[str] | None = None) -> None:
        self._host = host
        self.entered: list[str] = [] if entered is None else entered

    async def approach(self) -> None:
        """Return at once."""

    async def enter(self) -> None:
        """Record the host and return."""
        self.entered.append(self._host)

    def sent(self) -> None:
        """Do nothing."""

    def another(self, host: str) -> FreePermit:
        """Return a free permit for `host`."""
        return FreePermit(host, self.entered)
