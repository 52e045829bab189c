"""Checksums of stored items, by which damaged rows are found."""

from __future__ import annotations

from zlib import crc32

from smartspider.core.errors import StoreUnavailable
from smartspider.core.runs.run import run_of

MASK = 0xFFFF_FFFF


def item_checksum(item_id: int, url_id: int, data: bytes) -> int:
    """Return the CRC-32 of an item's JSON; it depends on the ids of the item and of its page as well."""
    return crc32(data, (item_id * 31 + url_id) & MASK)


def damaged_item(item_id: object) -> StoreUnavailable:
    """Return the error for a row that is not as it was stored."""
    what = f"item {item_id} of run {run_of(item_id)}" if isinstance(item_id, int) else "an item"
    return StoreUnavailable(
        f"{what} is damaged: its row is not as it was stored",
        hint="`smartspider fsck` lists all damaged rows; restore a copy of the store, or run the task again",
    )
