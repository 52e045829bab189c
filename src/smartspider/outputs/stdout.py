"""Standard output as the file of a format that only appends."""

from __future__ import annotations

import sys
from codecs import getincrementaldecoder
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from smartspider.core.errors import StoreUnavailable

STDOUT = Path("-")
"""The path that means standard output."""


class StdoutFile:
    """Writes to standard output, until its reader closes it: `| head` takes what it wants."""

    def __init__(self) -> None:
        self._written = 0
        self._is_open = True
        sys.stdout.flush()
        self._write = _byte_writer(sys.stdout)

    def write(self, data: bytes) -> None:
        """Write bytes, or drop them if nobody reads them."""
        self._written += len(data)
        if not self._is_open:
            return
        try:
            self._write(data)
        except BrokenPipeError:
            self._is_open = False
        except OSError as error:
            raise StoreUnavailable(
                f"standard output cannot be written: {error.strerror or error}",
                hint="redirect the output to another file",
            ) from error

    def size(self) -> int:
        """Return the bytes written so far."""
        return self._written

    def seal(self) -> None:
        """Flush the buffer."""
        sys.stdout.flush()

    def commit(self) -> None:
        """Do nothing: the rows are written already."""

    def abort(self) -> None:
        """Do nothing: what is written cannot be taken back."""


def _byte_writer(stream: TextIO) -> Callable[[bytes], object]:
    """Return the function that writes bytes to a stream. One in memory may take text only; a terminal gets
    text, in which the stream escapes control characters.
    """
    buffer = getattr(stream, "buffer", None)
    if buffer is not None and not stream.isatty():
        write: Callable[[bytes], object] = buffer.write
        return write
    decoder = getincrementaldecoder("utf-8")("replace")
    return lambda data: stream.write(decoder.decode(data))
