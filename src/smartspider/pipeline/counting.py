"""What steps did: counts, and the cleaning log of before and after."""

from __future__ import annotations

import json
from typing import Any

from smartspider.core.pages.extraction import StepCount, ValueChange

_LONGEST = 500
_MOST_CHANGES = 10_000
"""Changes kept of one page; beyond it only counts go on."""


class CleaningLog:
    """Changes since the last time they were taken; keeps none while it is off."""

    def __init__(self, *, is_on: bool) -> None:
        self.is_on = is_on
        self._changes: list[ValueChange] = []

    def note(self, item: int, step: str, field: str, before: Any, after: Any) -> None:
        """Adds a change, its values shortened."""
        if len(self._changes) < _MOST_CHANGES:
            self._changes.append(ValueChange(item, step, field, _short(before), _short(after)))

    def take(self) -> list[ValueChange]:
        """All of them; the log is empty then."""
        taken, self._changes = self._changes, []
        return taken


def added(counts: dict[str, StepCount], name: str, more: StepCount) -> None:
    """Puts what a step did on top of what it did before."""
    old = counts.get(name)
    if old is None:
        counts[name] = more
        return
    counts[name] = StepCount(
        old.seen + more.seen,
        old.changed + more.changed,
        old.emptied + more.emptied,
        old.rejected + more.rejected,
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
