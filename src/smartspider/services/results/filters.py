"""Filters, fields and sort order of rows."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from difflib import get_close_matches
from typing import Any, cast

from smartspider.core.errors import RequestInvalid
from smartspider.core.items.filters import Condition, Operator, parse_path, quote_key, row_filter
from smartspider.core.pages.extraction import Item
from smartspider.outputs.cells import decode_row
from smartspider.store.results.rows import StoredItem
from smartspider.store.runs.store import RunStore
from smartspider.views.arguments import MAX_CONDITIONS

COMMITTED = "created_at"
"""Sorts by commit time, which needs no sorting; a field of the task with this name takes precedence."""

_SIGNS: dict[str, Operator] = {
    "=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "~": "contains",
}  # fmt: skip
_CONDITION = re.compile(r'((?:"(?:[^"\\]|\\.)*"|[^"=!<>~]|!(?!=))*)(!=|<=|>=|[=<>~])(.*)', re.DOTALL)


async def find_rows(store: RunStore, run_id: int, limit: int, where: Sequence[Condition] = ()) -> list[Item]:
    """Return the first rows of a run that match all conditions."""
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


async def matching_rows(
    batches: AsyncIterator[Sequence[StoredItem]], where: Sequence[Condition]
) -> AsyncIterator[Sequence[StoredItem]]:
    """Yield the rows that match all conditions."""
    fits = row_filter(where)
    async with aclosing(cast("Any", batches)) as found:
        async for batch in found:
            yield batch if fits is None else [item for item in batch if fits(decode_row(item.data))]


def parse_where(texts: Sequence[str], known: Sequence[str]) -> tuple[Condition, ...]:
    """Parse conditions: `field=value`, `field>=3`, `field~part`, `field?`."""
    if len(texts) > MAX_CONDITIONS:
        raise RequestInvalid(f"{len(texts)} conditions are too many", hint=f"use at most {MAX_CONDITIONS}")
    return tuple(_condition(text, known) for text in texts)


def parse_sort(text: str, known: Sequence[str]) -> tuple[str | None, bool]:
    """Parse `price` or `-price` to a path and whether it is descending; the path is None for commit order."""
    name = text.strip()
    is_descending = name.startswith("-") and name not in known
    name = name.removeprefix("-").strip() if is_descending else name
    if name == COMMITTED and name not in known:
        return None, is_descending
    return check_path(name, known), is_descending


def parse_fields(text: str, known: Sequence[str]) -> list[str]:
    """Parse a list of fields: `a,b`."""
    return [check_field(name.strip(), known) for name in text.split(",") if name.strip()]


def check_path(text: str, known: Sequence[str]) -> str:
    """Return a path that starts with a known field. The exact name of a field is a path, whatever its
    characters.
    """
    if text in known:
        return text if re.fullmatch(r"\w+", text) else quote_key(text)
    check_field(str(parse_path(text)[0]) if text else "", known)
    return text


def check_field(name: str, known: Sequence[str]) -> str:
    """Return the name of a known field; raise `RequestInvalid`."""
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
        f"{text[:100]!r} is not a condition",
        hint="write field=value; also supported: != < <= > >=, field~part and field?",
    )
