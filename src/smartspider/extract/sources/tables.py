"""The tables of a page or an item, as rows by header."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any, NamedTuple

from selectolax.lexbor import LexborNode

from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.text import collapse
from smartspider.extract.sources.values import TextBudget

_MOST = 2_000
_MOST_CELLS = 500_000
_MOST_CHARACTERS = 20_000_000
_LONGEST_NAME = 200
_NO_TEXT = frozenset({"script", "style", "table"})


def read_tables(document: Document) -> list[dict[str, Any]]:
    """Return each table as `caption`, `headers` and `rows`; nested tables are separate.

    A cell that spans several positions is in all of them; a position without a cell is null. Columns
    without a header of their own are named `column_2` by position.
    """
    tables = document.root.css("table")[:_MOST]
    reader = _CellReader(document, tables)
    budget = TableBudget(_MOST_CELLS, _MOST_CHARACTERS)
    found = []
    for table in tables:
        grid = build_grid(table, reader.text, budget)
        if grid:
            found.append(_as_rows(grid, _caption(table, reader)))
        if budget.is_full:
            break
    return found


class _CellReader:
    """Reads the text of cells, without nested tables."""

    def __init__(self, document: Document, tables: list[LexborNode]) -> None:
        self._texts = TextBudget(document)
        self._holders: set[int] = set()
        for table in tables:
            parent = table.parent
            while parent is not None and parent.mem_id not in self._holders:
                self._holders.add(parent.mem_id)
                parent = parent.parent

    def text(self, node: LexborNode) -> str:
        """Return the collapsed text of a cell."""
        if node.mem_id not in self._holders:
            return self._texts.read(node)
        return collapse("".join(self._outside_tables(node)))

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
        # A single header over the full width is the title of the table.
        caption = caption or head[0].cells[0].text or None
        head = head[1:]
    headers = _names(head, width)
    rows = [dict(zip(headers, _values(row.cells, width), strict=True)) for row in body]
    return {"caption": caption, "headers": headers, "rows": rows}


def _is_header_row(row: GridRow) -> bool:
    filled = [cell for cell in row.cells if cell is not None and cell.text]
    return bool(filled) and all(cell.is_header for cell in filled)


def _values(cells: list[TableCell | None], width: int) -> list[str | None]:
    values = [cell.text if cell is not None else None for cell in cells]
    return values + [None] * (width - len(values))


def _names(head: list[GridRow], width: int) -> list[str]:
    """Return a name for each column: its header, or several header rows joined."""
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


WIDEST = 1_000
"""The most columns of a table, as browsers limit `colspan`."""
_TALLEST = 65_534
_SECTIONS = frozenset({"thead", "tbody", "tfoot"})


class TableCell(NamedTuple):
    """The content of one grid position."""

    text: str
    is_header: bool


class GridRow(NamedTuple):
    """One row of the grid. Positions without a cell are None."""

    cells: list[TableCell | None]
    is_head: bool
    """It is in the `thead`."""
    own: int
    """The number of cells that start in this row."""


class TableBudget:
    """The positions and characters that all tables of a page may still fill."""

    def __init__(self, positions: int, characters: int) -> None:
        self.positions = positions
        self.characters = characters

    @property
    def is_full(self) -> bool:
        """True if nothing is left."""
        return self.positions <= 0 or self.characters <= 0

    def allowed(self, text: str, times: int) -> int:
        """Return how many positions a text may still fill, at least one."""
        return max(1, min(times, self.positions, self.characters // (len(text) or 1)))

    def take(self, text: str, times: int) -> None:
        """Count a text in this many positions."""
        self.positions -= times
        self.characters -= len(text) * times


def build_grid(table: LexborNode, read: Callable[[LexborNode], str], budget: TableBudget) -> list[GridRow]:
    """Return the rows of a table without those of nested tables, within the budget."""
    grid: list[GridRow] = []
    filler = _Filler(read, budget)
    section: int | None = None
    for row, holder in _rows(table):
        if holder.mem_id != section:
            # A cell does not span beyond its section.
            filler.spanning.clear()
            section = holder.mem_id
        positions, own = filler.fill(row)
        if own:
            grid.append(GridRow(positions, holder.tag == "thead", own))
        if budget.is_full:
            break
    return grid


def _rows(table: LexborNode) -> Iterator[tuple[LexborNode, LexborNode]]:
    for child in table.iter():
        if child.tag == "tr":
            yield child, table
        elif child.tag in _SECTIONS:
            yield from ((row, child) for row in child.iter() if row.tag == "tr")


class _Filler:
    """Fills rows from the top. `spanning` are the cells that span into the next row, by position."""

    def __init__(self, read: Callable[[LexborNode], str], budget: TableBudget) -> None:
        self._read = read
        self._budget = budget
        self.spanning: dict[int, tuple[int, TableCell]] = {}

    def fill(self, row: LexborNode) -> tuple[list[TableCell | None], int]:
        """Return the positions of a row, and the number of cells that start in it."""
        positions: list[TableCell | None] = []
        own = 0
        for node in row.iter():
            if node.tag not in {"td", "th"}:
                continue
            while len(positions) in self.spanning:
                self._fill_spans(positions)
            wide = min(_span(node, "colspan", WIDEST), WIDEST - len(positions))
            if wide <= 0 or self._budget.is_full:
                break
            self._put(node, wide, positions)
            own += 1
        last = max(self.spanning, default=-1)
        while len(positions) <= last:
            self._fill_spans(positions)
        return positions, own

    def _put(self, node: LexborNode, wide: int, positions: list[TableCell | None]) -> None:
        cell = TableCell(self._read(node), node.tag == "th")
        wide = self._budget.allowed(cell.text, wide)
        self._budget.take(cell.text, wide)
        tall = _span(node, "rowspan", _TALLEST)
        if tall > 1:
            for place in range(len(positions), len(positions) + wide):
                self.spanning[place] = (tall - 1, cell)
        positions += [cell] * wide

    def _fill_spans(self, positions: list[TableCell | None]) -> None:
        """Fill the positions covered by cells from above."""
        left, cell = self.spanning.pop(len(positions), (0, None))
        if cell is not None:
            self._budget.take(cell.text, 1)
            if left > 1:
                self.spanning[len(positions)] = (left - 1, cell)
        positions.append(cell)


def _span(node: LexborNode, name: str, most: int) -> int:
    text = (node.attributes.get(name) or "").strip()
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        return 1
    return max(1, min(int(text), most))
