"""Tables with headers: their item rows and column names."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from smartspider.suggest.html.selector_names import quote_css
from smartspider.suggest.html.selectors import ItemSelectors
from smartspider.suggest.html.tree import Element, Tree

_LONGEST_NAME = 60
_WIDEST = 200
_MOST_HEAD_ROWS = 4


class HeadedTable:
    """A table with a header: the names of its columns, and its rows without headers and group titles."""

    __slots__ = ("has_spans", "names", "rows", "table")

    def __init__(
        self, table: Element, names: tuple[str, ...], rows: list[Element], *, has_spans: bool
    ) -> None:
        self.table = table
        self.names = names
        self.rows = rows
        self.has_spans = has_spans
        """True if cells span rows, so that the number of a cell is not that of its column."""


def find_headed_tables(tree: Tree) -> list[HeadedTable]:
    """Return the tables of a page that have a header and rows."""
    rows: dict[int, list[Element]] = defaultdict(list)
    tables: dict[int, Element] = {}
    for element in tree.elements:
        if element.tag == "tr":
            table = next((above for above in element.ancestors() if above.tag == "table"), None)
            if table is not None:
                rows[table.order].append(element)
                tables[table.order] = table
    found = (_read(tree, tables[order], some) for order, some in rows.items())
    return [one for one in found if one is not None]


def same_headers(tables: list[HeadedTable]) -> list[list[HeadedTable]]:
    """Group tables by their headers, most rows first."""
    groups: dict[tuple[str, ...], list[HeadedTable]] = defaultdict(list)
    for one in tables:
        groups[one.names].append(one)
    return sorted(groups.values(), key=lambda some: -sum(len(one.rows) for one in some))


def similar_headers(tables: list[HeadedTable]) -> list[list[HeadedTable]]:
    """Group tables of the same width whose headers are the same in most columns: of each league, one table.

    Only groups with different headers are returned.
    """
    groups: list[list[HeadedTable]] = []
    for one in tables:
        like = next((some for some in groups if _is_similar(some[0].names, one.names)), None)
        groups.append([one]) if like is None else like.append(one)
    return [some for some in groups if len({one.names for one in some}) > 1]


def _is_similar(names: tuple[str, ...], others: tuple[str, ...]) -> bool:
    same = sum(name == other for name, other in zip(names, others, strict=False))
    return len(names) == len(others) and 2 * same >= len(names)


def common_headers(tables: Sequence[HeadedTable]) -> tuple[str, ...]:
    """Return the names of the columns of similar tables; empty where they differ."""
    columns = zip(*(one.names for one in tables), strict=True)
    return tuple(names[0] if len(set(names)) == 1 else "" for names in columns)


def row_selector(selectors: ItemSelectors, tables: list[HeadedTable]) -> str | None:
    """Return a selector that matches exactly the rows of these tables."""
    rows = [row for one in tables for row in one.rows]
    names = common_headers(tables)
    width = len(names)
    hooks = [f"th:lexbor-contains({quote_css(name)})" for name in names if name]
    elements = [one.table for one in tables]
    places = [selectors.best(elements, hooks), selectors.container(elements[0]) if len(tables) == 1 else None]
    wide = f":has(> :nth-child({width}))"
    patterns = [
        "tbody > tr",
        f"tbody > tr{wide}",
        "tr:has(> td)",
        f"tr:has(> td:nth-child({width}))",
        "tr + tr",
        f"tr + tr{wide}",
        f"tbody > tr:has(> td):has(> :nth-child({width}))",
    ]
    for place in places:
        for pattern in patterns:
            if place is not None and selectors.finds(f"{place} {pattern}", rows):
                return f"{place} {pattern}"
    return None


def _read(tree: Tree, table: Element, rows: list[Element]) -> HeadedTable | None:
    heads = _head_rows(tree, rows)
    if not heads:
        return None
    names = _column_names(tree, heads)
    if len(names) < 2 or sum(map(bool, names)) < 2:
        return None
    heading = {head.order for head in heads}
    body = [
        row
        for row in rows
        if row.order not in heading
        and (row.parent is None or row.parent.tag not in {"thead", "tfoot"})
        and any(cell.tag == "td" for cell in row.children)
    ]
    has_spans = any(_span(cell, "rowspan") > 1 for row in body for cell in row.children)
    if not has_spans and body:
        # A header can span columns that no row has.
        names = names[: Counter(len(row.children) for row in body).most_common(1)[0][0]]
    full = [row for row in body if len(row.children) == len(names)]
    others = len(body) - sum(len(row.children) == 1 for row in body)
    if len(names) < 2 or not full or (2 * len(full) < others and not has_spans):
        return None
    return HeadedTable(table, names, full, has_spans=has_spans)


def _head_rows(tree: Tree, rows: list[Element]) -> list[Element]:
    """Return the header rows: in `thead`, all `th`, or bold and short."""
    if len(rows) < 2:
        return []
    heads = [row for row in rows if row.parent is not None and row.parent.tag == "thead"]
    if heads:
        return heads[:_MOST_HEAD_ROWS]
    for row in rows[:_MOST_HEAD_ROWS]:
        if not row.children or any(cell.tag != "th" for cell in row.children):
            break
        heads.append(row)
    if heads and (len(heads) > 1 or len(heads[0].children) > 1):
        return heads
    return [rows[0]] if len(rows) > 2 and _is_bold(tree, rows[0]) else []


def _is_bold(tree: Tree, row: Element) -> bool:
    texts = [tree.text(cell, 80) for cell in row.children]
    if len(texts) < 2 or sum(1 for text in texts if text) < len(texts) - 1:
        return False
    if any(len(text) > _LONGEST_NAME for text in texts):
        return False
    if all("head" in " ".join((*row.classes, *cell.classes)).lower() for cell in row.children):
        return True
    return all(
        cell.tag == "th" or any(child.tag in {"b", "strong"} for child in tree.inside(cell))
        for cell, text in zip(row.children, texts, strict=True)
        if text
    ) and not any("href" in child.attrs for child in tree.inside(row))


def _column_names(tree: Tree, heads: list[Element]) -> tuple[str, ...]:
    """Return the header of each column; several header rows are joined, and spanning cells repeated."""
    grid: dict[tuple[int, int], str] = {}
    for number, head in enumerate(heads):
        column = 0
        for cell in head.children:
            while (number, column) in grid:
                column += 1
            text = tree.text(cell, 120)[:_LONGEST_NAME].strip()
            for below in range(min(_span(cell, "rowspan"), len(heads) - number)):
                for beside in range(_span(cell, "colspan")):
                    grid[number + below, column + beside] = text
    width = 1 + max((column for _, column in grid), default=-1)
    title = {text for (row, _), text in grid.items() if row == 0}
    first = 1 if len(heads) > 1 and len(title) == 1 and width > 1 else 0
    return tuple(
        " ".join(dict.fromkeys(grid.get((row, column), "") for row in range(first, len(heads)))).strip()
        for column in range(width)
    )


def _span(cell: Element, name: str) -> int:
    text = cell.attrs.get(name, "1").strip()
    return min(max(int(text), 1), _WIDEST) if text.isascii() and text.isdigit() and len(text) < 5 else 1
