"""Rows and lists as tables for a person's eyes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from smartspider.sinks.cells import text_of

if TYPE_CHECKING:
    from rich.table import Table

CELL_WIDTH = 28
FRAME = 3
NARROWEST = 11
"""Characters of the terminal that a column needs to be worth reading, its frame included."""
_CELL_CHARS = 200
"""More than a cell can show; what is cut here need not be measured."""


def show_rows(
    rows: Iterable[dict[str, Any]], columns: Sequence[str], title: str = "", *, is_talk: bool = False
) -> None:
    """Items as a table where the terminal is wide enough for it, else one by one; talk goes to stderr."""
    from rich.console import Console

    console = Console(stderr=is_talk)
    if len(columns) * NARROWEST <= console.width:
        console.print(_table(rows, columns, title))
        return
    lines = [title] if title else []
    width = max(map(len, columns), default=0)
    for row in rows:
        lines.append("-" * min(console.width, 40))
        lines += [f"{name:<{width}}  {cell(row.get(name))}"[: console.width] for name in columns]
    for line in lines:
        (sys.stderr if is_talk else sys.stdout).write(line + "\n")


def _table(rows: Iterable[dict[str, Any]], columns: Sequence[str], title: str) -> Table:
    from rich.table import Table
    from rich.text import Text

    cells = [[cell(row.get(name)) for name in columns] for row in rows]
    table = Table(title=Text(title) if title else None, title_justify="left")
    for number, name in enumerate(columns):
        longest = max([len(name), *(len(line[number]) for line in cells)])
        least = min(longest, NARROWEST - FRAME)
        table.add_column(Text(name), overflow="ellipsis", no_wrap=True, min_width=least, max_width=CELL_WIDTH)
    for line in cells:
        table.add_row(*map(Text, line))
    return table


def cell(value: Any) -> str:
    """A value in one line: text as it is, null empty, the rest as JSON."""
    if value is None:
        return ""
    return "".join(char if char.isprintable() else " " for char in text_of(value)[:_CELL_CHARS])
