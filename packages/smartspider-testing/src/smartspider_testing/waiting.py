"""Waits of tests: long, ended early by what they wait for, and never without a bound."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

FACTOR = float(os.environ.get("SMARTSPIDER_TEST_WAITS", "1"))
"""All bounds are multiplied with it: `SMARTSPIDER_TEST_WAITS=3` on a machine that is slow or busy."""


def scaled(seconds: float) -> float:
    """Return a bound for this machine."""
    return seconds * FACTOR


WAIT_S = scaled(60.0)
"""Bound of a wait. On any machine that works it is ended long before."""


def join(*threads: threading.Thread) -> None:
    """Wait until the threads have ended; fail with the names of those that have not."""
    for thread in threads:
        thread.join(WAIT_S)
    alive = [thread.name for thread in threads if thread.is_alive()]
    assert not alive, f"threads live on after {WAIT_S:g} s: {', '.join(alive)}"


@contextmanager
def running(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a process, and kill it at the end of the block: `with Popen(...)` waits for ever if the block
    fails before it has made the process end.
    """
    with subprocess.Popen(command, **options) as process:  # noqa: S603 - commands of tests
        try:
            yield process
        finally:
            process.kill()
