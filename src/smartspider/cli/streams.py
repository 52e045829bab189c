"""Standard streams that may be closed early: nothing that is shown can end the work behind it."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from smartspider.core.errors import StoreUnavailable

STREAMS = (0, 1, 2)


class SteadyStream:
    """A standard stream that goes quiet when nobody reads it any more, instead of raising.

    Talk is forgiven everything. Data that a full disk does not take is an error: `StoreUnavailable`.
    """

    def __init__(self, stream: TextIO, *, is_talk: bool) -> None:
        self._stream = stream
        self._is_talk = is_talk

    def write(self, text: str) -> int:
        """Write a text, or drop it."""
        if text == "":  # a probe of click's, which would swallow the error that a full disk answers it with
            return 0
        try:
            self._stream.write(text)
        except OSError as error:
            self._give_up(error)
        return len(text)

    def flush(self) -> None:
        """Send what is buffered, or drop it."""
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _give_up(self, error: OSError) -> None:
        # What is buffered is written again at the latest when the interpreter ends, which must not fail then.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
        if not self._is_talk and error.errno != errno.EPIPE:
            raise StoreUnavailable(
                f"standard output cannot be written: {error.strerror or error}",
                hint="send it somewhere else",
            ) from error


@contextmanager
def steady_streams() -> Iterator[None]:
    """Standard output and standard error are steady until the end of the block."""
    _open_closed_ones()
    before = sys.stdout, sys.stderr
    sys.stdout = cast("TextIO", SteadyStream(before[0], is_talk=False))
    sys.stderr = cast("TextIO", SteadyStream(before[1], is_talk=True))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _open_closed_ones() -> None:
    """A number that is free would be given to the next file opened, and talk would go into that file."""
    while (handle := os.open(os.devnull, os.O_RDWR)) in STREAMS:
        pass
    os.close(handle)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - lives as long as the process
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - lives as long as the process
