"""The verbosity of a command: quiet, normal, verbose or debug."""

from __future__ import annotations

from contextvars import ContextVar

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
