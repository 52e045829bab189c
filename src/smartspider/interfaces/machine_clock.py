"""The clock of a machine, from which several processes compute the same time."""

from __future__ import annotations

from typing import Protocol

from smartspider.interfaces.clock import Clock


class MachineClock(Clock, Protocol):
    """1. `monotonic` is the same for all processes of the machine, until it is started again. 2. That changes
    `boot`. 3. `slept` grows by the time that `monotonic` does not count.
    """

    def slept(self) -> float:
        """Return for how many seconds the machine slept since its start."""

    def boot(self) -> str:
        """Return the id of this start of the machine; empty if the system has none."""
