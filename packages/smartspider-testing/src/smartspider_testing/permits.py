"""Permits for tests of fetchers."""

from __future__ import annotations


class FreePermit:
    """A permit that never waits. `entered` lists the hosts in the order in which requests left.

    Permits made by `another` write into the same list.
    """

    def __init__(self, host: str = "", entered: list[str] | None = None) -> None:
        self._host = host
        self.entered: list[str] = [] if entered is None else entered

    async def approach(self) -> None:
        """Go on."""

    async def enter(self) -> None:
        """Note the host and go on."""
        self.entered.append(self._host)

    def sent(self) -> None:
        """Nothing is kept of it."""

    def another(self, host: str) -> FreePermit:
        """A free permit for `host`."""
        return FreePermit(host, self.entered)
