"""Rows that are not as they were stored, found by their checksums."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import gt, lt

from smartspider.core.errors import StoreUnavailable
from smartspider.core.items.checksum import item_checksum
from smartspider.core.plurals import count
from smartspider.core.runs.run import run_of

FoundRow = tuple[int, int, str]
"""A row of the table: its id, that of its page, and its JSON."""


HINT = "`smartspider fsck` lists all damaged rows; restore a copy of the store, or run the task again"


def damaged_item(item_id: object) -> StoreUnavailable:
    """Return the error for a row that is not as it was stored."""
    what = f"item {item_id} of run {run_of(item_id)}" if isinstance(item_id, int) else "an item"
    return StoreUnavailable(
        f"{what} is damaged: its row is not as it was stored",
        hint=HINT,
    )


def missing_items(run_id: int, found: int, stored: int) -> StoreUnavailable:
    """Return the error for a run that has another number of rows than it stored."""
    return StoreUnavailable(
        f"run {run_id} is damaged: it stored {count(stored, 'row')}, and {found} can be read", hint=HINT
    )


def check_order(ids: Sequence[int], position: int, *, is_descending: bool = False) -> None:
    """Raise `StoreUnavailable` unless ids follow a position and each other: where pages of a file are
    exchanged, they go back or repeat.
    """
    in_order = list(map(gt if is_descending else lt, chain((position,), ids), ids))
    if not all(in_order):
        raise damaged_item(ids[in_order.index(False)])


def checked_row(item_id: int, url_id: int, data: str, checksum: int | None) -> FoundRow:
    """Return a row that is as it was stored; raise `StoreUnavailable` if it is damaged."""
    try:
        if checksum is None or item_checksum(item_id, url_id, data.encode()) == checksum:
            return item_id, url_id, data
    except (TypeError, AttributeError):  # damage changes types as well
        pass
    raise damaged_item(item_id)
