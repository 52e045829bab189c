"""`default` and `required`: what happens where there is no value."""

from __future__ import annotations

import copy
from typing import Any

from smartspider.core.items.columns import ColumnKind
from smartspider.interfaces.step import Around, StepFailed
from smartspider.pipeline.kinds import natural_kind
from smartspider.pipeline.steps.shapes import Check, Converter, is_missing


class DefaultStep(Converter):
    """`value` where there is none: null, blank text, an empty list or object."""

    takes_null = True
    takes_lists = True

    def __init__(self, *, value: Any) -> None:
        self._value = value
        self.also_kind: ColumnKind | None = None if value is None else natural_kind(value)
        """Values of this kind may stand beside those that were there."""

    def treat(self, value: Any, _: Around) -> Any:
        """The value, or the one that stands for it."""
        return copy.deepcopy(self._value) if is_missing(value) else value


class RequiredStep(Check):
    """There is a value. Null, blank text, an empty list and an empty object are none."""

    takes_null = True
    takes_lists = True
    ensures_value = True

    def treat(self, value: Any, _: Around) -> Any:
        """The value, when there is one."""
        if is_missing(value):
            raise StepFailed("is missing")
        return value
