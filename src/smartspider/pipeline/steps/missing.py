"""`default` and `required`: handle missing values."""

from __future__ import annotations

import copy
from typing import Any

from smartspider.core.items.columns import ColumnKind, infer_kind
from smartspider.interfaces.step import PageContext, StepFailed
from smartspider.pipeline.steps.base import Check, Converter, is_missing


class DefaultStep(Converter):
    """Replaces null, blank text and empty lists or objects with `value`."""

    takes_null = True
    takes_lists = True

    def __init__(self, *, value: Any) -> None:
        self._value = value
        self.also_kind: ColumnKind | None = None if value is None else infer_kind(value)
        """The column may also hold values of this kind."""

    def apply(self, value: Any, _: PageContext) -> Any:
        """Return the value, or a copy of the default."""
        return copy.deepcopy(self._value) if is_missing(value) else value


class RequiredStep(Check):
    """The value is not null, blank, or an empty list or object."""

    takes_null = True
    takes_lists = True
    ensures_value = True

    def apply(self, value: Any, _: PageContext) -> Any:
        """Return a value that is not missing."""
        if is_missing(value):
            raise StepFailed("is missing")
        return value
