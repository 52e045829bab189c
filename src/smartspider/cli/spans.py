"""Numbers of processes as they are written: `4`, or `1-8` for as many as are wanted."""

from __future__ import annotations

from typing import Any

import click

from smartspider.core.crews import Span


class SpanType(click.ParamType[Span]):
    """A number, or two with a dash between."""

    name = "N|N-M"

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Span:
        """A span; of a single number, one whose ends are the same."""
        if isinstance(value, Span):
            return value
        first, dash, last = str(value).strip().partition("-")
        ends = (first, last) if dash else (first, first)
        if not all(end.isascii() and end.isdecimal() and len(end) < 7 for end in ends):
            self.fail(f"{value!r} is neither a number nor two as 1-8", param, ctx)
        span = Span(int(ends[0]), int(ends[1]))
        least = 0 if dash else self._least
        if span.least > span.most:
            self.fail(f"{value!r} begins with the larger number: {ends[1]}-{ends[0]}?", param, ctx)
        if not least <= span.least <= span.most <= self._most or not (span.most or self._least == 0):
            self.fail(f"{value!r} is not within {least} and {self._most}", param, ctx)
        return span
