"""A table as a grid: every cell in every place it spans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from selectolax.lexbor import LexborNode

WIDEST = 1_000
"""Columns of a table, as browsers have it for `colspan`."""
_TALLEST = 65_534
_SECTIONS = frozenset({"thead", "tbody", "tfoot"})


class Cell(NamedTuple):
    """What stands in one place of the grid."""

    text: str
    is_header: bool


class GridRow(NamedTuple):
    """One row of the grid. Places that no cell covers are None."""

    cells: list[Cell | None]
    is_head: bool
    """It stands in the table's `thead`."""
    own: int
    """Cells that begin in this row."""


class Room:
    """What all tables of a page may still fill, in places and in characters."""

    def __init__(self, places: int, characters: int) -> None:
        self.places = places
        self.characters = characters

    @property
    def is_full(self) -> bool:
        """Nothing more goes in."""
        return self.places <= 0 or self.characters <= 0

    def fitting(self, text: str, times: int) -> int:
        """How many of so many places a text may still have; one at least."""
        return max(1, min(times, self.places, self.characters // (len(text) or 1)))

    def take(self, text: str, times: int) -> None:
        """Count a text that is put in so many places."""
        self.places -= times
        self.characters -= len(text) * times


def make_grid(table: LexborNode, read: Callable[[LexborNode], str], room: Room) -> list[GridRow]:
    """The rows of a table without those of tables in it, as far as there is room."""
    grid: list[GridRow] = []
    filler = _Filler(read, room)
    section: int | None = None
    for row, holder in _rows(table):
        if holder.mem_id != section:
            # A cell spans no further than its section.
            filler.hanging.clear()
            section = holder.mem_id
        places, own = filler.fill(row)
        if own:
            grid.append(GridRow(places, holder.tag == "thead", own))
        if room.is_full:
            break
    return grid


def _rows(table: LexborNode) -> Iterator[tuple[LexborNode, LexborNode]]:
    for child in table.iter():
        if child.tag == "tr":
            yield child, table
        elif child.tag in _SECTIONS:
            yield from ((row, child) for row in child.iter() if row.tag == "tr")


class _Filler:
    """Fills rows from the top. `hanging` are the cells that reach into the next row, by their place."""

    def __init__(self, read: Callable[[LexborNode], str], room: Room) -> None:
        self._read = read
        self._room = room
        self.hanging: dict[int, tuple[int, Cell]] = {}

    def fill(self, row: LexborNode) -> tuple[list[Cell | None], int]:
        """The places of a row, and how many cells begin in it."""
        places: list[Cell | None] = []
        own = 0
        for node in row.iter():
            if node.tag not in {"td", "th"}:
                continue
            while len(places) in self.hanging:
                self._hang(places)
            wide = min(_span(node, "colspan", WIDEST), WIDEST - len(places))
            if wide <= 0 or self._room.is_full:
                break
            self._put(node, wide, places)
            own += 1
        last = max(self.hanging, default=-1)
        while len(places) <= last:
            self._hang(places)
        return places, own

    def _put(self, node: LexborNode, wide: int, places: list[Cell | None]) -> None:
        cell = Cell(self._read(node), node.tag == "th")
        wide = self._room.fitting(cell.text, wide)
        self._room.take(cell.text, wide)
        tall = _span(node, "rowspan", _TALLEST)
        if tall > 1:
            for place in range(len(places), len(places) + wide):
                self.hanging[place] = (tall - 1, cell)
        places += [cell] * wide

    def _hang(self, places: list[Cell | None]) -> None:
        """Put in what hangs down to the next place."""
        left, cell = self.hanging.pop(len(places), (0, None))
        if cell is not None:
            self._room.take(cell.text, 1)
            if left > 1:
                self.hanging[len(places)] = (left - 1, cell)
        places.append(cell)


def _span(node: LexborNode, name: str, most: int) -> int:
    text = (node.attributes.get(name) or "").strip()
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        return 1
    return max(1, min(int(text), most))
