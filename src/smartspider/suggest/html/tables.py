"""Tables: their item rows and column names."""

from __future__ import annotations

from smartspider.suggest.html.selectors import ItemSelectors
from smartspider.suggest.html.tree import Element, Tree

_MAX_NAME = 40


class TableHeader:
    """The rows of a table below its header, and the header texts by cell number."""

    __slots__ = ("_is_in_body", "_is_of_td", "_table", "_width", "names", "rows")

    def __init__(self, table: Element, head: Element, rows: list[Element], names: dict[str, str]) -> None:
        self.rows = rows
        self.names = names
        self._table = table
        self._is_in_body = head.parent is not rows[0].parent
        self._is_of_td = all(cell.tag == "td" for cell in head.children)
        self._width = len(head.children)

    def selector(self, selectors: ItemSelectors) -> str | None:
        """Return the selector of the rows without the header."""
        tables = [
            place
            for place in (selectors.best([self._table], []), selectors.container(self._table))
            if place is not None
        ]
        wide = f":has(> :nth-child({self._width}))"
        rows = [
            "tbody > tr",
            f"tbody > tr{wide}",
            "tr:has(> td)",
            f"tr:has(> td:nth-child({self._width}))",
            "tr + tr",
            f"tr + tr{wide}",
        ]
        for table in tables:
            for row in rows:
                if selectors.finds(f"{table} {row}", self.rows):
                    return f"{table} {row}"
        return None


def find_header(tree: Tree, items: list[Element]) -> TableHeader | None:
    """Return the header of the table whose rows are the items; None if there is none."""
    first = items[0]
    if first.tag != "tr" or first.parent is None:
        return None
    table = next((above for above in first.ancestors() if above.tag == "table"), None)
    if table is None or any(
        next((above for above in item.ancestors() if above.tag == "table"), None) is not table
        for item in items
    ):
        return None
    rows = [row for row in tree.inside(table) if row.tag == "tr" and _table_of(row) is table]
    head = _find_header_row(tree, rows)
    if head is None:
        return None
    width = len(head.children)
    body = [
        row
        for row in rows
        if row is not head
        and len(row.children) == width
        and (row.parent is None or row.parent.tag != "thead")
        and not all(cell.tag == "th" for cell in row.children)
    ]
    if len(body) < 2:
        return None
    names = {str(number + 1): tree.text(cell, 80)[:_MAX_NAME] for number, cell in enumerate(head.children)}
    return TableHeader(table, head, body, names)


def _table_of(row: Element) -> Element | None:
    return next((above for above in row.ancestors() if above.tag == "table"), None)


def _find_header_row(tree: Tree, rows: list[Element]) -> Element | None:
    """Return the header row: in `thead`, all `th`, or bold and short."""
    if len(rows) < 3 or len(rows[0].children) < 2:
        return None
    heads = [row for row in rows[:3] if row.parent is not None and row.parent.tag == "thead"]
    if heads:
        return heads[-1]
    first = rows[0]
    if all(cell.tag == "th" for cell in first.children):
        return first
    texts = [tree.text(cell, 80) for cell in first.children]
    if any(len(text) > _MAX_NAME for text in texts) or sum(1 for text in texts if text) < len(texts) - 1:
        return None
    is_bold = all(
        any(child.tag in {"b", "strong"} for child in cell.children)
        for cell, text in zip(first.children, texts, strict=True)
        if text
    )
    return first if is_bold and not any(child.attrs.get("href") for child in tree.inside(first)) else None
