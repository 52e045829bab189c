"""Rows and lists as tables for a person's eyes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from smartspider.outputs.cells import text_of

if TYPE_CHECKING:
    from rich.table import Table

CELL_WIDTH = 28
FRAME = 3
"""Characters that a column needs around its cells."""
NARROWEST = 8
"""Characters of a cell that are worth reading."""
_CELL_CHARS = 200
"""More than a cell can show; what is cut here need not be measured."""


def show_rows(
    rows: Iterable[dict[str, Any]], columns: Sequence[str], title: str = "", *, is_talk: bool = False
) -> None:
    """Items as a table where the terminal is wide enough for it, else one by one; talk goes to stderr."""
    from rich.console import Console

    console = Console(stderr=is_talk)
    cells = [[cell(row.get(name)) for name in columns] for row in rows]
    widths = _widths([list(columns), *cells], console.width)
    if widths:
        console.print(_table(columns, cells, widths, title))
        return
    lines = [title] if title else []
    longest = max(map(len, columns), default=0)
    for values in cells:
        lines.append("-" * min(console.width, 40))
        pairs = zip(columns, values, strict=True)
        lines += [f"{name:<{longest}}  {value}"[: console.width] for name, value in pairs]
    for line in lines:
        (sys.stderr if is_talk else sys.stdout).write(line + "\n")


def _widths(lines: Sequence[Sequence[str]], room: int) -> list[int]:
    """How wide each column is: what it needs, the widest cut down until all fit; empty when they cannot."""
    from rich.cells import cell_len

    widths = [min(max(map(cell_len, column)), CELL_WIDTH) for column in zip(*lines, strict=True)]
    too_much = sum(widths) + FRAME * len(widths) + 1 - room
    while too_much > 0 and max(widths, default=0) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
        too_much -= 1
    return widths if too_much <= 0 else []


def _table(columns: Sequence[str], cells: Sequence[Sequence[str]], widths: list[int], title: str) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title) if title else None, title_justify="left")
    for name, width in zip(columns, widths, strict=True):
        table.add_column(Text(name), overflow="ellipsis", no_wrap=True, width=width)
    for line in cells:
        table.add_row(*map(Text, line))
    return table


def cell(value: Any) -> str:
    """A value in one line: text as it is, null empty, the rest as JSON."""
    if value is None:
        return ""
    return "".join(char if char.isprintable() else " " for char in text_of(value)[:_CELL_CHARS])
