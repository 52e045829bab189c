"""The tables of a page or an item, as rows by header."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from selectolax.lexbor import LexborNode

from smartspider.extract.document import Document
from smartspider.extract.sources.grid import Cell, GridRow, Room, make_grid
from smartspider.extract.sources.texts import Texts
from smartspider.extract.texts import collapsed

_MOST = 2_000
_PLACES = 500_000
_CHARACTERS = 20_000_000
_LONGEST_NAME = 200
_NO_TEXT = frozenset({"script", "style", "table"})


def read_tables(document: Document) -> list[dict[str, Any]]:
    """Each table as `caption`, `headers` and `rows`; a table in another stands for itself.

    A cell that spans several places is in all of them; a place without a cell is null. Columns whose header
    is missing or taken are called `column_2` by their place.
    """
    tables = document.root.css("table")[:_MOST]
    reader = _CellReader(document, tables)
    room = Room(_PLACES, _CHARACTERS)
    found = []
    for table in tables:
        grid = make_grid(table, reader.text, room)
        if grid:
            found.append(_as_rows(grid, _caption(table, reader)))
        if room.is_full:
            break
    return found


class _CellReader:
    """Texts of cells, without the tables in them."""

    def __init__(self, document: Document, tables: list[LexborNode]) -> None:
        self._texts = Texts(document)
        self._holders: set[int] = set()
        for table in tables:
            parent = table.parent
            while parent is not None and parent.mem_id not in self._holders:
                self._holders.add(parent.mem_id)
                parent = parent.parent

    def text(self, node: LexborNode) -> str:
        """The collapsed text of a cell."""
        if node.mem_id not in self._holders:
            return self._texts.of(node)
        return collapsed("".join(self._outside_tables(node)))

    def _outside_tables(self, top: LexborNode) -> list[str]:
        texts: list[str] = []
        waiting = [top]
        while waiting:
            node = waiting.pop()
            text = node.text_content
            if text is not None:
                texts.append(text)
            elif node.mem_id == top.mem_id or node.tag not in _NO_TEXT:
                waiting += reversed(list(node.iter(include_text=True)))
        return texts


def _caption(table: LexborNode, reader: _CellReader) -> str | None:
    for child in table.iter():
        if child.tag == "caption":
            return reader.text(child) or None
    return None


def _as_rows(grid: list[GridRow], caption: str | None) -> dict[str, Any]:
    head = [row for row in grid if row.is_head] or list(takewhile(_is_header_row, grid))
    body = [row for row in grid if not row.is_head] if grid[0].is_head else grid[len(head) :]
    width = max(len(row.cells) for row in grid)
    if len(head) > 1 and head[0].own == 1 and head[0].cells[0] is not None and len(head[0].cells) == width:
        # A single header over the whole width is the title of the table.
        caption = caption or head[0].cells[0].text or None
        head = head[1:]
    headers = _names(head, width)
    rows = [dict(zip(headers, _values(row.cells, width), strict=True)) for row in body]
    return {"caption": caption, "headers": headers, "rows": rows}


def _is_header_row(row: GridRow) -> bool:
    filled = [cell for cell in row.cells if cell is not None and cell.text]
    return bool(filled) and all(cell.is_header for cell in filled)


def _values(cells: list[Cell | None], width: int) -> list[str | None]:
    values = [cell.text if cell is not None else None for cell in cells]
    return values + [None] * (width - len(values))


def _names(head: list[GridRow], width: int) -> list[str]:
    """A name for each column: its header, or those above one another as one."""
    names: list[str] = []
    taken: set[str] = set()
    for place in range(width):
        parts = [row.cells[place] for row in head if place < len(row.cells)]
        texts = dict.fromkeys(cell.text for cell in parts if cell is not None and cell.text)
        name = " ".join(texts)[:_LONGEST_NAME].strip()
        if not name or name in taken:
            name = f"column_{place + 1}"
            while name in taken:
                name += "_"
        names.append(name)
        taken.add(name)
    return names
