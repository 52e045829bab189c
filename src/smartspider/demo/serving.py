"""Running one loopback server as a process of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
import threading
from contextlib import AbstractAsyncContextManager


async def serve_until_told(server: AbstractAsyncContextManager[str]) -> None:
    """Enter `server`, print the address it gives, and serve until stdin closes or SIGTERM or SIGINT comes.

    Only a pipe or socket on stdin is watched: there, its end means that whoever started this is gone.
    """
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    if is_lifeline(sys.stdin.fileno()):
        threading.Thread(target=_watch, args=(sys.stdin.fileno(), loop, told), daemon=True).start()
    async with server as url:
        sys.stdout.write(f"listening on {url}\n")
        sys.stdout.flush()
        await told.wait()


def is_lifeline(number: int) -> bool:
    """Whether the end of this file descriptor means anything: true for pipes and sockets."""
    mode = os.fstat(number).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _watch(number: int, loop: asyncio.AbstractEventLoop, told: asyncio.Event) -> None:
    while os.read(number, 4096):
        pass
    loop.call_soon_threadsafe(told.set)
