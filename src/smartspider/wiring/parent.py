"""Ending in good order: on a signal, or with the process that started this one."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable


def stop_on_signals(stop: Callable[[], object], *, with_parent: bool) -> None:
    """Call `stop` on SIGTERM and SIGINT, and when standard input closes: then the parent is gone."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    if not with_parent:
        return

    def on_input() -> None:
        if not os.read(sys.stdin.fileno(), 1024):
            loop.remove_reader(sys.stdin.fileno())
            stop()

    loop.add_reader(sys.stdin.fileno(), on_input)
