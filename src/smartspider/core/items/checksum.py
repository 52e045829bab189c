"""Checksums of stored items, by which damaged rows are found."""

from __future__ import annotations

from zlib import crc32

MASK = 0xFFFF_FFFF


def item_checksum(item_id: int, url_id: int, data: bytes) -> int:
    """Return the CRC-32 of an item's JSON; it depends on the ids of the item and of its page as well."""
    return crc32(data, (item_id * 31 + url_id) & MASK)
