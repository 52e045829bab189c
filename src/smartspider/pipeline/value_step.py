"""A value step as configured in a task: error handling and counters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Any, Literal

from smartspider.core.functions import printing_apart
from smartspider.core.items.json_value import copied, is_json_value, json_value
from smartspider.core.pages.extraction import StepCount
from smartspider.interfaces.step import ColumnStep, PageContext, StepFailed, ValueRejected, ValueStep

OnError = Literal["null", "keep", "reject"]

_DEEPEST = 64


class ConfiguredStep:
    """A value step with its name in counters, its `on_error` and its counters."""

    __slots__ = ("_columns", "apply_one", "count", "name", "on_error", "step", "takes_lists", "takes_null")

    def __init__(self, name: str, step: ValueStep, on_error: OnError | None) -> None:
        self.name = name
        self.step = step
        self.on_error: OnError = on_error or ("reject" if step.is_check else "null")
        self.takes_null = step.takes_null
        self.takes_lists = step.takes_lists
        self.apply_one: Callable[[Any, PageContext], Any] = step.apply
        self.count = StepCount()
        self._columns = step if isinstance(step, ColumnStep) else None

    @property
    def is_for_columns(self) -> bool:
        """True if results depend on the other values of a field on the page."""
        return self._columns is not None

    def for_column(self, values: list[Any], context: PageContext) -> ConfiguredStep:
        """Return the step for a field with these values on the page; itself if nothing depends on them. Both
        count together.
        """
        if self._columns is None:
            return self
        step = self._columns.for_column(list(_each(values)) if list in map(type, values) else values, context)
        if step is self.step:
            return self
        judged = copy(self)
        judged.step = judged._columns = step  # noqa: SLF001 - a copy of itself
        judged.apply_one = step.apply
        return judged

    def remark(self, value: Any) -> str:
        """Return the remark about a value whose result is a guess, and count it; else an empty text."""
        step = self._columns
        if step is None:
            return ""
        found = next((note for each in _each([value]) if (note := step.note(each))), "")
        self.count.unsure += bool(found)
        return found

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

    def peek(self, value: Any, context: PageContext) -> Any:
        """Return what `apply` returns, without counting."""
        kept, self.count = self.count, StepCount()
        try:
            return self.apply(value, context)
        finally:
            self.count = kept

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


def _each(values: Iterable[Any], depth: int = 0) -> Iterator[Any]:
    """Yield values one by one, also those of lists, without nulls."""
    for value in values:
        if type(value) is list:
            if depth <= _DEEPEST:
                yield from _each(value, depth + 1)
        elif value is not None:
            yield value


def differs(new: Any, old: Any) -> bool:
    """Compare by value and type: 1 differs from 1.0 and from true."""
    return new is not old and (type(new) is not type(old) or new != old)


def checked_apply(apply: Callable[[Any, PageContext], Any]) -> Callable[[Any, PageContext], Any]:
    """Wrap the `apply` of a plug-in or a function: results become JSON values, or raise `NotJson`, and what
    it prints goes to standard error.
    """

    def checked(value: Any, context: PageContext) -> Any:
        given = copied(value) if type(value) in (dict, list) else value
        with printing_apart():
            new = apply(given, context)
            if new is value:
                return value
            return new if is_json_value(new) else json_value(new)

    return checked
