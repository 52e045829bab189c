"""Print rows as tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from smartspider.cli.terminal.consoles import open_console, plain_text
from smartspider.cli.terminal.streams import is_quiet
from smartspider.core.control_characters import escape_controls
from smartspider.outputs.cells import to_json, to_text

if TYPE_CHECKING:
    from rich.table import Table

FRAME = 3
"""Padding and border of a column, in characters."""
MIN_CELL_WIDTH = 8
_CELL_CHARS = 200
"""Longer values are cut before their width is measured."""
_SPACES = dict.fromkeys(map(ord, "\t\n\v\f\r\x85\u2028\u2029"), " ")


def print_table(
    rows: Iterable[dict[str, Any]], columns: Sequence[str], title: str = "", *, to_stderr: bool = False
) -> None:
    """Print rows as a table, or one below the other if the terminal is too narrow for a table.

    Nothing is printed to standard error if the command is quiet.
    """
    if to_stderr and is_quiet():
        return
    console = open_console(to_stderr=to_stderr)
    cells = [[cell_text(row.get(name)) for name in columns] for row in rows]
    widths = _fit_widths([list(columns), *cells], console.width)
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
        (sys.stderr if to_stderr else sys.stdout).write(line + "\n")


def _fit_widths(lines: Sequence[Sequence[str]], room: int) -> list[int]:
    """Return the width of each column, the widest cut until all fit; empty if they cannot."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    excess = sum(widths) + FRAME * len(widths) + 1 - room
    while excess > 0 and max(widths, default=0) > MIN_CELL_WIDTH:
        widths[widths.index(max(widths))] -= 1
        excess -= 1
    return widths if excess <= 0 else []


def _table(columns: Sequence[str], cells: Sequence[Sequence[str]], widths: list[int], title: str) -> Table:
    from rich.table import Table

    table = Table(title=plain_text(title) if title else None, title_justify="left")
    for name, width in zip(columns, widths, strict=True):
        table.add_column(plain_text(name), overflow="ellipsis", no_wrap=True, width=width)
    for line in cells:
        table.add_row(*(plain_text(cut_url(cell, width)) for cell, width in zip(line, widths, strict=True)))
    return table


def cut_url(text: str, width: int) -> str:
    """Return a URL cut in the middle to fit a width, so that its host and its end stay; other texts as
    they are.
    """
    if len(text) <= width or not text.startswith(("http://", "https://")):
        return text
    return cut_middle(text, width)


def cut_middle(text: str, width: int) -> str:
    """Return a text that is longer than a width without its middle."""
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"


def cell_text(value: Any) -> str:
    """Return a value in one line: text as it is, null empty, other values as JSON. Control characters are
    escaped, except white space.
    """
    if value is None:
        return ""
    text = escape_controls(to_text(value)[:_CELL_CHARS].translate(_SPACES))
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)


def short_json(value: Any) -> str:
    """Return the start of a value as JSON, so that the text `1` differs from the number."""
    return cell_text(to_json(value))
