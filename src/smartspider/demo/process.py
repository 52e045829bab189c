"""Sites as separate processes, so that their crawlers can be killed."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager

_PREFIX = "listening on "


@contextmanager
def site_process(module: str, *arguments: str) -> Iterator[str]:
    """Start `python -m module arguments`, yield the base URL it prints, and stop it afterwards.

    The process ends with this one, even if this one is killed: its stdin is a pipe that closes then.
    """
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own modules
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        line = process.stdout.readline()
        if not line.startswith(_PREFIX):
            process.kill()
            raise RuntimeError(f"{module} did not start: {line!r}")
        try:
            yield line.removeprefix(_PREFIX).strip()
        finally:
            process.stdin.close()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()


async def serve_until_stopped(server: AbstractAsyncContextManager[str]) -> None:
    """Enter `server`, print its URL, and serve until stdin closes or SIGTERM or SIGINT arrives.

    Only a pipe or socket on stdin is watched: its end means that the parent process has ended.
    """
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    if is_pipe_or_socket(sys.stdin.fileno()):
        threading.Thread(target=_watch, args=(sys.stdin.fileno(), loop, told), daemon=True).start()
    async with server as url:
        sys.stdout.write(f"listening on {url}\n")
        sys.stdout.flush()
        await told.wait()


def is_pipe_or_socket(number: int) -> bool:
    """Return True if a file descriptor is a pipe or a socket, whose end is meaningful."""
    mode = os.fstat(number).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _watch(number: int, loop: asyncio.AbstractEventLoop, told: asyncio.Event) -> None:
    while os.read(number, 4096):
        pass
    loop.call_soon_threadsafe(told.set)
