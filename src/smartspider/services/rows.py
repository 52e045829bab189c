"""A look at the rows of a run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from difflib import get_close_matches
from typing import Any, cast

from smartspider.core.errors import TaskInvalid
from smartspider.core.extraction import Item
from smartspider.interfaces.store import Store
from smartspider.sinks.cells import decode_row, text_of

Wanted = tuple[str, str]
"""A field, and the text its value must be: text as it stands, null empty, anything else as JSON."""


async def find_rows(store: Store, run_id: int, limit: int, wanted: Sequence[Wanted] = ()) -> list[Item]:
    """The first rows of a run that are as wanted."""
    rows: list[Item] = []
    async with aclosing(cast("Any", store.items(run_id))) as batches:
        async for batch in batches:
            for stored in batch:
                row = decode_row(stored.data)
                if all(_text(row.get(name)) == text for name, text in wanted):
                    rows.append(row)
                    if len(rows) >= limit:
                        return rows
    return rows


def parse_wanted(texts: Sequence[str], known: Sequence[str]) -> tuple[Wanted, ...]:
    """`field=value`, as a person writes it."""
    wanted = []
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign:
            raise TaskInvalid(f"{text!r} says nothing about a field", hint="write field=value")
        wanted.append((check_field(name.strip(), known), value))
    return tuple(wanted)


def parse_fields(text: str, known: Sequence[str]) -> list[str]:
    """`a,b`, as a person writes it."""
    return [check_field(name.strip(), known) for name in text.split(",") if name.strip()]


def check_field(name: str, known: Sequence[str]) -> str:
    """The name, if there is a field of it."""
    if name in known:
        return name
    nearest = get_close_matches(name, known, n=2)
    meant = f"{' or '.join(map(repr, nearest))}; " if nearest else ""
    raise TaskInvalid(
        f"the rows have no field {name!r}", hint=f"{meant}they have {', '.join(known) or 'no fields at all'}"
    )


def _text(value: Any) -> str:
    return "" if value is None else text_of(value)
