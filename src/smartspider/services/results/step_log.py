"""What steps rejected and changed in a run, read piece by piece."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from smartspider.store.runs.store import RunStore

PIECE = 1000


async def rejects(store: RunStore, run_id: int, limit: int) -> AsyncIterator[dict[str, Any]]:
    """The first `limit` items of a run that were not kept."""
    after = 0
    while limit > 0 and (piece := await store.rejects(run_id, limit=min(limit, PIECE), after=after)):
        for one in piece:
            yield to_view(one, "value", "data")
        limit, after = limit - len(piece), piece[-1].id


async def changes(
    store: RunStore, run_id: int, limit: int, *, field: str | None, step: str | None
) -> AsyncIterator[dict[str, Any]]:
    """The first `limit` lines of a run's cleaning log, of one field or step where they are named."""
    after = 0
    while limit > 0 and (
        piece := await store.cleaning(run_id, field=field, step=step, limit=min(limit, PIECE), after=after)
    ):
        for one in piece:
            yield to_view(one, "before", "after")
        limit, after = limit - len(piece), piece[-1].id


def to_view(stored: msgspec.Struct, *values: str) -> dict[str, Any]:
    """A row as people and programs read it: ids are opaque text, values are what they stand for."""
    to_view = msgspec.structs.asdict(stored)
    to_view["id"], to_view["run_id"] = str(to_view["id"]), str(to_view["run_id"])
    return {**to_view, **{name: msgspec.json.decode(to_view[name]) for name in values}}
