"""Fault injection: kill or freeze the process at a failpoint, `SMARTSPIDER_DIE_AT=settle.items:3`."""

from __future__ import annotations

import os
import signal
import threading

from smartspider.core import failpoints

VARIABLE = "SMARTSPIDER_DIE_AT"
FREEZE = "SMARTSPIDER_FREEZE_AT"
LEASE = "SMARTSPIDER_TEST_LEASE_S"
"""Duration of a lease on a cluster."""
POINTS = (
    *(*failpoints.NAMES, *failpoints.FILES, *failpoints.TASKS, *failpoints.IDEMPOTENCY),
    *(*failpoints.CLUSTER, *failpoints.LEADER, *failpoints.MIGRATION),
)


def arm_from_environment() -> None:
    """Send SIGKILL or SIGSTOP to this process when it reaches the failpoint for the n-th time."""
    for variable, number in ((VARIABLE, signal.SIGKILL), (FREEZE, signal.SIGSTOP)):
        name, _, count = os.environ.get(variable, "").partition(":")
        if name in POINTS:
            failpoints.arm(_Trigger(name, int(count or 1), number))


def lease_s() -> float | None:
    """Return the duration of a lease that a test has set, if any."""
    text = os.environ.get(LEASE, "")
    return float(text) if text else None


def renew_s() -> float | None:
    """Return the renewal interval for that duration: a third of it."""
    duration_s = lease_s()
    return None if duration_s is None else duration_s / 3.0


class _Trigger:
    """Sends a signal to this process when a failpoint is reached for the n-th time."""

    def __init__(self, name: str, count: int, number: signal.Signals) -> None:
        self._name = name
        self._left = count
        self._number = number

    def __call__(self, point: str) -> None:
        if point == self._name:
            self._left -= 1
            if self._left == 0:
                _send(self._number)


def _send(number: signal.Signals) -> None:
    """Send a signal to this process. It stops by a signal to this thread: if another one gets it first, this
    one goes on for a moment.
    """
    if number == signal.SIGSTOP:
        signal.pthread_kill(threading.get_ident(), number)
    else:
        os.kill(os.getpid(), number)
