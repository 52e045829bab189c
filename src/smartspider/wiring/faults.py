"""Dying or freezing on purpose at a named place, for fault tests: `SMARTSPIDER_DIE_AT=settle.items:3`."""

from __future__ import annotations

import os
import signal

from smartspider.core import failpoints

VARIABLE = "SMARTSPIDER_DIE_AT"
FREEZE = "SMARTSPIDER_FREEZE_AT"
LEASE = "SMARTSPIDER_TEST_LEASE_S"
"""How long a lease on a cluster lasts, for tests that have no minute to wait."""
PLACEMENT = "SMARTSPIDER_TEST_PLACEMENT"
"""`off`: workers take whatever is there, for benchmarks that compare."""
PLACES = (
    *(*failpoints.NAMES, *failpoints.TASKS, *failpoints.IDEMPOTENCY),
    *(*failpoints.CLUSTER, *failpoints.LEADER, *failpoints.MIGRATION),
)


def arm_from_environment() -> None:
    """Kill this process, as `kill -9` would, when it comes to the place for the n-th time; or SIGSTOP it."""
    for variable, number in ((VARIABLE, signal.SIGKILL), (FREEZE, signal.SIGSTOP)):
        name, _, count = os.environ.get(variable, "").partition(":")
        if name in PLACES:
            failpoints.arm(_Trap(name, int(count or 1), number))


def lease_s() -> float | None:
    """The time of a lease, where a test sets it."""
    text = os.environ.get(LEASE, "")
    return float(text) if text else None


def renew_s() -> float | None:
    """How often leases are renewed then: a third of their time."""
    lasts_s = lease_s()
    return None if lasts_s is None else lasts_s / 3.0


def is_placed() -> bool:
    """Whether workers take hosts of their own first."""
    return os.environ.get(PLACEMENT, "") != "off"


class _Trap:
    """Counts the times a place is come to, and sends this process a signal when it is enough."""

    def __init__(self, name: str, count: int, number: signal.Signals) -> None:
        self._name = name
        self._left = count
        self._number = number

    def __call__(self, place: str) -> None:
        if place == self._name:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), self._number)
