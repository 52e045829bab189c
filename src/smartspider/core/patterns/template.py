"""The replacement of matches: text with references to groups."""

from __future__ import annotations

import re
import sys
from itertools import islice
from typing import Any

_FIRST_MARK = 0xF0000
"""Where the private characters begin that stand for groups."""


class ReplacementTemplate:
    r"""A replacement in the syntax of `re.sub`: `\1` and `\g<name>` are groups."""

    def __init__(self, source: str, pattern: re.Pattern[str]) -> None:
        pattern.sub(source, "")  # not expanded without a match, but checked
        self.source = source
        names = {number: name for name, number in pattern.groupindex.items()}
        used = set(source)
        free = (mark for mark in map(chr, range(_FIRST_MARK, sys.maxunicode)) if mark not in used)
        whole, *marks = islice(free, pattern.groups + 1)
        # `re` itself reads the template: a pattern with the same groups matches one private character each.
        groups = [
            f"(?P<{names[number]}>{mark})" if number in names else f"({mark})"
            for number, mark in enumerate(marks, 1)
        ]
        everything = "".join((whole, *marks))
        stand_in = re.fullmatch("".join((whole, *groups)), everything)
        expanded = "" if stand_in is None else stand_in.expand(source).replace(everything, whole)
        self._parts = _split(expanded, {mark: number for number, mark in enumerate((whole, *marks))})

    def expand(self, found: Any) -> str:
        """Return the replacement of a match. A group that did not take part is empty."""
        return "".join(part if isinstance(part, str) else found[part] or "" for part in self._parts)


def _split(text: str, marks: dict[str, int]) -> list[str | int]:
    parts: list[str | int] = []
    begin = 0
    for at, character in enumerate(text):
        if character in marks:
            parts += (text[begin:at], marks[character])
            begin = at + 1
    return [*parts, text[begin:]]
