"""Standard streams that stay usable when they are closed early, and that terminals cannot be attacked
through; their colours, and how much is printed.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import TextIOWrapper
from typing import Any, TextIO, cast

from smartspider.cli.terminal.escapes import mark_colour, printable
from smartspider.core.errors import StoreUnavailable

STREAMS = (0, 1, 2)


class SafeStream:
    """A standard stream that ignores a closed pipe, and in whose texts control characters are escaped.

    Messages ignore every write error; data raises `StoreUnavailable` when the disk is full.
    """

    def __init__(self, stream: TextIO, *, is_message: bool, is_escaped: bool = True) -> None:
        self._stream = stream
        self._is_message = is_message
        self._is_escaped = is_escaped
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        """Write a text, or drop it. What other threads print, such as one of a function, is no result."""
        if not self._is_message and threading.get_ident() != self._thread:
            return sys.stderr.write(text)
        if self._is_escaped:
            text = printable(text, has_colour=has_colour(self._stream))
        return self._write(text)

    def write_data(self, text: str) -> int:
        """Write data, or drop it: to a terminal like a text, to a file or a pipe as it is."""
        return self.write(text) if self._stream.isatty() else self._write(text)

    def unescaped(self) -> TextIO:
        """Return the stream for a program that writes control sequences of its own."""
        return cast("TextIO", SafeStream(self._stream, is_message=self._is_message, is_escaped=False))

    def move(self) -> None:
        """Write to another file descriptor from now on: what else goes to standard output, such as the output
        of a program that a function starts, goes to standard error.
        """
        self.flush()
        number = self._stream.fileno()
        binary = os.fdopen(os.dup(number), "wb")  # lives as long as the process
        os.dup2(sys.stderr.fileno(), number)
        self._stream = TextIOWrapper(
            *(binary, self._stream.encoding, self._stream.errors), line_buffering=binary.isatty()
        )

    def _write(self, text: str) -> int:
        if text == "":  # click probes the stream so, and would swallow the error of a full disk
            return 0
        try:
            self._stream.write(text)
        except OSError as error:
            self._discard(error)
        return len(text)

    def flush(self) -> None:
        """Flush the buffer, or drop it."""
        try:
            self._stream.flush()
        except OSError as error:
            self._discard(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _discard(self, error: OSError) -> None:
        # The interpreter writes the rest of the buffer when it exits, which must not fail.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
        if not self._is_message and error.errno != errno.EPIPE:
            raise StoreUnavailable(
                f"standard output cannot be written: {error.strerror or error}",
                hint="redirect the output to another file",
            ) from error


def separate_results() -> None:
    """Reserve standard output for results: what functions of the user print goes to standard error."""
    stream: Any = sys.stdout
    if isinstance(stream, SafeStream):
        stream.move()


def write_data(text: str) -> None:
    """Write data of a command to standard output: JSON, rows, pages."""
    stream: Any = sys.stdout
    (stream.write_data if isinstance(stream, SafeStream) else stream.write)(text)


@contextmanager
def safe_streams() -> Iterator[None]:
    """Wrap standard output and standard error in `SafeStream` within the block."""
    _open_closed_streams()
    before = sys.stdout, sys.stderr
    sys.stdout = cast("TextIO", SafeStream(before[0], is_message=False))
    sys.stderr = cast("TextIO", SafeStream(before[1], is_message=True))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _open_closed_streams() -> None:
    """Open closed standard streams: the next opened file would get their number, and messages would go into
    it.
    """
    while (handle := os.open(os.devnull, os.O_RDWR)) in STREAMS:
        pass
    os.close(handle)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - lives as long as the process
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - lives as long as the process


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C within the block, until the command installs its own handler."""
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


STATE_COLOURS = {
    "running": "cyan",
    "queued": "cyan",
    "interrupted": "yellow",
    "paused": "yellow",
    "stopping": "yellow",
    "stopped": "yellow",
    "cancelled": "yellow",
    "completed": "green",
    "failed": "red",
}


def has_colour(stream: TextIO) -> bool:
    """Return True if a stream shows colours: a terminal, unless NO_COLOR is set; or FORCE_COLOR is set."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def coloured(text: str, colour: str | None, stream: TextIO) -> str:
    """Return the text marked with a colour if the stream shows colours; `SafeStream` applies it."""
    return mark_colour(text, colour) if colour is not None and has_colour(stream) else text


def coloured_state(state: str, stream: TextIO, *, width: int = 0) -> str:
    """Return the state of a run in its colour, padded to a width."""
    return coloured(f"{state:<{width}}", STATE_COLOURS.get(state), stream)


_VERBOSITY: ContextVar[int] = ContextVar("verbosity", default=0)


def set_verbosity(level: int) -> None:
    """Set the verbosity of the rest of the command: -1 quiet, 0 normal, 1 verbose, 2 and more debug."""
    _VERBOSITY.set(level)


def is_quiet() -> bool:
    """Return True if only errors are printed to standard error."""
    return _VERBOSITY.get() < 0


def printed_log_level() -> str | None:
    """Return the minimum level of log lines to print, or None."""
    level = _VERBOSITY.get()
    return None if level <= 0 else "info" if level == 1 else "debug"
