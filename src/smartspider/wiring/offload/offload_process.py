"""An offload process, `python -m smartspider.wiring.offload.offload_process`, reads calls and writes results.

Every call has a time limit that the kernel enforces, so code that cannot be interrupted ends as well: the
process dies, and the caller starts another.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import struct
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

import msgspec

from smartspider.core.errors import SmartSpiderError
from smartspider.engine.runtime import die_with_parent

MAX_MEMORY = 2 << 30
LENGTH = struct.Struct("!Q")
"""Precedes every call and every result."""


class OffloadCall(msgspec.Struct, frozen=True):
    """A function with its arguments, and its time limit."""

    work: Callable[..., Any]
    values: tuple[Any, ...]
    time_limit_s: float


def encode_frame(value: Any) -> bytes:
    """Return a value as it is sent."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)) + data


def main() -> int:
    """Answer calls until stdin closes."""
    die_with_parent()
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as results:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no result
        while (data := _read_frame(sys.stdin.buffer)) is not None:
            results.write(encode_frame(_answer(data)))
            results.flush()
    return 0


def _read_frame(calls: BinaryIO) -> bytes | None:
    head = calls.read(LENGTH.size)
    return calls.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else None


def _answer(data: bytes) -> tuple[bool, Any]:
    """Return whether the call succeeded, and its result or error."""
    call: OffloadCall = pickle.loads(data)  # noqa: S301 - written by the parent process
    signal.setitimer(signal.ITIMER_REAL, call.time_limit_s)
    try:
        return True, call.work(*call.values)
    except SmartSpiderError as error:
        return False, error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    sys.exit(main())
