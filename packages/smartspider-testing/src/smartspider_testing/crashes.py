"""Crashes at fail points, simulated inside the process of a test."""

from __future__ import annotations

from smartspider.core import failpoints


class SimulatedCrash(Exception):
    """Stands for the death of the process at a fail point."""


def crash_at(name: str, time: int = 1) -> None:
    """Raise `SimulatedCrash` when the fail point `name` is reached for the n-th time."""
    left = [time]

    def on_reach(reached: str) -> None:
        left[0] -= reached == name
        if left[0] == 0:
            failpoints.arm(None)
            raise SimulatedCrash(name)

    failpoints.arm(on_reach)
