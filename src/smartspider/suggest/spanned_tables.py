"""Tables whose cells span rows: read as a grid, because the number of a cell is not that of its column."""

from __future__ import annotations

import json
from typing import Any

from smartspider.extract.parsing.document import Document
from smartspider.extract.sources import read_source
from smartspider.suggest.html.fields.naming import to_field_name
from smartspider.suggest.html.lists.tables import find_headed_tables
from smartspider.suggest.html.tree import Tree
from smartspider.suggest.json_lists import quote_key
from smartspider.suggest.suggestion import Draft
from smartspider.suggest.text_kinds import classify_all

_STEPS = {"number": ["number"], "price": ["number"], "date": ["date"]}
_BETTER = 1.05
"""The weight of a table with all its rows against the same table with some of them."""


def spanned_tables(document: Document, tree: Tree, lists: list[Draft]) -> list[Draft]:
    """Return a draft for the largest table with spanning cells, ranked just above its rows without them."""
    spanned = [one for one in find_headed_tables(tree) if one.has_spans]
    rival = max((one.score for one in lists if one.kind == "table"), default=0.0)
    if not spanned or not rival:
        return []
    names = max(spanned, key=lambda one: len(one.rows)).names
    same = [one for one in read_source("tables", document) if _is_named(one["headers"], names)]
    rows = [row for one in same for row in one["rows"]]
    if len(rows) < 2 or "`" in str(names):
        return []
    headers = same[0]["headers"]
    literal = json.dumps(headers, ensure_ascii=False)
    items = {"type": "tables", "expr": f"[?headers==`{literal}`].rows[]"}
    fields = {
        to_field_name(header) or f"column_{place}": _rule(header, [row[header] for row in rows])
        for place, header in enumerate(headers, 1)
    }
    reason = f"{len(rows)} table rows, with cells that span several of them"
    features = max((one for one in lists if one.kind == "table"), key=lambda one: one.score).features
    return [Draft("table", items, fields, rival * _BETTER, (reason,), features=features)]


def _is_named(headers: list[str], names: tuple[str, ...]) -> bool:
    return len(headers) == len(names) and all(
        header == name or (not name and header.startswith("column_"))
        for header, name in zip(headers, names, strict=True)
    )


def _rule(header: str, values: list[str | None]) -> dict[str, Any]:
    rule: dict[str, Any] = {"type": "jmespath", "expr": quote_key(header)}
    steps = _STEPS.get(classify_all(value for value in values if value))
    return {**rule, "steps": steps} if steps else rule
