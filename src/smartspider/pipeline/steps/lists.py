"""`split` and `join`: convert between text and lists."""

from __future__ import annotations

import json
from typing import Any

from smartspider.core.items.columns import ColumnKind
from smartspider.interfaces.step import PageContext, StepFailed
from smartspider.pipeline.steps.base import Converter
from smartspider.plugins.options import InvalidOption

_MOST_PARTS = 100_000


class SplitStep(Converter):
    """Splits a text into trimmed, non-empty parts. Texts of a list are split into one list; other values pass
    unchanged.
    """

    kind: ColumnKind | None = "json"
    takes_lists = True
    makes_lists = True

    def __init__(self, *, sep: str = ",") -> None:
        if not sep:
            raise InvalidOption("sep", "is empty", "the separator, like ',' or ' / '")
        self._sep = sep

    def apply(self, value: Any, _: PageContext) -> Any:
        """Return the parts."""
        if isinstance(value, str):
            return self._parts(value)
        if not isinstance(value, list):
            return value
        parts: list[Any] = []
        for inner in value:
            parts += self._parts(inner) if isinstance(inner, str) else [inner]
            _bounded(len(parts))
        return parts

    def _parts(self, text: str) -> list[str]:
        _bounded(text.count(self._sep))
        return [part for raw in text.split(self._sep) if (part := raw.strip())]


class JoinStep(Converter):
    """Joins the values of a list to one text, without nulls; other values pass unchanged."""

    kind: ColumnKind | None = "text"
    takes_lists = True
    ends_lists = True

    def __init__(self, *, sep: str = ", ") -> None:
        self._sep = sep

    def apply(self, value: Any, _: PageContext) -> Any:
        """Return the text."""
        if not isinstance(value, list):
            return value
        return self._sep.join(to_text(inner) for inner in value if inner is not None)


def to_text(value: Any) -> str:
    """Return text unchanged and other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bounded(parts: int) -> None:
    if parts > _MOST_PARTS:
        raise StepFailed(f"has more than {_MOST_PARTS} parts")
