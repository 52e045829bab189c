"""Print lists in columns, as wide as the terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence

from smartspider.cli.terminal.streams import coloured_state
from smartspider.cli.terminal.tables import cell_text, cut_middle

GAP = 2
MIN_WIDTH = 8
"""Columns are not cut below this width."""
STATE = "state"
"""The name of the column that is coloured and never cut."""


class _Column:
    """A column with its cells."""

    def __init__(self, name: str, cells: list[str]) -> None:
        self.name = name
        self.cells = cells
        self.is_numeric = all(cell.isdecimal() or not cell for cell in cells)
        self.width = max(map(_width, (name, *cells)))

    @property
    def min_width(self) -> int:
        return self.width if self.name == STATE else min(self.width, MIN_WIDTH)

    def lines(self) -> list[str]:
        """Return its name and its cells, all of its width."""
        heading, *cells = (_cut(text, self.width) for text in (self.name.upper(), *self.cells))
        shown = [coloured_state(cell, sys.stdout) if self.name == STATE else cell for cell in cells]
        return [self._pad(heading, heading), *map(self._pad, shown, cells)]

    def _pad(self, shown: str, text: str) -> str:
        padding = " " * (self.width - _width(text))
        return f"{padding}{shown}" if self.is_numeric else f"{shown}{padding}"


def print_columns(
    names: Sequence[str], rows: Iterable[Sequence[object]], *, optional: Sequence[str] = ()
) -> None:
    """Print rows below the names of their columns, numbers to the right. Empty columns are left out.

    On a terminal, and where COLUMNS is set, cells are cut to its width, and `optional` columns are left out
    if that is not sufficient, the first ones first.
    """
    cells = [[cell_text(value) for value in row] for row in rows]
    columns = [_Column(name, [row[place] for row in cells]) for place, name in enumerate(names)]
    columns = [column for column in columns if any(column.cells)]
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        columns = _fit(columns, optional, shutil.get_terminal_size().columns)
    for line in zip(*(column.lines() for column in columns), strict=True):
        sys.stdout.write((" " * GAP).join(line).rstrip() + "\n")


def _fit(columns: list[_Column], optional: Sequence[str], room: int) -> list[_Column]:
    """Return the columns that fit, the widest ones cut."""
    for name in optional:
        if sum(column.min_width + GAP for column in columns) - GAP <= room:
            break
        columns = [column for column in columns if column.name != name]
    excess = sum(column.width + GAP for column in columns) - GAP - room
    while excess > 0:
        cuttable = [column for column in columns if column.width > column.min_width]
        if not cuttable:
            break
        max(cuttable, key=lambda column: column.width).width -= 1
        excess -= 1
    return columns


def _cut(text: str, width: int) -> str:
    """Return a text cut to a width: a URL or path in the middle, other texts at the end."""
    if _width(text) <= width:
        return text
    if "/" in text and text.isascii() and " " not in text:
        return cut_middle(text, width)
    while _width(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
