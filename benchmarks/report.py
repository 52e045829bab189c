"""Replace figures between markers in a document and leave its text unchanged.

Figures stand between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->`, each marker on a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping


class NoPlace(Exception):
    """A document lacks the markers for figures, or has them twice."""


def fill(document: str, figures: Mapping[str, str]) -> str:
    """Return the document with these figures; everything outside their markers is unchanged, to the byte."""
    check(document, figures)
    for name, told in figures.items():
        opening, closing = _marks(name)
        before, _, rest = document.partition(opening)
        _, _, after = rest.partition(closing)
        document = f"{before}{opening}\n{told.strip()}\n{closing}{after}"
    return document


def check(document: str, names: Iterable[str]) -> None:
    """Raise `NoPlace` unless each name has one pair of markers. Called before long measurements."""
    for name in names:
        opening, closing = _marks(name)
        if document.count(opening) != 1 or document.count(closing) != 1:
            raise NoPlace(f"the document needs {opening} and {closing} once each")
        if document.index(opening) > document.index(closing):
            raise NoPlace(f"{closing} comes before {opening}")


def places(document: str) -> list[str]:
    """Return the names of all markers in order."""
    return re.findall(r"^<!-- bench:(\w+) -->$", document, re.MULTILINE)


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
