"""`replace` and `extract`: texts by regular expression (Python's syntax)."""

from __future__ import annotations

import json
import re
from typing import Any

from smartspider.core.items.columns import ColumnKind
from smartspider.interfaces.step import Around, StepFailed
from smartspider.pipeline.kinds import merged, natural_kind
from smartspider.pipeline.options import OptionWrong, pattern, shown
from smartspider.pipeline.steps.shapes import Converter, TextStep, word_for

_LONGEST = 50_000_000


class ReplaceStep(TextStep):
    r"""Puts `with` (default: nothing) in place of every match of `pattern`; `\1` and `\g<name>` stand for its
    groups. Only texts are treated.
    """

    def __init__(self, *, pattern: str, with_: str = "") -> None:
        self._pattern = _compiled(pattern)
        self._with = with_
        try:
            self._pattern.sub(with_, "")
        except (re.error, IndexError) as error:
            hint = "a literal backslash is written twice"
            raise OptionWrong("with", f"{shown(with_)} cannot be put in: {error}", hint) from error

    def text(self, value: str) -> str:
        """The text with its matches replaced."""
        if len(value) * len(self._with) > _LONGEST and self._grown(value) > _LONGEST:
            raise StepFailed("would grow too long")
        return self._pattern.sub(self._with, value)

    def _grown(self, value: str) -> int:
        """What the longest result can be; only asked for texts that are very long."""
        return len(value) + len(self._with) * sum(1 for _ in self._pattern.finditer(value))


class ExtractStep(Converter):
    """The first match of `pattern` in a text: its first group, or an object of its groups when they have
    names, or all of it when it has none. No match is null.
    """

    kind: ColumnKind | None = "text"

    def __init__(self, *, pattern: str) -> None:
        self._pattern = _compiled(pattern)
        if self._pattern.groupindex:
            self.kind = "json"

    def treat(self, value: Any, _: Around) -> Any:
        """What matches."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise StepFailed(f"is {word_for(value)}, not text")
        found = self._pattern.search(value)
        if found is None:
            raise StepFailed("does not match")
        if self._pattern.groupindex:
            return found.groupdict()
        return found[1 if self._pattern.groups else 0]


class MapStep(Converter):
    """What stands for a value in `values`. Numbers and booleans are looked up as JSON writes them; a value
    that is not in the table becomes null, or stays with `on_error: keep`.
    """

    def __init__(self, *, values: dict[str, Any]) -> None:
        if not values:
            raise OptionWrong("values", "is empty", "an object: what is found, and what it becomes")
        self._values = values
        kinds = [natural_kind(value) for value in values.values() if value is not None]
        self.kind: ColumnKind | None = merged(kinds)

    def treat(self, value: Any, _: Around) -> Any:
        """What it stands for."""
        if isinstance(value, dict):
            raise StepFailed("is an object, which is in no table")
        key = value if isinstance(value, str) else json.dumps(value)
        try:
            return self._values[key]
        except KeyError:
            raise StepFailed("is not in the table") from None


def _compiled(text: str) -> re.Pattern[str]:
    return pattern("pattern", text)
