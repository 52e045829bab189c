"""The runtime of a process: clock, event bus, memory."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import logging
import os
import resource
import signal
import sys
import threading
import time
from functools import lru_cache
from pathlib import Path
from typing import NoReturn

from smartspider.core.events import Event
from smartspider.core.workers import activity
from smartspider.interfaces.event_bus import Subscriber

TIMER_S = 0.0006
"""A timer may end half a millisecond early, and whoever waits for a moment would sleep again and again."""


class SystemClock:
    """See `interfaces/machine_clock.py`."""

    def now(self) -> float:
        """Return the seconds since 1970."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()

    def slept(self) -> float:
        """Return for how many seconds the machine slept; 0 where the system does not tell."""
        number = getattr(time, "CLOCK_BOOTTIME", None)
        return 0.0 if number is None else time.clock_gettime(number) - time.monotonic()

    def boot(self) -> str:
        """Return the id of this start of the machine."""
        return _boot()

    async def sleep(self, seconds: float) -> None:
        """Sleep, never too short: timers are rounded to a millisecond."""
        await asyncio.sleep(seconds + TIMER_S)


@lru_cache(maxsize=1)
def _boot() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


class LocalBus:
    """See `interfaces/event_bus.py`."""

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []

    def subscribe(self, subscriber: Subscriber) -> None:
        """Add a subscriber for all events from now on."""
        self._subscribers.append(subscriber)

    def publish(self, event: Event) -> None:
        """Call all subscribers; one that raises is removed."""
        for subscriber in tuple(self._subscribers):
            try:
                subscriber(event)
            except Exception:
                self._subscribers.remove(subscriber)
                logging.getLogger(__name__).exception("a subscriber failed and was removed")


_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_STATM = Path("/proc/self/statm")
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_PR_SET_PDEATHSIG = 1


def tune_process() -> None:
    """Keep freed memory for the next page, and run garbage collection less often.

    glibc returns the memory of a parsed page to the kernel and requests it again for the next page, which
    costs as much as parsing. With another C library this does nothing.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, 32 << 20)
        mallopt(_M_TRIM_THRESHOLD, 256 << 20)
        mallopt(_M_TOP_PAD, 16 << 20)
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def end_process(code: int) -> NoReturn:
    """Exit. Threads that functions or plug-ins have started are not waited for."""
    sys.stdout.flush()
    sys.stderr.flush()
    if threading.active_count() == 1:
        sys.exit(code)
    activity.finish()
    os._exit(code)


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends, however that ends.

    A process that does not respond would not see that its standard input closes. Linux only.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def resident_bytes() -> int:
    """Return the resident memory of this process, or its peak if the system does not report it."""
    try:
        return int(_STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, ValueError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
