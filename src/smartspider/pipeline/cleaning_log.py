"""The cleaning log: values before and after steps; and step counters."""

from __future__ import annotations

import json
from typing import Any

from smartspider.core.pages.extraction import StepCount, ValueChange

_LONGEST = 500
_MOST_CHANGES = 10_000
"""The most changes kept per page; counters go on."""


class CleaningLog:
    """Collects value changes; keeps none if it is off."""

    def __init__(self, *, is_on: bool) -> None:
        self.is_on = is_on
        self._changes: list[ValueChange] = []

    def note(self, place: tuple[int, str, str], before: Any, after: Any, remark: str = "") -> None:
        """Add a change with its values shortened; `place` is the item, the step and the field."""
        if len(self._changes) < _MOST_CHANGES:
            self._changes.append(ValueChange(*place, _short(before), _short(after), remark))

    def take(self) -> list[ValueChange]:
        """Return all changes and empty the log."""
        taken, self._changes = self._changes, []
        return taken


def add_count(counts: dict[str, StepCount], name: str, more: StepCount) -> None:
    """Add the counters of a step to the totals."""
    old = counts.get(name)
    if old is None:
        counts[name] = more
        return
    counts[name] = StepCount(
        old.seen + more.seen,
        old.changed + more.changed,
        old.emptied + more.emptied,
        old.rejected + more.rejected,
        old.unsure + more.unsure,
    )


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value[:_LONGEST]
    if isinstance(value, list | dict):
        try:
            text = json.dumps(value, ensure_ascii=False, default=str)
        except (ValueError, RecursionError):
            return "(nested too deep)"
        return value if len(text) <= _LONGEST else text[:_LONGEST]
    return value
