"""References to functions in Python files beside a task: `./my_steps.py:clean`."""

from __future__ import annotations

import re
import signal
import sys
from asyncio import CancelledError
from pathlib import PurePath
from types import TracebackType
from typing import NamedTuple

FUNCTION_PATTERN = r"^.+\.py(?:@[0-9a-f]{64})?:[A-Za-z_][A-Za-z0-9_]*$"
_PARTS = re.compile(r"(.+\.py)(?:@([0-9a-f]{64}))?:([A-Za-z_][A-Za-z0-9_]*)")


CRASHES = (Exception, SystemExit, KeyboardInterrupt, GeneratorExit, CancelledError)
"""Errors of functions of a user. A call of `exit` ends the function, not the program."""


class FunctionReference(NamedTuple):
    """A function by its file and name. `digest` is the SHA-256 of the file, once it is known."""

    file: str
    name: str
    digest: str = ""

    def __str__(self) -> str:
        return f"{self.file}@{self.digest}:{self.name}" if self.digest else f"{self.file}:{self.name}"


def parse_function(text: object) -> FunctionReference | None:
    """Return the reference that a text is, or None."""
    found = _PARTS.fullmatch(text) if isinstance(text, str) else None
    return None if found is None else FunctionReference(found[1], found[3], found[2] or "")


def short_name(text: str) -> str:
    """Return a reference without folder and digest, for messages; any other text as it is."""
    reference = parse_function(text)
    return text if reference is None else f"{PurePath(reference.file).name}:{reference.name}"


def pass_interrupt(error: BaseException) -> None:
    """Raise a Ctrl-C again. Where an event loop handles the signal, the function itself raised the error."""
    is_pressed = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if isinstance(error, KeyboardInterrupt) and is_pressed:
        raise error


def error_text(error: BaseException) -> str:
    """Return the type and message of an error of a function. Its own `__str__` may fail, too."""
    try:
        return f"{type(error).__name__}: {str(error)[:200]}"
    except CRASHES as broken:
        pass_interrupt(broken)
        return type(error).__name__


class printing_apart:  # noqa: N801 - reads as a statement; a class is four times as fast as a generator
    """Within the block, what is printed goes to standard error: standard output holds results alone."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = sys.stdout
        sys.stdout = sys.stderr

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.stdout = self._before
