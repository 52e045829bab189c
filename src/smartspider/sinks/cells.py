"""Values as they stand in the cells of a table, and the names of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from smartspider.core.depth import deeply
from smartspider.core.extraction import Item
from smartspider.core.moments import iso_moment

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def decode_row(data: bytes) -> Item:
    """A stored row as an item."""
    return deeply(_decode, data)


def encode_row(item: Item) -> bytes:
    """An item as the store keeps it. What UTF-8 cannot hold is replaced; NaN and infinity become null."""
    try:
        return deeply(_encode, item)
    except UnicodeEncodeError:
        return deeply(_encode, _clean(item))


def writable(text: str) -> str:
    """The text with what UTF-8 cannot hold replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def json_text(value: Any) -> str:
    """A value as JSON."""
    return deeply(_encode, value).decode()


def text_of(value: Any) -> str:
    """Text as it stands, everything else as JSON."""
    return value if isinstance(value, str) else json_text(value)


def moment_of(text: str) -> datetime | None:
    """The moment an ISO 8601 text means, in UTC; without a time zone it is taken for UTC."""
    try:
        return iso_moment(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def legal_text(text: str) -> str:
    """The text without the characters that XML cannot hold: most control characters."""
    return text if text.isprintable() else _ILLEGAL.sub("", text)


def distinct(names: Iterable[str], *, ignores_case: bool = False) -> list[str]:
    """Names that are neither empty nor equal: later ones get a number."""
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
            return writable(value)
        case dict():
            return {_clean(key): _clean(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_clean(inner) for inner in value]
        case _:
            return value
