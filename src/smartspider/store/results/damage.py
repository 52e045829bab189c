"""Rows that are not as they were stored, found by their checksums."""

from __future__ import annotations

from smartspider.core.errors import StoreUnavailable
from smartspider.core.items.checksum import item_checksum
from smartspider.core.runs.run import run_of

FoundRow = tuple[int, int, str]
"""A row of the table: its id, that of its page, and its JSON."""


def damaged_item(item_id: object) -> StoreUnavailable:
    """Return the error for a row that is not as it was stored."""
    what = f"item {item_id} of run {run_of(item_id)}" if isinstance(item_id, int) else "an item"
    return StoreUnavailable(
        f"{what} is damaged: its row is not as it was stored",
        hint="`smartspider fsck` lists all damaged rows; restore a copy of the store, or run the task again",
    )


def checked_row(item_id: int, url_id: int, data: str, checksum: int | None) -> FoundRow:
    """Return a row that is as it was stored; raise `StoreUnavailable` if it is damaged."""
    try:
        if checksum is None or item_checksum(item_id, url_id, data.encode()) == checksum:
            return item_id, url_id, data
    except (TypeError, AttributeError):  # damage changes types as well
        pass
    raise damaged_item(item_id)
