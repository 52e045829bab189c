"""`split` and `join`: from a text to a list and back."""

from __future__ import annotations

import json
from typing import Any

from smartspider.core.items.columns import ColumnKind
from smartspider.interfaces.step import Around, StepFailed
from smartspider.pipeline.options import OptionWrong
from smartspider.pipeline.steps.shapes import Converter

_MOST_PARTS = 100_000


class SplitStep(Converter):
    """The parts of a text, trimmed, empty ones left out. Texts of a list are split into one list; what is
    neither text nor list stays as it is.
    """

    kind: ColumnKind | None = "json"
    takes_lists = True
    makes_lists = True

    def __init__(self, *, sep: str = ",") -> None:
        if not sep:
            raise OptionWrong("sep", "is empty", "what stands between the parts, like ',' or ' / '")
        self._sep = sep

    def treat(self, value: Any, _: Around) -> Any:
        """The parts."""
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
    """The values of a list as one text, nulls left out; everything else stays as it is."""

    kind: ColumnKind | None = "text"
    takes_lists = True
    ends_lists = True

    def __init__(self, *, sep: str = ", ") -> None:
        self._sep = sep

    def treat(self, value: Any, _: Around) -> Any:
        """The text."""
        if not isinstance(value, list):
            return value
        return self._sep.join(as_text(inner) for inner in value if inner is not None)


def as_text(value: Any) -> str:
    """A value inside a text: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bounded(parts: int) -> None:
    if parts > _MOST_PARTS:
        raise StepFailed(f"has more than {_MOST_PARTS} parts")
