"""A look at the rows of a run: which of them, which of their fields, in which order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import aclosing
from difflib import get_close_matches
from typing import Any, cast

from smartspider.core.errors import RequestInvalid
from smartspider.core.items.filters import Condition, Operator, parse_path, quote_key, row_filter
from smartspider.core.pages.extraction import Item
from smartspider.outputs.cells import decode_row
from smartspider.store.runs.store import RunStore
from smartspider.views.arguments import MAX_CONDITIONS

COMMITTED = "created_at"
"""Sorts by when rows were committed, which costs nothing; where a task has such a field, it is that field."""

_SIGNS: dict[str, Operator] = {
    "=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "~": "contains",
}  # fmt: skip
_CONDITION = re.compile(r'((?:"(?:[^"\\]|\\.)*"|[^"=!<>~]|!(?!=))*)(!=|<=|>=|[=<>~])(.*)', re.DOTALL)


async def find_rows(store: RunStore, run_id: int, limit: int, where: Sequence[Condition] = ()) -> list[Item]:
    """The first rows of a run that fulfil the conditions."""
    fits = row_filter(where)
    rows: list[Item] = []
    async with aclosing(cast("Any", store.items(run_id))) as batches:
        async for batch in batches:
            for stored in batch:
                row = decode_row(stored.data)
                if fits is None or fits(row):
                    rows.append(row)
                    if len(rows) >= limit:
                        return rows
    return rows


def parse_where(texts: Sequence[str], known: Sequence[str]) -> tuple[Condition, ...]:
    """`field=value`, `field>=3`, `field~part`, `field?`, as a person writes them."""
    if len(texts) > MAX_CONDITIONS:
        raise RequestInvalid(f"{len(texts)} conditions are too many", hint=f"{MAX_CONDITIONS} may be given")
    return tuple(_condition(text, known) for text in texts)


def parse_sort(text: str, known: Sequence[str]) -> tuple[str | None, bool]:
    """`price` or `-price`: the path, None for the order of committing, and whether it is turned around."""
    name = text.strip()
    is_descending = name.startswith("-") and name not in known
    name = name.removeprefix("-").strip() if is_descending else name
    if name == COMMITTED and name not in known:
        return None, is_descending
    return check_path(name, known), is_descending


def parse_fields(text: str, known: Sequence[str]) -> list[str]:
    """`a,b`, as a person writes it."""
    return [check_field(name.strip(), known) for name in text.split(",") if name.strip()]


def check_path(text: str, known: Sequence[str]) -> str:
    """The path, if it begins with a field there is. A field's own name is one, whatever stands in it."""
    if text in known:
        return text if re.fullmatch(r"\w+", text) else quote_key(text)
    check_field(str(parse_path(text)[0]) if text else "", known)
    return text


def check_field(name: str, known: Sequence[str]) -> str:
    """The name, if there is a field of it."""
    if name in known:
        return name
    nearest = get_close_matches(name[:100], known, n=2)
    meant = f"{' or '.join(map(repr, nearest))}; " if nearest else ""
    raise RequestInvalid(
        f"the rows have no field {name[:100]!r}",
        hint=f"{meant}they have {', '.join(known) or 'no fields at all'}",
    )


def _condition(text: str, known: Sequence[str]) -> Condition:
    found = _CONDITION.fullmatch(text)
    if found is not None:
        return Condition(check_path(found[1].strip(), known), _SIGNS[found[2]], found[3])
    if text.rstrip().endswith("?"):
        return Condition(check_path(text.rstrip()[:-1].strip(), known), "exists")
    raise RequestInvalid(
        f"{text[:100]!r} says nothing about a field",
        hint="write field=value; there are also != < <= > >=, field~part and field?",
    )
