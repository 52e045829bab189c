"""What is wrong with an expression of a task."""

from __future__ import annotations


class InvalidExpression(Exception):
    """Where it is wrong (counted from 0, None when nobody knows), what is wrong, what to try."""

    def __init__(self, at: int | None, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.at = at
        self.what = what
        self.hint = hint
