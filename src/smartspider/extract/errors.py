"""Errors in expressions of a task."""

from __future__ import annotations


class InvalidExpression(Exception):
    """An invalid expression: the position (from 0, None if unknown), the reason and a hint."""

    def __init__(self, at: int | None, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.at = at
        self.what = what
        self.hint = hint
