"""Figures in a document whose words are written by hand: only what stands between marks is replaced.

A place is `<!-- bench:NAME -->`, the figures, `<!-- /bench:NAME -->`, each mark on a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping


class NoPlace(Exception):
    """A document lacks the place for figures, or has it twice."""


def fill(document: str, figures: Mapping[str, str]) -> str:
    """The document with these figures; all that is not between their marks stays as it is, to the byte."""
    check(document, figures)
    for name, told in figures.items():
        opening, closing = _marks(name)
        before, _, rest = document.partition(opening)
        _, _, after = rest.partition(closing)
        document = f"{before}{opening}\n{told.strip()}\n{closing}{after}"
    return document


def check(document: str, names: Iterable[str]) -> None:
    """Raises `NoPlace` unless each has one place, before anything that takes hours is begun."""
    for name in names:
        opening, closing = _marks(name)
        if document.count(opening) != 1 or document.count(closing) != 1:
            raise NoPlace(f"the document needs {opening} and {closing} once each")
        if document.index(opening) > document.index(closing):
            raise NoPlace(f"{closing} comes before {opening}")


def places(document: str) -> list[str]:
    """The names of all places, in their order."""
    return re.findall(r"^<!-- bench:(\w+) -->$", document, re.MULTILINE)


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
