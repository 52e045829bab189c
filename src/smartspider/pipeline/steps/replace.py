"""`replace`, `extract` and `map`: change texts by regular expression (Python syntax) or by a table."""

from __future__ import annotations

import json
import re
from typing import Any

from smartspider.core.items.columns import ColumnKind, infer_kind, merge_kinds
from smartspider.core.patterns.pattern import UserPattern
from smartspider.interfaces.step import PageContext, StepFailed
from smartspider.pipeline.steps.base import Converter, TextStep, type_name
from smartspider.plugins.options import InvalidOption, compile_pattern, show

_LONGEST = 50_000_000


class ReplaceStep(TextStep):
    r"""Replaces all matches of `pattern` with `with` (default: nothing); `\1` and `\g<name>` are groups."""

    def __init__(self, *, pattern: str, with_: str = "") -> None:
        self._pattern = _compiled(pattern)
        self._with = with_
        try:
            self._template = self._pattern.template(with_)
        except (re.error, IndexError) as error:
            hint = "a literal backslash is written twice"
            raise InvalidOption("with", f"{show(with_)} is not a valid replacement: {error}", hint) from error

    def text(self, value: str) -> str:
        """Return the text with its matches replaced."""
        if len(value) * len(self._with) > _LONGEST and self._grown(value) > _LONGEST:
            raise StepFailed("would grow too long")
        return self._pattern.sub(self._template, value)

    def _grown(self, value: str) -> int:
        """Return an upper bound for the length of the result."""
        return len(value) + len(self._with) * sum(1 for _ in self._pattern.finditer(value))


class ExtractStep(Converter):
    """Returns the first match of `pattern`: its first group, or an object of its named groups, or all of it
    if it has no groups. No match is null.
    """

    kind: ColumnKind | None = "text"

    def __init__(self, *, pattern: str) -> None:
        self._pattern = _compiled(pattern)
        if self._pattern.groupindex:
            self.kind = "json"

    def apply(self, value: Any, _: PageContext) -> Any:
        """Return the match."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise StepFailed(f"is {type_name(value)}, not text")
        found = self._pattern.search(value)
        if found is None:
            raise StepFailed("does not match")
        if self._pattern.groupindex:
            return found.groupdict()
        return found[1 if self._pattern.groups else 0]


class MapStep(Converter):
    """Looks a value up in `values`; numbers and booleans by their JSON form. An unknown value becomes null,
    or stays with `on_error: keep`.
    """

    def __init__(self, *, values: dict[str, Any]) -> None:
        if not values:
            raise InvalidOption("values", "is empty", "an object that maps old values to new ones")
        self._values = values
        kinds = [infer_kind(value) for value in values.values() if value is not None]
        self.kind: ColumnKind | None = merge_kinds(kinds)

    def apply(self, value: Any, _: PageContext) -> Any:
        """Return the entry of the table."""
        if isinstance(value, dict):
            raise StepFailed("is an object, not a key of the table")
        key = value if isinstance(value, str) else json.dumps(value)
        try:
            return self._values[key]
        except KeyError:
            raise StepFailed("is not in the table") from None


def _compiled(text: str) -> UserPattern:
    return compile_pattern("pattern", text)
