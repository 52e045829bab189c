"""Tell the program `smartspider` from a call of `main` inside another program, such as a test."""

from __future__ import annotations

from contextvars import ContextVar

_IS_PROGRAM: ContextVar[bool] = ContextVar("is_program", default=False)


def mark_program() -> None:
    """Record that this process runs one command and nothing else."""
    _IS_PROGRAM.set(True)


def is_program() -> bool:
    """Return whether this process runs one command and nothing else: only then may it fork."""
    return _IS_PROGRAM.get()
