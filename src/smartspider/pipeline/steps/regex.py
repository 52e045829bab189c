"""`replace` and `extract`: texts by regular expression (Python's syntax)."""

from __future__ import annotations

import re
from typing import Any

from smartspider.core.columns import Kind
from smartspider.interfaces.step import Around, StepFailed
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

    kind: Kind | None = "text"

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


def _compiled(text: str) -> re.Pattern[str]:
    return pattern("pattern", text)
