"""Dying on purpose at a named place, for fault tests: `SMARTSPIDER_DIE_AT=settle.items:3`."""

from __future__ import annotations

import os
import signal

from smartspider.core import failpoints

VARIABLE = "SMARTSPIDER_DIE_AT"


def arm_from_environment() -> None:
    """Kill this process, as `kill -9` would, when it comes to the place for the n-th time."""
    name, _, count = os.environ.get(VARIABLE, "").partition(":")
    if name not in (*failpoints.NAMES, *failpoints.WRITES):
        return
    left = int(count or 1)

    def on_reach(place: str) -> None:
        nonlocal left
        if place == name:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    failpoints.arm(on_reach)
