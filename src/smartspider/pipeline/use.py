"""One value step as a task uses it: which failures cost what, and how often they happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from smartspider.core.pages.extraction import StepCount
from smartspider.interfaces.step import Around, Refused, StepFailed, ValueStep

OnError = Literal["null", "keep", "reject"]

_DEEPEST = 64


class StepUse:
    """A value step under the name that counts and rejects give it, with the task's choice for failures."""

    __slots__ = ("count", "name", "on_error", "step", "takes_lists", "takes_null", "treat_one")

    def __init__(self, name: str, step: ValueStep, on_error: OnError | None) -> None:
        self.name = name
        self.step = step
        self.on_error: OnError = on_error or ("reject" if step.is_check else "null")
        self.takes_null = step.takes_null
        self.takes_lists = step.takes_lists
        self.treat_one: Callable[[Any, Around], Any] = step.treat
        self.count = StepCount()

    def treat(self, value: Any, around: Around, depth: int = 0) -> Any:
        """The value treated, lists value by value, and counted; raises `Refused`."""
        if value is None and not self.takes_null:
            return None
        if type(value) is list and not self.takes_lists:
            if depth > _DEEPEST:
                return self.failed(value, "is nested too deep")
            treated = [self.treat(inner, around, depth + 1) for inner in value]
            return treated if any(map(differs, treated, value)) else value
        self.count.seen += 1
        try:
            new = self.treat_one(value, around)
        except StepFailed as failed:
            return self.failed(value, failed.reason)
        if new is not value and differs(new, value):
            self.count.changed += 1
            return new
        return value

    def failed(self, value: Any, reason: str) -> Any:
        """What stands for a value that the step refused; raises `Refused` when that is the item's end."""
        if self.on_error == "reject":
            self.count.rejected += 1
            raise Refused(self.name, reason, value)
        if self.on_error == "keep":
            return value
        self.count.emptied += value is not None
        return None

    def take_count(self) -> StepCount:
        """What it did since the last time."""
        taken, self.count = self.count, StepCount()
        return taken


def differs(new: Any, old: Any) -> bool:
    """Whether a value is another one: 1 is not 1.0, and neither is true."""
    return new is not old and (type(new) is not type(old) or new != old)
