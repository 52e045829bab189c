"""Rows and lists as tables for a person's eyes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from rich.table import Table

CELL_WIDTH = 28
_CELL_CHARS = 200
"""More than a cell can show; what is cut here need not be measured."""


def rows_table(rows: Iterable[dict[str, Any]], columns: Sequence[str], title: str = "") -> Table:
    """Items as a table, long values cut."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title) if title else None, title_justify="left")
    for name in columns:
        table.add_column(Text(name), overflow="ellipsis", no_wrap=True, max_width=CELL_WIDTH)
    for row in rows:
        table.add_row(*(Text(cell(row.get(name))) for name in columns))
    return table


def show_table(table: Table) -> None:
    """Print a table on standard output."""
    from rich.console import Console

    Console().print(table)


def cell(value: Any) -> str:
    """A value in one line: text as it is, null empty, the rest as JSON."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return "".join(char if char.isprintable() else " " for char in text[:_CELL_CHARS])
