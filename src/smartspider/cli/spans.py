"""Numbers of processes as they are written: `4`, or `1-8` for as many as are wanted."""

from __future__ import annotations

from typing import Any

import click

from smartspider.core.workers.worker import WorkerRange


class SpanType(click.ParamType[WorkerRange]):
    """A number, or two with a dash between."""

    name = "N|N-M"

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> WorkerRange:
        """A span; of a single number, one whose ends are the same."""
        if isinstance(value, WorkerRange):
            return value
        first, dash, last = str(value).strip().partition("-")
        ends = (first, last) if dash else (first, first)
        if not all(end.isascii() and end.isdecimal() and len(end) < 7 for end in ends):
            self.fail(f"{value!r} is neither a number nor two as 1-8", param, ctx)
        span = WorkerRange(int(ends[0]), int(ends[1]))
        least = 0 if dash else self._least
        if span.minimum > span.maximum:
            self.fail(f"{value!r} begins with the larger number: {ends[1]}-{ends[0]}?", param, ctx)
        if not least <= span.minimum <= span.maximum <= self._most or not (span.maximum or self._least == 0):
            self.fail(f"{value!r} is not within {least} and {self._most}", param, ctx)
        return span
