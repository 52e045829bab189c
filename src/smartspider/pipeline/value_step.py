"""A value step as configured in a task: error handling and counters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from smartspider.core.pages.extraction import StepCount
from smartspider.interfaces.step import PageContext, StepFailed, ValueRejected, ValueStep

OnError = Literal["null", "keep", "reject"]

_DEEPEST = 64


class ConfiguredStep:
    """A value step with its name in counters, its `on_error` and its counters."""

    __slots__ = ("apply_one", "count", "name", "on_error", "step", "takes_lists", "takes_null")

    def __init__(self, name: str, step: ValueStep, on_error: OnError | None) -> None:
        self.name = name
        self.step = step
        self.on_error: OnError = on_error or ("reject" if step.is_check else "null")
        self.takes_null = step.takes_null
        self.takes_lists = step.takes_lists
        self.apply_one: Callable[[Any, PageContext], Any] = step.apply
        self.count = StepCount()

    def apply(self, value: Any, context: PageContext, depth: int = 0) -> Any:
        """Apply the step to a value, or to each value of a list, and count; raise `ValueRejected`."""
        if value is None and not self.takes_null:
            return None
        if type(value) is list and not self.takes_lists:
            if depth > _DEEPEST:
                return self.failed(value, "is nested too deep")
            applied = [self.apply(inner, context, depth + 1) for inner in value]
            return applied if any(map(differs, applied, value)) else value
        self.count.seen += 1
        try:
            new = self.apply_one(value, context)
        except StepFailed as failed:
            return self.failed(value, failed.reason)
        if new is not value and differs(new, value):
            self.count.changed += 1
            return new
        return value

    def failed(self, value: Any, reason: str) -> Any:
        """Return the replacement of a value that failed; raise `ValueRejected` if the item is rejected."""
        if self.on_error == "reject":
            self.count.rejected += 1
            raise ValueRejected(self.name, reason, value)
        if self.on_error == "keep":
            return value
        self.count.emptied += value is not None
        return None

    def take_count(self) -> StepCount:
        """Return and reset the counters."""
        taken, self.count = self.count, StepCount()
        return taken


def differs(new: Any, old: Any) -> bool:
    """Compare by value and type: 1 differs from 1.0 and from true."""
    return new is not old and (type(new) is not type(old) or new != old)


_MAX_DEPTH = 64


def checked_apply(apply: Callable[[Any, PageContext], Any]) -> Callable[[Any, PageContext], Any]:
    """Wrap the `apply` of a plug-in to check its results."""

    def checked(value: Any, context: PageContext) -> Any:
        new = apply(value, context)
        if new is not value:
            check_storable(new)
        return new

    return checked


def check_storable(value: Any, depth: int = 0) -> None:
    """Raise `StepFailed` if a value cannot be stored as JSON."""
    if depth > _MAX_DEPTH:
        raise StepFailed("became a value that is nested too deep")
    match value:
        case None | bool() | int():
            return
        case float() if math.isfinite(value):
            return
        case str() if value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value):
            return
        case list():
            for inner in value:
                check_storable(inner, depth + 1)
        case dict() if all(isinstance(key, str) for key in value):
            for inner in value.values():
                check_storable(inner, depth + 1)
        case _:
            raise StepFailed(f"became a value of type {type(value).__name__} that cannot be stored")
