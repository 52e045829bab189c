"""Sites as processes of their own, so that whatever crawls them can be killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_PREFIX = "listening on "


@contextmanager
def site_process(module: str, *arguments: str) -> Iterator[str]:
    """Start `python -m module arguments`, give the base address it prints, and end it afterwards.

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
