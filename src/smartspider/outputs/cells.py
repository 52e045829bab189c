"""Convert values to cells, and field names to column names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from smartspider.core.datetimes import parse_iso_datetime
from smartspider.core.pages.extraction import Item
from smartspider.core.pages.nesting import call_deep

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def decode_row(data: bytes) -> Item:
    """Decode a stored row."""
    return call_deep(_decode, data)


def encode_row(item: Item) -> bytes:
    """Encode an item in stored form. Lone surrogates are replaced; NaN and infinity become null."""
    try:
        return call_deep(_encode, item)
    except UnicodeEncodeError:
        return call_deep(_encode, _clean(item))


def replace_unencodable(text: str) -> str:
    """Replace what UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def to_json(value: Any) -> str:
    """Encode a value as JSON."""
    return call_deep(_encode, value).decode()


def to_text(value: Any) -> str:
    """Return text unchanged and everything else as JSON."""
    return value if isinstance(value, str) else to_json(value)


def parse_time(text: str) -> datetime | None:
    """Parse an ISO 8601 text to a time in UTC; without a time zone it is UTC. None if it is not one."""
    try:
        return parse_iso_datetime(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def strip_illegal(text: str) -> str:
    """Remove the characters that XML forbids: most control characters."""
    return text if text.isprintable() else _ILLEGAL.sub("", text)


def make_distinct(names: Iterable[str], *, ignores_case: bool = False) -> list[str]:
    """Make names unique and non-empty: duplicates get a number."""
    taken: set[str] = set()
    made = []
    for position, name in enumerate(names, start=1):
        wanted = base = name or f"column_{position}"
        number = 1
        while (key := wanted.casefold() if ignores_case else wanted) in taken:
            number += 1
            wanted = f"{base}_{number}"
        taken.add(key)
        made.append(wanted)
    return made


def _clean(value: Any) -> Any:
    match value:
        case str():
            return replace_unencodable(value)
        case dict():
            return {_clean(key): _clean(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_clean(inner) for inner in value]
        case _:
            return value
