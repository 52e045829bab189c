"""Read the items that steps rejected and the values they changed, in batches."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from smartspider.store.runs.store import RunStore

BATCH = 1000


async def rejects(store: RunStore, run_id: int, limit: int) -> AsyncIterator[dict[str, Any]]:
    """Yield the first `limit` rejected items of a run."""
    after = 0
    while limit > 0 and (batch := await store.rejects(run_id, limit=min(limit, BATCH), after=after)):
        for one in batch:
            yield to_view(one, "value", "data")
        limit, after = limit - len(batch), batch[-1].id


async def changes(
    store: RunStore, run_id: int, limit: int, *, field: str | None, step: str | None
) -> AsyncIterator[dict[str, Any]]:
    """Yield the first `limit` lines of the cleaning log of a run, optionally of one field or step."""
    after = 0
    while limit > 0 and (
        batch := await store.cleaning(run_id, field=field, step=step, limit=min(limit, BATCH), after=after)
    ):
        for one in batch:
            yield to_view(one, "before", "after")
        limit, after = limit - len(batch), batch[-1].id


def to_view(stored: msgspec.Struct, *values: str) -> dict[str, Any]:
    """Return the view of a row: ids as text, values decoded."""
    view = msgspec.structs.asdict(stored)
    view["id"], view["run_id"] = str(view["id"]), str(view["run_id"])
    return {**view, **{name: msgspec.json.decode(view[name]) for name in values}}
